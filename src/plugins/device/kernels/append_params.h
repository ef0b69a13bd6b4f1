/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/append_params.h - rows behind the rows of a cache, read by the host and by kernels. */
#ifndef OX_DEVICE_APPEND_PARAMS_H
#define OX_DEVICE_APPEND_PARAMS_H

/* To [batch, heads, rows, width]: |first| rows of a past that has |past_rows|, then |fresh| new ones, then what the
 * past has there, or zeros. New rows have strides of their own, may have a bias, and may turn by the angle of their
 * place. */
typedef struct {
  int n, heads, rows, width; /* n: numbers in all */
  int past_rows, first, fresh, keep_rest;
  int in_batch, in_head, in_row;
  int lens_place, lens_angle; /* 1: |first|, the first angle, is lens[batch item] + lens_add or 0, of int32 */
  int lens_add;
  int pairs, interleaved, angles, first_angle; /* pairs: that turn, 0: none; angles: rows of the tables */
  int positions; /* 1: angles of all tokens, [batch, fresh] of int64; 2: of the first token of the first batch item */
  int has_bias, bias_first;
} append_params;

#endif
