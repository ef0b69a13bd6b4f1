/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_build.h - from the nodes of a part to the steps of a program.
 *
 * A value of the graph may be in memory in several forms: as ONNX has it or channels last; bytes signed or unsigned,
 * which differ by a bit. An operator asks for the form it wants (xp_need) and a step is added that makes it, if there
 * is none yet. What DequantizeLinear gives is made only if somebody asks for it: who can computes with its bytes. */
#ifndef XP_BUILD_H
#define XP_BUILD_H

#include "xp_kinds.h"
#include "xp_read.h"

enum { XP_FORMS = 4, XP_NO_TENSOR = UINT32_MAX, XP_MOST_TAIL = 8 };

typedef struct xp_value {
  uint32_t form[XP_FORMS]; /* tensors: [last + 2 * (unsigned bytes, or float16)] */
  size_t consumer;         /* the last node of the part that reads it */
  bool from_bytes;         /* dequantized from |bytes| */
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
  xp_arena scratch; /* of one node */
} xp_build;

/* What follows a node and can be computed with it: Relu and Clip, each the only reader of the one before, and then
 * perhaps QuantizeLinear. */
typedef struct xp_tail {
  float lo, hi;
  uint32_t out;       /* with the bounds */
  uint32_t quantized; /* after it; UINT32_MAX: there is no QuantizeLinear */
  xp_quant quant;
  size_t nodes[XP_MOST_TAIL];
  int n_nodes; /* without QuantizeLinear */
  size_t quantizer;
} xp_tail;

void xp_find_tail(const xp_build *b, size_t node, xp_tail *out);
/* The nodes of the tail are computed, too: with or without QuantizeLinear. */
void xp_take_tail(xp_build *b, const xp_tail *t, bool quantized);
/* The bounds in bytes, where |zero| is that of the form; false: nothing is between them. */
bool xp_tail_bytes(const xp_tail *t, const xp_quant *q, bool is_signed, int32_t *lo, int32_t *hi);

/* The tensor of a value in this form. |type|: OX_F32 or OX_F16 of floats, OX_I8 or OX_U8 of bytes. */
ox_status *xp_need(xp_build *b, uint32_t value, uint32_t type, bool last, uint32_t *out);
/* Is it there channels last, so that who does not care had better take it so? */
bool xp_is_last(const xp_build *b, uint32_t value);
/* The same of two that are broadcast: one is, and the other can follow, as it is constant or has all dimensions. */
bool xp_are_last(const xp_build *b, const uint32_t v[2]);
/* A float constant as a tensor of |rank| dimensions, the first ones of size 1. */
ox_status *xp_need_constant(xp_build *b, uint32_t value, int rank, bool last, uint32_t *out);
/* The elements of a constant, or of a DequantizeLinear of constants; in |a|. */
ox_status *xp_floats(xp_build *b, uint32_t value, xp_arena *a, const float **out, xp_dims *out_dims);
/* The zero point of bytes in this form, of a value whose own type is |own|. */
xp_quant xp_quant_as(xp_quant q, uint32_t own, uint32_t type);

/* Is x * w / y a factor that the library multiplies sums of products by? */
bool xp_can_requantize(float x, float w, float y);

/* A step of |node| and its output, which becomes a form of |value|. */
ox_status *xp_add(xp_build *b, size_t node, const xp_kind *kind, const uint32_t *in, uint32_t n_in, uint32_t value,
                  uint32_t type, bool last, xp_step **out);
/* Whether the library makes the operator of |s|, which has no weights, for inputs of |type| and shapes like any. */
bool xp_is_possible(const xp_step *s, uint32_t type);

typedef ox_status *(*xp_emit)(xp_build *b, size_t node);

/* ---- operators: what the library can do with a node (NULL, or why nothing), and its steps ---- */

typedef struct xp_operator {
  const char *op;
  const char *(*check)(const xp_graph *g, size_t node);
  xp_emit emit;
} xp_operator;
extern const xp_operator xp_ops_weights[], xp_ops_window[], xp_ops_element[], xp_ops_move[], xp_ops_qlinear[];
/* NULL: there is none. */
const xp_operator *xp_find_operator(const xp_graph *g, size_t node);

/* Why a mean of bytes is left to others. */
#define XP_TIES "the library does not round means in the middle of two bytes to even"
/* Attributes of a pool in two dimensions: NULL, or why the library cannot. */
const char *xp_check_pool(const xp_graph *g, size_t node, xp_window *w);
/* Can the library average bytes so? It counts pads. */
bool xp_averages_bytes(const xp_window *w);

ox_status *xp_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out);

#endif
