/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_bytes.h - operators on bytes: between DequantizeLinear and QuantizeLinear, or of the QLinear kind. */
#ifndef XP_BYTES_H
#define XP_BYTES_H

#include "xp_build.h"

/* What a node reads and writes, with scales and zero points as the values' own types have them. */
typedef struct xp_bytes {
  uint32_t n, x[2], y;
  xp_quant q_x[2], q_y;
} xp_bytes;

/* All |n| inputs are dequantized and what |tail| ends in is quantized. */
bool xp_bytes_between(const xp_build *b, size_t node, uint32_t n, const xp_tail *tail, xp_bytes *out);
/* The same, asked before anything is built, of a node with one input and nothing in between. */
bool xp_bytes_around(const xp_graph *g, size_t node, xp_bytes *out);
/* X, scale, zero point, for each input and the output: NULL, or why the library cannot. */
const char *xp_bytes_inside(const xp_graph *g, size_t node, uint32_t n, xp_bytes *out);
/* Are input and output the same kind of bytes, so that the order of bytes is that of numbers? */
bool xp_bytes_alike(const xp_graph *g, const xp_bytes *x);

/* Fills |s|, which has its kind and the numbers of the node, for bytes of |type| within |tail| (NULL: all). False: the
 * library has no such operator. */
bool xp_bytes_fit(const xp_graph *g, const xp_bytes *x, const xp_tail *tail, uint32_t type, xp_step *s);
/* Adds that step. */
ox_status *xp_bytes_add(xp_build *b, size_t node, const xp_bytes *x, uint32_t type, bool last, const xp_step *s);

/* Of one input, element by element, by its name in ONNX; NULL: there is none. */
typedef struct xp_byte_unary {
  const char *op;
  xp_unary unary;
  uint32_t type; /* of the library's bytes */
} xp_byte_unary;
const xp_byte_unary *xp_find_byte_unary(const char *op);

#endif
