/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_bytes.h - operators on bytes: between DequantizeLinear and QuantizeLinear, or of the QLinear kind. */
#ifndef XP_BYTES_H
#define XP_BYTES_H

#include "xp_build.h"

/* The byte values that a node reads and writes. Scales and zero points refer to the values' own types. */
typedef struct xp_bytes {
  uint32_t n, x[2], y;
  xp_quant q_x[2], q_y;
} xp_bytes;

/* Fills |out| if all |n| inputs come from DequantizeLinear and |tail| ends in a QuantizeLinear. */
bool xp_bytes_between(const xp_build *b, size_t node, uint32_t n, const xp_tail *tail, xp_bytes *out);
/* The same at claim time, before anything is built, for a node of one input that is directly between the two. */
bool xp_bytes_around(const xp_graph *g, size_t node, xp_bytes *out);
/* Reads the inputs of a QLinear operator: X, scale and zero point for each operand, then those of the output. NULL, or
 * why the library cannot run it. */
const char *xp_bytes_inside(const xp_graph *g, size_t node, uint32_t n, xp_bytes *out);
/* Do input and output have the same type, scale and zero point, so that bytes can be moved and compared as they are? */
bool xp_bytes_alike(const xp_graph *g, const xp_bytes *x);

/* Completes |s|, whose kind and attributes are set, with quantization and bounds for bytes of |type|; |tail| has the
 * bounds (NULL: none). False: the library has no such operator. */
bool xp_bytes_fit(const xp_graph *g, const xp_bytes *x, const xp_tail *tail, uint32_t type, xp_step *s);
/* Adds that step. */
ox_status *xp_bytes_add(xp_build *b, size_t node, const xp_bytes *x, uint32_t type, bool last, const xp_step *s);

/* An element-wise operator of one input on bytes. */
typedef struct xp_byte_unary {
  const char *op; /* its ONNX name */
  xp_unary unary;
  uint32_t type; /* the byte type of the library's operator */
} xp_byte_unary;
/* NULL: there is none. */
const xp_byte_unary *xp_find_byte_unary(const char *op);

#endif
