/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/append_params.h - appending rows to those of a cache; read by the host and by kernels. */
#ifndef OX_DEVICE_APPEND_PARAMS_H
#define OX_DEVICE_APPEND_PARAMS_H

/* Fills [batch, heads, rows, width] with |first| rows of a past that has |past_rows|, then |fresh| new rows, then the
 * past's rows at those positions (keep_rest) or zeros. New rows have strides of their own, may have a bias, and may
 * have a rotary embedding by their positions. */
typedef struct {
  int n, heads, rows, width; /* n: elements in all */
  int past_rows, first, fresh, keep_rest;
  int in_batch, in_head, in_row;
  int lens_place, lens_angle; /* 1: |first| (|first_angle|) is max(0, lens[batch item] + lens_add), lens being int32 */
  int lens_add;
  int pairs, interleaved, angles, first_angle; /* pairs: that are rotated, 0: none; angles: rows of the tables */
  int positions; /* int64; 1: of all tokens, [batch, fresh]; 2: only of the first token of the first batch item */
  int has_bias, bias_first;
} append_params;

#endif
