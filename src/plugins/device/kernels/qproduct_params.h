/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qproduct_params.h - products and convolutions of 8-bit integers, read by the host and by kernels. */
#ifndef OX_DEVICE_QPRODUCT_PARAMS_H
#define OX_DEVICE_QPRODUCT_PARAMS_H

#include "plugins/device/kernels/gemm_params.h"
#include "plugins/device/kernels/quant_params.h"

/* QPRODUCT_STEP: ints of k that a tile goes on by. */
enum { QPRODUCT_STEP = 8, QUANT_F32 = 3 };

/* Weights: rows (outputs) of a group with a number for each channel and tap; where they lie. */
typedef struct {
  int n;                                      /* ints to make, or rows of all groups */
  int rows, c, taps;                          /* of a group */
  int group_step, row_step, c_step, tap_step; /* in elements */
  int kind;
  int w_zero_step, w_scale_step; /* of a row: 0 or 1; -1: there are none */
  int shared;                    /* so many rows, one after the other, have the same ones, where they step */
  int has_bias, has_x_scale, has_y_scale;
  float alpha;
} qweights_params;

/* Where few tiles are to sum over much, several groups share k: |splits| of them, |k_each| ints each, a multiple of
 * QPRODUCT_STEP. Their sums go to [split, y], and qfinish makes the result. One split: the result at once. */
typedef struct {
  int n, splits;   /* n: of y */
  int inner, rows; /* row of the weights of element i: i / inner % rows; row of x: i / rows if its parameters step */
  int x_kind, y_kind, low, high;
  int x_zero_step, x_scale_step, has_y_zero, has_bias;
} qfinish_params;

/* Rows of A [m, k] by packed weights, for y [m, n]. */
typedef struct {
  int m, n, k, k4;                                                       /* k4: ints of a row of the weights */
  int splits, k_each;
  int wide;                                                              /* rows of A begin at a multiple of four */
  int x_kind, y_kind, low, high;                                         /* QUANT_*; bounds of bytes */
  int x_zero_step, x_scale_step;                                         /* of a row; -1: there are none for rows */
  int has_w_zero;                                                        /* some are not 0 as signed bytes */
  int has_y_zero, has_bias;                                              /* bias: of floats, behind the scale */
  int batch[GEMM_BATCHES], x_batch[GEMM_BATCHES], w_batch[GEMM_BATCHES]; /* x: in elements; w: in matrices */
} qgemm_params;

typedef struct {
  int group, c, o, c4, k4; /* c, o: of a group */
  int splits, k_each;
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3];
  int x_image, x_channel, x_pixel, y_image, y_channel, y_pixel; /* steps in X and Y, in elements */
  int pixels, columns; /* of an output plane; of all images */
  int x_kind, y_kind, w_kind, low, high;
  int has_x_zero, w_zero_step, has_y_zero, has_w_zero;
  int n; /* for kernels of an item for each */
} qconv_params;

#endif
