/* SPDX-License-Identifier: Apache-2.0
 * onyx/rewrite.h - short names for the calls of onyx/rule.h: the queries of guards and the edits of rules. All of it is
 * inline; the engine's own rules are written with these. A function without a comment is the call of that table, which
 * says what it returns, for how long, and which errors it has. As there, OX_NONE may be passed as any id. */
#ifndef ONYX_REWRITE_H
#define ONYX_REWRITE_H

#include <math.h>
#include <string.h>

#include "onyx/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- nodes ---- */

static inline ox_id ox_in(const ox_rewrite *g, ox_id node, uint32_t slot) { return g->api->node_in(g, node, slot); }
static inline ox_id ox_out(const ox_rewrite *g, ox_id node, uint32_t slot) { return g->api->node_out(g, node, slot); }
static inline uint32_t ox_n_in(const ox_rewrite *g, ox_id node) { return g->api->node_in_count(g, node); }
static inline uint32_t ox_n_out(const ox_rewrite *g, ox_id node) { return g->api->node_out_count(g, node); }
static inline const char *ox_op_of(const ox_rewrite *g, ox_id node) { return g->api->node_op(g, node); }
static inline const char *ox_domain_of(const ox_rewrite *g, ox_id node) { return g->api->node_domain(g, node); }
static inline const char *ox_name_of(const ox_rewrite *g, ox_id node) { return g->api->node_name(g, node); }
/* Whether the node's operator is one of |ops| (alternatives separated by '|') of ai.onnx; ox_is_of: of |domain|. */
static inline int ox_is(const ox_rewrite *g, ox_id node, const char *ops) {
  return g->api->node_is(g, node, ops, NULL);
}
static inline int ox_is_of(const ox_rewrite *g, ox_id node, const char *ops, const char *domain) {
  return g->api->node_is(g, node, ops, domain);
}
/* Whether no output but the first is used. */
static inline int ox_one_output(const ox_rewrite *g, ox_id node) {
  for (uint32_t i = 1; i < ox_n_out(g, node); i++)
    if (g->api->use_count(g, ox_out(g, node, i))) return 0;
  return 1;
}

/* The node as an activation of its input 0. Returns 0 if it is none. */
static inline int ox_activation_of(const ox_rewrite *g, ox_id node, ox_activation *out) {
  return g->api->activation(g, node, out);
}

/* ---- attributes ---- */

/* NULL: absent. */
static inline const ox_attr_view *ox_attr_of(const ox_rewrite *g, ox_id node, const char *name) {
  return g->api->attr(g, node, name);
}
/* An attribute's value; |absent| if the node has none of that name and kind. */
static inline int64_t ox_attr_i(const ox_rewrite *g, ox_id node, const char *name, int64_t absent) {
  const ox_attr_view *a = ox_attr_of(g, node, name);
  return a && a->kind == OX_ATTR_INT_KIND ? a->i : absent;
}
static inline float ox_attr_f(const ox_rewrite *g, ox_id node, const char *name, float absent) {
  const ox_attr_view *a = ox_attr_of(g, node, name);
  return a && a->kind == OX_ATTR_FLOAT_KIND ? a->f : absent;
}
/* Whether a string attribute is exactly |text|; |absent| as above. */
static inline int ox_attr_is(const ox_rewrite *g, ox_id node, const char *name, const char *text, int absent) {
  const ox_attr_view *a = ox_attr_of(g, node, name);
  if (!a || a->kind != OX_ATTR_STRING_KIND) return absent;
  return a->s.n == strlen(text) && memcmp(a->s.p, text, a->s.n) == 0;
}
/* The attribute if it is a list of integers, or NULL. */
static inline const ox_attr_view *ox_attr_ints(const ox_rewrite *g, ox_id node, const char *name) {
  const ox_attr_view *a = ox_attr_of(g, node, name);
  return a && a->kind == OX_ATTR_INTS_KIND ? a : NULL;
}
/* Whether all integers of attribute |name| are |want|, or it is absent. */
static inline int ox_attr_ints_are(const ox_rewrite *g, ox_id node, const char *name, int64_t want) {
  const ox_attr_view *a = ox_attr_ints(g, node, name);
  for (size_t i = 0; a && i < a->n; i++)
    if (a->ints[i] != want) return 0;
  return 1;
}

/* ---- values ---- */

static inline ox_id ox_producer(const ox_rewrite *g, ox_id v) { return g->api->producer(g, v, NULL); }
static inline uint32_t ox_uses(const ox_rewrite *g, ox_id v) { return g->api->use_count(g, v); }
/* The node that reads |v| if that is the only use, else OX_NONE. */
static inline ox_id ox_only_user(const ox_rewrite *g, ox_id v) {
  return g->api->use_count(g, v) == 1 ? g->api->user(g, v, 0, NULL) : OX_NONE;
}
/* The node that produces |v| as its output 0, if it is one of |ops| of ai.onnx and has an input 0; else OX_NONE. */
static inline ox_id ox_up(const ox_rewrite *g, ox_id v, const char *ops) {
  uint32_t slot = 0;
  ox_id n = g->api->producer(g, v, &slot);
  return n != OX_NONE && slot == 0 && ox_in(g, n, 0) != OX_NONE && ox_is(g, n, ops) ? n : OX_NONE;
}
/* The same, if |v| has one use. */
static inline ox_id ox_up1(const ox_rewrite *g, ox_id v, const char *ops) {
  return g->api->use_count(g, v) == 1 ? ox_up(g, v, ops) : OX_NONE;
}
static inline int ox_is_output(const ox_rewrite *g, ox_id v) { return g->api->is_output(g, v); }
static inline uint32_t ox_dtype_of(const ox_rewrite *g, ox_id v) { return g->api->value_dtype(g, v); }
static inline const ox_shape *ox_shape_at(const ox_rewrite *g, ox_id v) { return g->api->value_shape(g, v); }
static inline const ox_tensor *ox_const(const ox_rewrite *g, ox_id v) { return g->api->value_const(g, v); }
/* As ox_const, for type and shape only: data may be NULL. Does not make the engine compute a large constant that is
 * still to be computed. */
static inline const ox_tensor *ox_const_type(const ox_rewrite *g, ox_id v) {
  int asks = g->api->struct_size >= offsetof(ox_graph_api, value_const_type) + sizeof g->api->value_const_type;
  return asks ? g->api->value_const_type(g, v) : g->api->value_const(g, v);
}
static inline int ox_can_replace(const ox_rewrite *g, ox_id from, ox_id to) { return g->api->can_replace(g, from, to); }

/* ---- shapes: dimensions below 0 are unknown (-1) or symbols ---- */

/* Whether rank and dimensions are the same, including unknown ones and symbols. */
static inline int ox_same_shape(const ox_shape *a, const ox_shape *b) {
  return a->rank == b->rank && (a->rank < 1 || memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0);
}
/* Whether rank and dimensions are known, at least as symbols. */
static inline int ox_shape_named(const ox_shape *s) {
  for (int i = 0; i < s->rank; i++)
    if (s->dim[i] == -1) return 0;
  return s->rank >= 0;
}
/* The product of dimensions [from, to); -1 if it is unknown or exceeds int64_t. */
static inline int64_t ox_elements_of(const ox_shape *s, int from, int to) {
  int64_t n = 1;
  if (s->rank < 0) return -1;
  for (int i = from; i < to; i++) {
    if (s->dim[i] < 0 || (s->dim[i] && n > INT64_MAX / s->dim[i])) return -1;
    n *= s->dim[i];
  }
  return n;
}
/* The number of elements; -1 as above, also if the rank is unknown. */
static inline int64_t ox_elements(const ox_shape *s) { return ox_elements_of(s, 0, s->rank); }

/* ---- constants ---- */

/* Element |i| of a tensor of numbers. */
static inline double ox_at(const ox_rewrite *g, const ox_tensor *t, int64_t i) { return g->api->element(t, i); }
/* The single element of a constant of any number type and rank; returns 0 if |v| is none, or if the element is NaN. */
static inline int ox_const_scalar(const ox_rewrite *g, ox_id v, double *out) {
  const ox_tensor *t = ox_const(g, v);
  if (!t || t->kind != OX_TENSOR || !t->data || ox_elements(&t->shape) != 1) return 0;
  *out = ox_at(g, t, 0);
  return !isnan(*out);
}
/* Whether |v| is a constant of one element that is within a relative 1e-3 of |want|, as exporters round (0 and 1:
 * exactly). */
static inline int ox_const_near(const ox_rewrite *g, ox_id v, double want) {
  double got;
  if (!ox_const_scalar(g, v, &got)) return 0;
  return want == 0 || want == 1 ? got == want : fabs(got - want) <= 1e-3 * fabs(want);
}
/* Whether every element of a constant of at most |limit| elements is exactly |want|. */
static inline int ox_const_all(const ox_rewrite *g, ox_id v, double want, int64_t limit) {
  const ox_tensor *t = ox_const(g, v);
  int64_t n = t && t->kind == OX_TENSOR && t->data ? ox_elements(&t->shape) : -1;
  if (n < 1 || n > limit) return 0;
  for (int64_t i = 0; i < n; i++)
    if (!(ox_at(g, t, i) == want)) return 0;
  return 1;
}
/* Reads a constant list of I64 or I32. Returns 0 if |v| is none, or longer than |max|. */
static inline int ox_const_ints(const ox_rewrite *g, ox_id v, int64_t *out, int max, int *out_n) {
  const ox_tensor *t = ox_const(g, v);
  int64_t n = t && t->kind == OX_TENSOR ? ox_elements(&t->shape) : -1;
  if (n < 0 || n > max || (n && !t->data) || (t->dtype != OX_I64 && t->dtype != OX_I32)) return 0;
  for (int64_t i = 0; i < n; i++) { /* constants may be unaligned */
    int32_t i32;
    const char *p = (const char *)t->data;
    if (t->dtype == OX_I64)
      memcpy(&out[i], p + i * 8, sizeof out[i]);
    else
      memcpy(&i32, p + i * 4, sizeof i32), out[i] = i32;
  }
  *out_n = (int)n;
  return 1;
}
/* Reads a list from attribute |name| or, as in newer operator sets, from constant input |slot|; *out_n is -1 if both
 * are absent. Returns 0 if the input is not constant or the list is longer than |max|. */
static inline int ox_list_of(const ox_rewrite *g, ox_id node, const char *name, uint32_t slot, int64_t *out, int max,
                             int *out_n) {
  const ox_attr_view *a = ox_attr_ints(g, node, name);
  *out_n = -1;
  if (!a) return ox_in(g, node, slot) == OX_NONE || ox_const_ints(g, ox_in(g, node, slot), out, max, out_n);
  if (a->n > (size_t)max) return 0;
  if (a->n) memcpy(out, a->ints, a->n * sizeof *out);
  *out_n = (int)a->n;
  return 1;
}

/* ---- the model ---- */

static inline int64_t ox_opset_of(const ox_rewrite *g, const char *domain) { return g->api->opset(g, domain); }
static inline int ox_op_serves(const ox_rewrite *g, const char *domain, const char *op, uint32_t dtype) {
  return g->api->op_serves(g, domain, op, dtype);
}
/* An OUT_OF_MEMORY status, to return where scratch or model_alloc gave NULL. */
static inline ox_status *ox_no_memory(const ox_rewrite *g) {
  return g->api->status_make(OX_OUT_OF_MEMORY, "out of memory");
}

/* ---- edits ---- */

OX_NODISCARD static inline ox_status *ox_set_in(const ox_rewrite *g, ox_id node, uint32_t slot, ox_id v) {
  return g->api->set_in(g, node, slot, v);
}
OX_NODISCARD static inline ox_status *ox_become(const ox_rewrite *g, ox_id node, const char *domain, const char *op) {
  return g->api->become(g, node, domain, op);
}
static inline ox_attr_view ox_view_of_(uint32_t kind) {
  ox_attr_view a;
  memset(&a, 0, sizeof a);
  a.kind = kind;
  return a;
}
/* Sets an attribute, whatever its kind was; strings and lists are copied. */
OX_NODISCARD static inline ox_status *ox_set_int(const ox_rewrite *g, ox_id node, const char *name, int64_t i) {
  ox_attr_view a = ox_view_of_(OX_ATTR_INT_KIND);
  a.i = i;
  return g->api->set_attr(g, node, name, &a);
}
OX_NODISCARD static inline ox_status *ox_set_float(const ox_rewrite *g, ox_id node, const char *name, float f) {
  ox_attr_view a = ox_view_of_(OX_ATTR_FLOAT_KIND);
  a.f = f;
  return g->api->set_attr(g, node, name, &a);
}
OX_NODISCARD static inline ox_status *ox_set_str(const ox_rewrite *g, ox_id node, const char *name, const char *s) {
  ox_attr_view a = ox_view_of_(OX_ATTR_STRING_KIND);
  a.s.p = s, a.s.n = strlen(s);
  return g->api->set_attr(g, node, name, &a);
}
OX_NODISCARD static inline ox_status *ox_set_ints(const ox_rewrite *g, ox_id node, const char *name, const int64_t *v,
                                                  size_t n) {
  ox_attr_view a = ox_view_of_(OX_ATTR_INTS_KIND);
  a.n = n, a.ints = v;
  return g->api->set_attr(g, node, name, &a);
}
OX_NODISCARD static inline ox_status *ox_set_floats(const ox_rewrite *g, ox_id node, const char *name, const float *v,
                                                    size_t n) {
  ox_attr_view a = ox_view_of_(OX_ATTR_FLOATS_KIND);
  a.n = n, a.floats = v;
  return g->api->set_attr(g, node, name, &a);
}
/* Removes attribute |name|, NULL: all; as remove_attr, not one that holds a body. */
OX_NODISCARD static inline ox_status *ox_drop_attr(const ox_rewrite *g, ox_id node, const char *name) {
  return g->api->remove_attr(g, node, name);
}
/* Sets all attributes of |from| on |to|, whose others stay. Error INVALID_ARGUMENT if one is a graph or a type. */
OX_NODISCARD static inline ox_status *ox_copy_attrs(const ox_rewrite *g, ox_id to, ox_id from) {
  ox_status *st = NULL;
  for (uint32_t i = 0; !st && i < g->api->attr_count(g, from); i++) {
    const char *name = g->api->attr_name(g, from, i);
    st = g->api->set_attr(g, to, name, ox_attr_of(g, from, name));
  }
  return st;
}
/* Makes |node| an |op| with exactly these inputs and no attributes; its outputs stay. */
OX_NODISCARD static inline ox_status *ox_remake(const ox_rewrite *g, ox_id node, const char *domain, const char *op,
                                                const ox_id *in, uint32_t n_in) {
  ox_status *st = ox_become(g, node, domain, op);
  if (!st) st = ox_drop_attr(g, node, NULL);
  for (uint32_t i = 0; !st && i < n_in; i++) st = ox_set_in(g, node, i, in[i]);
  return st ? st : g->api->set_counts(g, node, n_in, ox_n_out(g, node));
}
OX_NODISCARD static inline ox_status *ox_replace(const ox_rewrite *g, ox_id from, ox_id to) {
  return g->api->replace_uses(g, from, to);
}
OX_NODISCARD static inline ox_status *ox_remove(const ox_rewrite *g, ox_id node) {
  return g->api->remove_node(g, node);
}
OX_NODISCARD static inline ox_status *ox_remove_unused(const ox_rewrite *g, ox_id node) {
  return node == OX_NONE ? NULL : g->api->remove_unused(g, node);
}
/* Replaces the node's output 0 by |v| and removes the node. */
OX_NODISCARD static inline ox_status *ox_give_way(const ox_rewrite *g, ox_id node, ox_id v) {
  ox_status *st = ox_replace(g, ox_out(g, node, 0), v);
  return st ? st : ox_remove(g, node);
}
/* Replaces the node's output 0 by its input 0 and removes the node. */
OX_NODISCARD static inline ox_status *ox_bypass(const ox_rewrite *g, ox_id node) {
  return ox_give_way(g, node, ox_in(g, node, 0));
}
/* Adds a node with one new output, whose type is inferred. */
OX_NODISCARD static inline ox_status *ox_emit(const ox_rewrite *g, const char *domain, const char *op, const ox_id *in,
                                              uint32_t n_in, ox_id *out_node, ox_id *out_value) {
  ox_status *st = g->api->add_value(g, NULL, NULL, out_value);
  if (!st) st = g->api->add_node(g, domain, op, "", in, n_in, out_value, 1, out_node);
  return st ? st : g->api->infer(g, *out_node);
}
/* Adds a constant list of integers. */
OX_NODISCARD static inline ox_status *ox_i64_const(const ox_rewrite *g, const int64_t *v, int64_t n, ox_id *out_value) {
  ox_tensor t;
  memset(&t, 0, sizeof t);
  t.dtype = OX_I64, t.data = (void *)v, t.bytes = (size_t)n * sizeof *v, t.shape.rank = 1, t.shape.dim[0] = n;
  return g->api->add_const(g, NULL, &t, out_value);
}
/* Adds a float constant of shape |dims|; its zeroed content is the caller's to fill. */
OX_NODISCARD static inline ox_status *ox_f32_room(const ox_rewrite *g, const char *hint, int rank, const int64_t *dims,
                                                  float **out_data, ox_id *out_value) {
  ox_shape s;
  void *data = NULL;
  s.rank = rank;
  for (int i = 0; i < rank; i++) s.dim[i] = dims[i];
  ox_status *st = g->api->const_room(g, hint, OX_F32, &s, &data, out_value);
  *out_data = (float *)data;
  return st;
}

#ifdef __cplusplus
}
#endif
#endif
