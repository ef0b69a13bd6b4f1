/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qproduct_params.h - products and convolutions of 8-bit integers, read by the host and by kernels. */
#ifndef OX_DEVICE_QPRODUCT_PARAMS_H
#define OX_DEVICE_QPRODUCT_PARAMS_H

#include "plugins/device/kernels/gemm_params.h"
#include "plugins/device/kernels/quant_params.h"

/* QPRODUCT_STEP: ints of four bytes of k per iteration of a tile. */
enum { QPRODUCT_STEP = 8, QUANT_F32 = 3 };

/* Weights: each group has |rows| (outputs) of c * taps elements. */
typedef struct {
  int n;                                      /* items: packed ints (qweights_pack), or all rows (qweights_head) */
  int rows, c, taps;                          /* per group */
  int group_step, row_step, c_step, tap_step; /* in elements */
  int kind;
  int w_zero_step, w_scale_step; /* strides per row: 0 or 1; -1: absent */
  int shared;                    /* the number of consecutive rows that share these parameters, if their stride is 1 */
  int has_bias, has_x_scale, has_y_scale;
  float alpha;
} qweights_params;

/* Where there are few tiles and k is long, k is split among |splits| groups, |k_each| ints each, a multiple of
 * QPRODUCT_STEP. Partial sums go to [split, y], from which qfinish computes the result. With one split the tiles write
 * the result themselves. */
typedef struct {
  int n, splits;   /* n: elements of y */
  int inner, rows; /* element i: its row of the weights is i / inner % rows; of x, if that matters, i / rows */
  int x_kind, y_kind, low, high;
  int x_zero_step, x_scale_step, has_y_zero, has_bias;
} qfinish_params;

/* y [m, n] = x [m, k] times packed weights. */
typedef struct {
  int m, n, k, k4;                                                       /* k4: ints per row of the packed weights */
  int splits, k_each;
  int wide;                                                              /* rows of x are aligned to four bytes */
  int x_kind, y_kind, low, high;                                         /* QUANT_*; bounds of bytes */
  int x_zero_step, x_scale_step;                                         /* strides per row of x; -1: absent */
  int has_w_zero;                                                        /* w's zero points may differ from 0 */
  int has_y_zero, has_bias;                                              /* bias: floats, added after scaling */
  int batch[GEMM_BATCHES], x_batch[GEMM_BATCHES], w_batch[GEMM_BATCHES]; /* x: in elements; w: in matrices */
} qgemm_params;

typedef struct {
  int group, c, o, c4, k4; /* c, o: per group */
  int splits, k_each;
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3];
  int x_image, x_channel, x_pixel, y_image, y_channel, y_pixel; /* strides of X and Y, in elements */
  int pixels, columns; /* pixels of an output plane; of all images */
  int x_kind, y_kind, w_kind, low, high;
  int has_x_zero, w_zero_step, has_y_zero, has_w_zero;
  int n; /* number of items, for qconv_direct */
} qconv_params;

#endif
