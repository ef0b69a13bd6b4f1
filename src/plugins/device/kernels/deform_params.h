/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/deform_params.h - taps of a convolution that are moved, read by the host and by kernels. */
#ifndef OX_DEVICE_DEFORM_PARAMS_H
#define OX_DEVICE_DEFORM_PARAMS_H

/* Axes as in conv_params.h; the last |axes| of them have offsets. */
typedef struct {
  int n;              /* images * groups * taps * pixels: an item for each, of all channels of the group */
  int channels, axes; /* of a group */
  int taps, pixels, has_mask;
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3];
} deform_params;

#endif
