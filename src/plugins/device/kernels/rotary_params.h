/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/rotary_params.h - RotaryEmbedding, read by the host and by kernels. */
#ifndef OX_DEVICE_ROTARY_PARAMS_H
#define OX_DEVICE_ROTARY_PARAMS_H

/* Tokens have |heads| heads of |size| elements, the first 2 * pairs of which are rotated; strides in elements. */
typedef struct {
  int n, heads, length, size, pairs, interleaved;
  int batch_stride, head_stride, token_stride;
  int has_positions; /* 2: only the first token's */
  int angles;        /* rows of the caches; without positions: one row per token and batch item */
} rotary_params;

#endif
