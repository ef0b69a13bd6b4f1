/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_ops_move.c - Concat, Split, Transpose, DepthToSpace, Pad; QuantizeLinear and DequantizeLinear. */
#include <math.h>
#include <string.h>

#include "xp_build.h"

static const char NO_TYPE[] = REASON("float32, uint8 or int8, or float16 on a CPU that converts it", "{0}");

static int read_axis(const xp_graph *g, size_t node, int64_t otherwise, int rank) {
  int64_t axis = xp_attr_int(g, node, "axis", otherwise);
  axis += axis < 0 ? rank : 0;
  return axis < 0 || axis >= rank ? XP_NONE : (int)axis;
}

/* ---- Concat ---- */

static const char *check_concat(const xp_graph *g, size_t node) {
  int rank = xp_rank(g, xp_in(g, node, 0));
  if (!xp_inner_type(g, xp_in(g, node, 0))) return NO_TYPE;
  for (size_t i = 0; i < g->h->node_in_count(g->g, node); i++)
    if (xp_rank(g, xp_in(g, node, i)) != rank || rank < 1) return REASON("equal, known ranks from 1 to 6", "{inputs}");
  return read_axis(g, node, 1, rank) == XP_NONE ? REASON("an axis of the inputs", "{axis}, {0}") : NULL;
}

/* A Concat can move bytes if all inputs and the output have the same type, scale and zero point. */
static bool concat_in_bytes(const xp_build *b, size_t node, const xp_tail *tail) {
  if (tail->quantized == UINT32_MAX || tail->n_nodes) return false;
  for (size_t i = 0; i < b->g.h->node_in_count(b->g.g, node); i++) {
    const xp_value *x = &b->values[xp_in(&b->g, node, i)];
    if (!x->from_bytes || xp_type(&b->g, x->bytes) != xp_type(&b->g, tail->quantized)) return false;
    if (x->quant.scale != tail->quant.scale || x->quant.zero != tail->quant.zero) return false;
  }
  return true;
}

static ox_status *emit_concat(xp_build *b, size_t node) {
  const xp_graph *g = &b->g;
  uint32_t n = (uint32_t)g->h->node_in_count(g->g, node), type = xp_inner_type(g, xp_in(g, node, 0));
  xp_tail tail;
  xp_step *s;
  bool last = false;
  uint32_t *in = xp_arena_get(&b->scratch, n, sizeof *in);
  if (!in) return xp_oom(b->ep);
  xp_find_tail(b, node, &tail);
  bool bytes = concat_in_bytes(b, node, &tail);
  for (uint32_t i = 0; i < n; i++) last = last || xp_is_last(b, xp_in(g, node, i));
  if (bytes) type = OX_I8;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t v = xp_in(g, node, i);
    XP_TRY(xp_need(b, bytes ? b->values[v].bytes : v, type, last, &in[i]));
  }
  XP_TRY(xp_add(b, node, &xp_kind_concat, in, n, bytes ? tail.quantized : xp_out(g, node, 0), type, last, &s));
  s->axis = read_axis(g, node, 1, xp_rank(g, xp_in(g, node, 0)));
  if (bytes) xp_take_tail(b, &tail, true);
  return NULL;
}

/* ---- Split ---- */

enum { MOST_PARTS = 64 };

/* Reads the sizes of a Split and returns their number. 0: none are given. -1: they are not constant, or too many. */
static int read_parts(const xp_graph *g, size_t node, int64_t out[MOST_PARTS]) {
  size_t n;
  const int64_t *attr = xp_attr_ints(g, node, "split", &n);
  if (attr && n > MOST_PARTS) return -1;
  if (attr) memcpy(out, attr, n * sizeof *out);
  if (attr || g->h->node_version(g->g, node) < 13) return (int)n;
  return xp_in(g, node, 1) == UINT32_MAX ? 0 : xp_const_ints(g, xp_in(g, node, 1), out, MOST_PARTS);
}

static const char *check_split(const xp_graph *g, size_t node) {
  int64_t parts[MOST_PARTS];
  int rank = xp_rank(g, xp_in(g, node, 0)), n = read_parts(g, node, parts);
  size_t n_out = g->h->node_out_count(g->g, node);
  if (!xp_inner_type(g, xp_in(g, node, 0))) return NO_TYPE;
  if (rank < 1 || read_axis(g, node, 0, rank) == XP_NONE)
    return REASON("a known rank from 1 to 6, and an axis of it", "{axis=0}, {0}");
  if (n < 0 || (n && (size_t)n != n_out) || n_out > MOST_PARTS)
    return REASON("constant sizes, one for each of at most 64 outputs", "{split}, {1}");
  for (int i = 0; i < n; i++)
    if (parts[i] < 0) return REASON("sizes of 0 or more", "{split}, {1}");
  return NULL;
}

static ox_status *emit_split(xp_build *b, size_t node) {
  const xp_graph *g = &b->g;
  int64_t given[MOST_PARTS], *parts = NULL;
  uint32_t x = xp_in(g, node, 0), type = xp_inner_type(g, x), in;
  int n = read_parts(g, node, given);
  bool last = xp_is_last(b, x);
  xp_step *s;
  XP_TRY(xp_need(b, x, type, last, &in));
  if (n && !(parts = xp_arena_get(&b->p->arena, (size_t)n, sizeof *parts))) return xp_oom(b->ep);
  if (n) memcpy(parts, given, (size_t)n * sizeof *parts);
  for (size_t i = 0; i < g->h->node_out_count(g->g, node); i++) {
    if (xp_out(g, node, i) == UINT32_MAX) continue;
    XP_TRY(xp_add(b, node, &xp_kind_slice, &in, 1, xp_out(g, node, i), type, last, &s));
    s->axis = read_axis(g, node, 0, xp_rank(g, x)), s->which = (int)i, s->parts = parts;
    s->channels_in = (int64_t)g->h->node_out_count(g->g, node);
    s->flags = g->h->node_version(g->g, node) < 18;
  }
  return NULL;
}

/* ---- Transpose, DepthToSpace, Pad ---- */

static const char *check_transpose(const xp_graph *g, size_t node) {
  size_t n;
  int rank = xp_rank(g, xp_in(g, node, 0));
  const int64_t *perm = xp_attr_ints(g, node, "perm", &n);
  bool seen[XP_MOST_RANK] = {false};
  if (!xp_inner_type(g, xp_in(g, node, 0))) return NO_TYPE;
  if (rank < 0 || (perm && n != (size_t)rank))
    return REASON("a known rank of at most 6, and a perm as long", "{perm}, {0}");
  for (size_t i = 0; i < n; i++) {
    if (perm[i] < 0 || perm[i] >= rank || seen[perm[i]])
      return REASON("a perm that names each axis once", "{perm}, {0}");
    seen[perm[i]] = true;
  }
  return NULL;
}

/* One that a product reads is part of the product's steps. */
static ox_status *emit_transpose(xp_build *b, size_t node) {
  const xp_graph *g = &b->g;
  size_t reader = b->values[xp_out(g, node, 0)].consumer;
  uint32_t x = xp_in(g, node, 0), type = xp_inner_type(g, x), in;
  int rank = xp_rank(g, x);
  size_t n;
  const int64_t *perm = xp_attr_ints(g, node, "perm", &n);
  xp_step *s;
  if (reader != SIZE_MAX && xp_turner(g, reader) == node) return NULL;
  XP_TRY(xp_need(b, x, type, xp_is_last(b, x), &in));
  XP_TRY(xp_add(b, node, &xp_kind_transpose, &in, 1, xp_out(g, node, 0), type, false, &s));
  for (int d = 0; d < rank; d++) s->sizes[d] = perm ? perm[d] : rank - 1 - d;
  return NULL;
}

static const char *check_depth(const xp_graph *g, size_t node) {
  int64_t block = xp_attr_int(g, node, "blocksize", 0);
  if (!xp_inner_type(g, xp_in(g, node, 0))) return NO_TYPE;
  if (xp_rank(g, xp_in(g, node, 0)) != 4) return REASON("4 axes", "{0}");
  return block < 1 || block > 1 << 15 ? REASON("a blocksize from 1 to 32768", "{blocksize}") : NULL;
}

static ox_status *emit_depth(xp_build *b, size_t node) {
  uint32_t x = xp_in(&b->g, node, 0), type = xp_inner_type(&b->g, x), in;
  xp_step *s;
  XP_TRY(xp_need(b, x, type, true, &in));
  XP_TRY(xp_add(b, node, &xp_kind_depth_to_space, &in, 1, xp_out(&b->g, node, 0), type, true, &s));
  s->sizes[0] = xp_attr_int(&b->g, node, "blocksize", 0), s->which = xp_attr_is(&b->g, node, "mode", "CRD", "DCR");
  return NULL;
}

/* Reads the pads: those before each axis go to |out|, those after to |out| + XP_MOST_AXES. */
static const char *read_pad(const xp_graph *g, size_t node, int64_t out[2 * XP_MOST_AXES], float *out_value) {
  bool old = g->h->node_version(g->g, node) < 11;
  int64_t pads[2 * XP_MOST_AXES];
  size_t n;
  int rank = xp_rank(g, xp_in(g, node, 0)), count;
  *out_value = 0;
  if (!xp_is_float(g, xp_in(g, node, 0)) || rank < 1) return REASON("float32, and a known rank from 1 to 6", "{0}");
  if (!xp_attr_is(g, node, "mode", "constant", "constant")) return REASON("pads of one number", "{mode=constant}");
  if (old) {
    const int64_t *attr = xp_attr_ints(g, node, "pads", &n);
    count = attr && n <= XP_COUNT(pads) ? (int)n : -1;
    if (count > 0) memcpy(pads, attr, n * sizeof *pads);
    *out_value = xp_attr_float(g, node, "value", 0);
  } else {
    count = xp_const_ints(g, xp_in(g, node, 1), pads, XP_COUNT(pads));
    if (xp_in(g, node, 2) != UINT32_MAX && !xp_const_float(g, xp_in(g, node, 2), out_value))
      return REASON("one constant number to pad with", "{2}");
    if (xp_in(g, node, 3) != UINT32_MAX) return REASON("pads for all axes", "{3}");
  }
  if (count != 2 * rank) return REASON("constant pads for all axes", "{pads}, {1}");
  for (int d = 0; d < rank; d++) {
    if (pads[d] < 0 || pads[rank + d] < 0 || pads[d] > INT32_MAX || pads[rank + d] > INT32_MAX)
      return REASON("pads of 0 or more", "{pads}, {1}");
    out[d] = pads[d], out[XP_MOST_AXES + d] = pads[rank + d];
  }
  return NULL;
}

static const char *check_pad(const xp_graph *g, size_t node) {
  int64_t pads[2 * XP_MOST_AXES];
  float value;
  return read_pad(g, node, pads, &value);
}

static ox_status *emit_pad(xp_build *b, size_t node) {
  uint32_t x = xp_in(&b->g, node, 0), in;
  bool last = xp_is_last(b, x);
  xp_step *s;
  XP_TRY(xp_need(b, x, OX_F32, last, &in));
  XP_TRY(xp_add(b, node, &xp_kind_pad, &in, 1, xp_out(&b->g, node, 0), OX_F32, last, &s));
  (void)read_pad(&b->g, node, s->sizes, &s->number);
  return NULL;
}

/* ---- QuantizeLinear and DequantizeLinear ---- */

static const char *check_quantize(const xp_graph *g, size_t node) {
  xp_quant q;
  uint32_t x = xp_in(g, node, 0);
  if (xp_type(g, x) != OX_F32 || xp_rank(g, x) < 0) return REASON("float32, and a known rank of at most 6", "{0}");
  if (xp_attr_int(g, node, "block_size", 0)) return REASON("no blocks", "{block_size}");
  size_t from = g->h->value_producer(g->g, x);
  if (xp_is_op(g, from, "GlobalAveragePool") && xp_find_operator(g, from)->check(g, from))
    return REASON("an input that it computes, too (the mean before this node is declined)", "{0}");
  if (!xp_read_quant(g, xp_in(g, node, 1), xp_in(g, node, 2), xp_type(g, xp_out(g, node, 0)), &q))
    return REASON("8-bit integers with one constant scale and zero point", "{inputs}");
  return NULL;
}

static ox_status *emit_quantize(xp_build *b, size_t node) {
  const xp_graph *g = &b->g;
  uint32_t x = xp_in(g, node, 0), y = xp_out(g, node, 0), in;
  bool last = xp_is_last(b, x);
  xp_quant q;
  xp_step *s;
  (void)xp_read_quant(g, xp_in(g, node, 1), xp_in(g, node, 2), xp_type(g, y), &q);
  XP_TRY(xp_need(b, x, OX_F32, last, &in));
  XP_TRY(xp_add(b, node, &xp_kind_convert, &in, 1, y, OX_I8, last, &s));
  s->q_out = xp_quant_as(q, xp_type(g, y), OX_I8);
  return NULL;
}

/* A DequantizeLinear of a constant is declined here: the nodes that use it as weights claim it with themselves. */
static const char *check_dequantize(const xp_graph *g, size_t node) {
  xp_quant q;
  uint32_t x = xp_in(g, node, 0);
  if (xp_type(g, xp_out(g, node, 0)) != OX_F32 || xp_rank(g, x) < 0)
    return REASON("a result of float32, and a known rank of at most 6", "{>0}, {0}");
  if (g->h->value_const(g->g, x))
    return REASON("an input that is not constant, or is the weights of a node that it takes", "{0}");
  if (!xp_read_quant(g, xp_in(g, node, 1), xp_in(g, node, 2), xp_type(g, x), &q))
    return REASON("8-bit integers with one constant scale and zero point", "{inputs}");
  return NULL;
}

/* Adds no step: the floats are computed when an operator asks for them (first_form). */
static ox_status *emit_dequantize(xp_build *b, size_t node) {
  const xp_graph *g = &b->g;
  uint32_t x = xp_in(g, node, 0);
  xp_value *v = &b->values[xp_out(g, node, 0)];
  if (g->h->value_const(g->g, x)) return NULL;
  v->from_bytes = true, v->bytes = x;
  (void)xp_read_quant(g, xp_in(g, node, 1), xp_in(g, node, 2), xp_type(g, x), &v->quant);
  return NULL;
}

const xp_operator xp_ops_move[] = {{"Concat", check_concat, emit_concat},
                                   {"Split", check_split, emit_split},
                                   {"Transpose", check_transpose, emit_transpose},
                                   {"DepthToSpace", check_depth, emit_depth},
                                   {"Pad", check_pad, emit_pad},
                                   {"QuantizeLinear", check_quantize, emit_quantize},
                                   {"DequantizeLinear", check_dequantize, emit_dequantize},
                                   {NULL, NULL, NULL}};
