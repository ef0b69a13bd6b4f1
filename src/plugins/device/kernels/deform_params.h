/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/deform_params.h - DeformConv's columns; read by the host and by kernels. */
#ifndef OX_DEVICE_DEFORM_PARAMS_H
#define OX_DEVICE_DEFORM_PARAMS_H

/* Axes as in conv_params.h; the last |axes| of them have offsets. */
typedef struct {
  int n;              /* items: images * groups * taps * pixels; each does all channels of its group */
  int channels, axes; /* channels: per group */
  int taps, pixels, has_mask;
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3];
} deform_params;

#endif
