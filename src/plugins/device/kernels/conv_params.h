/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/conv_params.h - convolutions of up to three axes, read by the host and by kernels. */
#ifndef OX_DEVICE_CONV_PARAMS_H
#define OX_DEVICE_CONV_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

/* Axes are depth, height, width; missing ones have size 1. */
typedef struct {
  int group;
  int c, o;                                                     /* input and output channels per group */
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3]; /* pad: at the beginning */
  int k;                                                        /* c * extent */
  int pixels;                                                   /* per output plane */
  int columns;                                                  /* images * pixels */
  int wide; /* the weights are aligned for vector loads of four elements */
  int n;    /* output elements, for kernels with an item for each */
  tail_params tail;
} conv_params;

#endif
