/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/rotary_params.h - RotaryEmbedding, read by the host and by kernels. */
#ifndef OX_DEVICE_ROTARY_PARAMS_H
#define OX_DEVICE_ROTARY_PARAMS_H

/* Tokens of |heads| heads of |size| numbers, the first 2 * pairs of which turn; strides in elements. */
typedef struct {
  int n, heads, length, size, pairs, interleaved;
  int batch_stride, head_stride, token_stride;
  int has_positions; /* 2: of the first token alone */
  int angles;        /* rows of the caches; without positions: a row for each token of each batch */
} rotary_params;

#endif
