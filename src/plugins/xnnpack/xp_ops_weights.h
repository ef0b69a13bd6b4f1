/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_ops_weights.h - building steps with float or 8-bit weights: Conv, ConvTranspose, MatMul, Gemm. */
#ifndef XP_OPS_WEIGHTS_H
#define XP_OPS_WEIGHTS_H

#include "xp_build.h"

/* A node with weights, while its step is built. */
typedef struct xp_job {
  xp_recipe recipe;
  const xp_kind *kind;
  size_t node;
  uint32_t x, w, b;           /* values; b UINT32_MAX: no bias */
  int64_t outer, inner, area; /* the model's weights in memory: [outer][inner][area] */
  bool last;                  /* the input has to be channels last */
  bool drop_columns;
  xp_tail tail;
} xp_job;

/* The operands of a computation with 8-bit weights, whether from a QLinear node or from the DequantizeLinear nodes
 * around a float one. Weights have one scale and zero point, or one for each output channel. */
typedef struct xp_bytes_job {
  uint32_t x, y;                     /* values of bytes */
  xp_quant x_quant, y_quant;         /* of the values' own types */
  uint32_t w, w_scale, w_zero, bias; /* constants; w_zero UINT32_MAX: 0 */
} xp_bytes_job;

/* Builds the step in floats. */
ox_status *xp_build_floats(xp_build *b, xp_job *j);
/* Builds the step in bytes; |*out_taken| is false if the library has no such operator. */
ox_status *xp_build_bytes(xp_build *b, xp_job *j, const xp_bytes_job *q, bool *out_taken);
/* Fills |out| if the job's inputs come from DequantizeLinear and its tail ends in a QuantizeLinear. */
bool xp_as_bytes(const xp_build *b, const xp_job *j, xp_bytes_job *out);

#endif
