/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/sample_params.h - GridSample, read by the host and by kernels. */
#ifndef OX_DEVICE_SAMPLE_PARAMS_H
#define OX_DEVICE_SAMPLE_PARAMS_H

enum { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC };
enum { SAMPLE_ZEROS, SAMPLE_BORDER, SAMPLE_REFLECTION };
enum { SAMPLE_CHANNELS = 8 /* per item */ };

/* Axes are depth, height, width; missing ones have size 1 and are not in the grid. */
typedef struct {
  int n; /* items: images * blocks of channels * points */
  int images, channels, points, axes;
  int in[3];
  int mode, pad, align_corners;
} sample_params;

#endif
