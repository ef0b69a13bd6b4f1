/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/conv_params.h - convolutions of up to three axes, read by the host and by kernels. */
#ifndef OX_DEVICE_CONV_PARAMS_H
#define OX_DEVICE_CONV_PARAMS_H

#include "plugins/device/kernels/tail_params.h"

/* Axes: depth, height, width; those that a tensor lacks have size 1. */
typedef struct {
  int group;
  int c, o;                                                     /* channels and outputs of a group */
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3]; /* pad: before */
  int k;                                                        /* c * extent */
  int pixels;                                                   /* of an output plane */
  int columns;                                                  /* images * pixels */
  int wide; /* k is a multiple of four and the weights begin at one */
  int n;    /* outputs of all images, for kernels of an item for each */
  tail_params tail;
} conv_params;

#endif
