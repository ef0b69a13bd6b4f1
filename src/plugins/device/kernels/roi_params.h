/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/roi_params.h - regions of images, read by the host and by kernels. */
#ifndef OX_DEVICE_ROI_PARAMS_H
#define OX_DEVICE_ROI_PARAMS_H

typedef struct {
  int n; /* outputs: [region, channel, out[0], out[1]] */
  int images, channels, in[2], out[2];
  int samples; /* per bin and axis; 0: as many as the bin has pixels */
  int largest, half_pixel;
  float scale; /* CropAndResize: the value outside of the image */
  int nearest;
} roi_params;

#endif
