/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_build.h - from the nodes of a part to the steps of a program.
 *
 * A value of the graph may exist in memory in several forms: in ONNX layout or channels last; its bytes signed or
 * unsigned, which differ in the top bit only. An operator asks for the form it wants (xp_need), and a conversion step
 * is added unless that form exists already. The floats of a DequantizeLinear are computed only if some reader asks for
 * them: operators that can work on its bytes do. */
#ifndef XP_BUILD_H
#define XP_BUILD_H

#include "xp_kinds.h"
#include "xp_read.h"

enum { XP_FORMS = 4, XP_NO_TENSOR = UINT32_MAX, XP_MOST_TAIL = 8 };

typedef struct xp_value {
  uint32_t form[XP_FORMS]; /* tensors, indexed by last + 2 * (unsigned bytes or float16) */
  size_t consumer;         /* the last node of the part that reads it */
  bool from_bytes;         /* the output of a DequantizeLinear of value |bytes| */
  uint32_t bytes;
  xp_quant quant;
} xp_value;

typedef struct xp_build {
  ox_ep *ep;
  xp_graph g;
  ox_program *p;
  xp_value *values;
  bool *done; /* nodes */
  size_t n_values, n_nodes;
  uint32_t tensor_room, step_room;
  xp_arena scratch; /* freed after each node */
} xp_build;

/* The nodes after a node that can be fused into it: Relu and Clip, each the only reader of the node before it, and then
 * possibly a QuantizeLinear. */
typedef struct xp_tail {
  float lo, hi;
  uint32_t out;       /* the value with the bounds applied, before QuantizeLinear */
  uint32_t quantized; /* the output of the QuantizeLinear; UINT32_MAX: there is none */
  xp_quant quant;
  size_t nodes[XP_MOST_TAIL];
  int n_nodes; /* without QuantizeLinear */
  size_t quantizer;
} xp_tail;

void xp_find_tail(const xp_build *b, size_t node, xp_tail *out);
/* Marks the nodes of the tail as done; its QuantizeLinear only if |quantized|. */
void xp_take_tail(xp_build *b, const xp_tail *t, bool quantized);
/* The tail's bounds as bytes. The zero point in |q| must be that of the form computed in. False: the range is empty. */
bool xp_tail_bytes(const xp_tail *t, const xp_quant *q, bool is_signed, int32_t *lo, int32_t *hi);

/* The tensor that holds |value| in the given form, made if need be. |type|: OX_F32 or OX_F16 for floats, OX_I8 or OX_U8
 * for bytes. */
ox_status *xp_need(xp_build *b, uint32_t value, uint32_t type, bool last, uint32_t *out);
/* Does |value| exist channels last? An operator that works in either layout should then take that one. */
bool xp_is_last(const xp_build *b, uint32_t value);
/* The same for two values that are broadcast: one exists channels last, and the other is constant or has the full rank,
 * so it can be brought into that layout too. */
bool xp_are_last(const xp_build *b, const uint32_t v[2]);
/* A float constant as a tensor of |rank| dimensions, padded with leading dimensions of size 1. */
ox_status *xp_need_constant(xp_build *b, uint32_t value, int rank, bool last, uint32_t *out);
/* The elements of a constant, or of a DequantizeLinear of constants, allocated in |a|. */
ox_status *xp_floats(xp_build *b, uint32_t value, xp_arena *a, const float **out, xp_dims *out_dims);
/* |q|, given for a value of type |own|, with its zero point adjusted to bytes of |type|. */
xp_quant xp_quant_as(xp_quant q, uint32_t own, uint32_t type);

/* Is x * w / y within the range of requantization factors that the library accepts? */
bool xp_can_requantize(float x, float w, float y);

/* Adds a step for |node| and its output tensor, which becomes a form of |value|. */
ox_status *xp_add(xp_build *b, size_t node, const xp_kind *kind, const uint32_t *in, uint32_t n_in, uint32_t value,
                  uint32_t type, bool last, xp_step **out);
/* Can the library create the operator of |s|, one without weights, for inputs of |type|? Tried with a 1x1x1x1 shape. */
bool xp_is_possible(const xp_step *s, uint32_t type);

typedef ox_status *(*xp_emit)(xp_build *b, size_t node);

/* ---- operators ---- */

typedef struct xp_operator {
  const char *op;
  const char *(*check)(const xp_graph *g, size_t node); /* NULL if the library can run the node, else the reason */
  xp_emit emit;                                         /* adds the node's steps */
} xp_operator;
extern const xp_operator xp_ops_weights[], xp_ops_window[], xp_ops_element[], xp_ops_move[], xp_ops_qlinear[];
/* NULL if there is none for the node's operator. */
const xp_operator *xp_find_operator(const xp_graph *g, size_t node);

/* The reason for declining means of bytes that can tie. */
#define XP_TIES \
  REASON("a mean that cannot lie in the middle of two bytes (the library does not round those to even)", "{0}")
/* Reads the attributes of a 2-D pool into |w|: NULL, or why the library cannot run it. */
const char *xp_check_pool(const xp_graph *g, size_t node, xp_window *w);
/* Can the library average bytes over this window? Not with pads, which it would count. */
bool xp_averages_bytes(const xp_window *w);

ox_status *xp_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out);

#endif
