/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_ops_weights.h - what Conv, ConvTranspose and products have in common: float or 8-bit weights. */
#ifndef XP_OPS_WEIGHTS_H
#define XP_OPS_WEIGHTS_H

#include "xp_build.h"

/* A node with its weights, being built. */
typedef struct xp_job {
  xp_recipe recipe;
  const xp_kind *kind;
  size_t node;
  uint32_t x, w, b;           /* values; b UINT32_MAX: no bias */
  int64_t outer, inner, area; /* the weights in memory: [outer][inner][area] */
  bool last;                  /* the input is wanted channels last */
  bool drop_columns;
  xp_tail tail;
} xp_job;

/* 8-bit weights and all that belongs to them, wherever the node has it. Zero points and scales are one or one for each
 * channel out. */
typedef struct xp_bytes_job {
  uint32_t x, y;                     /* values of bytes */
  xp_quant x_quant, y_quant;         /* of the values' own types */
  uint32_t w, w_scale, w_zero, bias; /* constants; w_zero UINT32_MAX: 0 */
} xp_bytes_job;

/* The step in floats. */
ox_status *xp_build_floats(xp_build *b, xp_job *j);
/* The step in bytes; |*out_taken| false: the library has no such operator. */
ox_status *xp_build_bytes(xp_build *b, xp_job *j, const xp_bytes_job *q, bool *out_taken);
/* The job's values as bytes, if its inputs are dequantized and its output is quantized. */
bool xp_as_bytes(const xp_build *b, const xp_job *j, xp_bytes_job *out);

#endif
