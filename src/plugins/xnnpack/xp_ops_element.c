/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_ops_element.c - element-wise operators, PRelu, Softmax. Element-wise operators keep the layout that their
 * inputs have. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "xp_bytes.h"
#include "xp_library.h"

static const char *check_float(const xp_graph *g, size_t node) {
  if (!xp_is_float(g, xp_in(g, node, 0))) return XP_NO_FLOAT;
  return xp_rank(g, xp_in(g, node, 0)) < 0 ? REASON("a known rank of at most 6", "{0}") : NULL;
}

/* ---- one input ---- */

static const struct {
  const char *op;
  xp_unary unary;
} unaries[] = {{"Abs", XP_ABS},
               {"Ceil", XP_CEIL},
               {"Clip", XP_CLAMP},
               {"Elu", XP_ELU},
               {"Exp", XP_EXP},
               {"Floor", XP_FLOOR},
               {"Gelu", XP_GELU},
               {"HardSwish", XP_HARD_SWISH},
               {"LeakyRelu", XP_LEAKY_RELU},
               {"Neg", XP_NEG},
               {"Relu", XP_CLAMP},
               {"Round", XP_ROUND},
               {"Sigmoid", XP_SIGMOID},
               {"Sqrt", XP_SQRT},
               {"Tanh", XP_TANH}};

static const char *check_bounds(const xp_graph *g, size_t node) {
  float lo, hi;
  const char *why = check_float(g, node);
  return why ? why : xp_read_bounds(g, node, &lo, &hi);
}

static float alpha(const xp_graph *g, size_t node) {
  return xp_attr_float(g, node, "alpha", xp_is_op(g, node, "Elu") ? 1.0f : 0.01f);
}
static const char *check_alpha(const xp_graph *g, size_t node) {
  float a = alpha(g, node);
  const char *why = check_float(g, node);
  return why ? why : isnormal(a) && a > 0 ? NULL : REASON("an alpha above 0", "{alpha=of the standard}");
}

/* Does this version of the library have the operator in float32? */
static bool has_floats(xp_unary unary) {
  const xp_step s = {.kind = &xp_kind_unary, .which = (int)unary};
  return xp_is_possible(&s, OX_F32);
}

static const char *check_exp(const xp_graph *g, size_t node) {
  const char *why = check_float(g, node);
  return why ? why : has_floats(XP_EXP) ? NULL : REASON("libXNNPACK of 2024 or later", "{op}");
}
static const char *check_gelu(const xp_graph *g, size_t node) {
  const char *why = check_float(g, node);
  if (!why && !xp_attr_is(g, node, "approximate", "none", "none"))
    why = REASON("the exact function", "{approximate=none}");
  return why ? why : has_floats(XP_GELU) ? NULL : REASON("libXNNPACK of 2024 or later", "{op}");
}

/* The API of 2022 has Tanh as a table of bytes, and none for floats. */
static const char *check_tanh(const xp_graph *g, size_t node) {
  xp_bytes x;
  xp_step s = {.kind = &xp_kind_unary, .which = XP_TANH};
  const char *why = check_float(g, node);
  if (why || has_floats(XP_TANH)) return why;
  return xp_bytes_around(g, node, &x) && xp_bytes_fit(g, &x, NULL, OX_I8, &s)
             ? NULL
             : REASON("8-bit integers before and after it (libXNNPACK of 2022 has a table of bytes alone)", "{0}");
}

/* Adds the step in bytes if the library has the operator for these scales. */
static ox_status *emit_unary_bytes(xp_build *b, size_t node, bool *out_taken) {
  const xp_byte_unary *u = xp_find_byte_unary(b->g.h->node_op(b->g.g, node));
  xp_step s = {.kind = &xp_kind_unary, .number = alpha(&b->g, node)};
  xp_bytes x;
  xp_tail tail;
  *out_taken = false;
  xp_find_tail(b, node, &tail);
  if (!u || tail.n_nodes || !xp_bytes_between(b, node, 1, &tail, &x)) return NULL;
  if (u->unary == XP_CLAMP) {
    if (!xp_bytes_alike(&b->g, &x)) return NULL;
    (void)xp_read_bounds(&b->g, node, &tail.lo, &tail.hi);
  }
  s.which = (int)u->unary;
  if (!xp_bytes_fit(&b->g, &x, &tail, u->type, &s)) return NULL;
  xp_take_tail(b, &tail, true);
  *out_taken = true;
  return xp_bytes_add(b, node, &x, u->type, xp_is_last(b, x.x[0]), &s);
}

static ox_status *emit_unary(xp_build *b, size_t node) {
  const xp_graph *g = &b->g;
  bool bytes;
  XP_TRY(emit_unary_bytes(b, node, &bytes));
  if (bytes) return NULL;
  uint32_t x = xp_in(g, node, 0), in;
  bool last = xp_is_last(b, x);
  size_t row = 0;
  xp_step *s;
  while (!xp_is_op(g, node, unaries[row].op)) row++;
  xp_tail tail = {.lo = -INFINITY, .hi = INFINITY, .out = xp_out(g, node, 0)};
  if (unaries[row].unary == XP_CLAMP) (void)xp_read_bounds(g, node, &tail.lo, &tail.hi);
  XP_TRY(xp_need(b, x, OX_F32, last, &in));
  bool tanh = unaries[row].unary == XP_TANH && !has_floats(XP_TANH);
  const xp_kind *kind = tanh ? &xp_kind_tanh : &xp_kind_unary;
  XP_TRY(xp_add(b, node, kind, &in, 1, tail.out, OX_F32, last, &s));
  s->which = (int)unaries[row].unary, s->lo = tail.lo, s->hi = tail.hi, s->number = alpha(g, node);
  return NULL;
}

/* ---- PRelu ---- */

/* The number of slopes, if there is one for each channel or one in all; 0: another shape. */
static int64_t slopes(const xp_graph *g, size_t node) {
  xp_dims s;
  int rank = xp_rank(g, xp_in(g, node, 0));
  xp_shape(g, xp_in(g, node, 1), &s);
  if (s.rank < 0 || s.rank > rank) return 0;
  int64_t n = 1;
  for (int d = 0; d < s.rank; d++) {
    int axis = rank - s.rank + d;
    if (s.d[d] != 1 && axis != 1) return 0;
    n *= s.d[d];
  }
  return n;
}

static const char *check_prelu(const xp_graph *g, size_t node) {
  xp_dims x;
  const char *why = check_float(g, node);
  xp_shape(g, xp_in(g, node, 0), &x);
  if (why) return why;
  if (x.rank < 2 || !xp_is_float(g, xp_in(g, node, 1)) || !xp_is_weights(g, xp_in(g, node, 1)))
    return REASON("constant slopes", "{inputs}");
  int64_t n = slopes(g, node);
  return n < 1 || (n == 1 && x.d[1] < 1) ? REASON("one slope, or one for each channel", "{inputs}") : NULL;
}

static ox_status *emit_prelu(xp_build *b, size_t node) {
  xp_dims x, d;
  const float *given;
  xp_step *s;
  uint32_t in;
  int64_t n = slopes(&b->g, node);
  xp_shape(&b->g, xp_in(&b->g, node, 0), &x);
  XP_TRY(xp_floats(b, xp_in(&b->g, node, 1), &b->p->arena, &given, &d));
  int64_t channels = n > 1 ? n : x.d[1];
  float *all = xp_arena_get(&b->p->arena, (size_t)channels + XNN_EXTRA_BYTES, sizeof *all);
  if (!all) return xp_oom(b->ep);
  for (int64_t i = 0; i < channels; i++) all[i] = given[n > 1 ? i : 0];
  XP_TRY(xp_need(b, xp_in(&b->g, node, 0), OX_F32, true, &in));
  XP_TRY(xp_add(b, node, &xp_kind_prelu, &in, 1, xp_out(&b->g, node, 0), OX_F32, x.rank > 2, &s));
  s->numbers = all, s->channels_in = channels;
  return NULL;
}

/* ---- Softmax ---- */

static int softmax_axis(const xp_graph *g, size_t node) {
  bool old = g->h->node_version(g->g, node) < 13;
  int rank = xp_rank(g, xp_in(g, node, 0));
  int64_t axis = xp_attr_int(g, node, "axis", old ? 1 : -1);
  axis += axis < 0 ? rank : 0;
  return axis < 0 || axis >= rank ? XP_NONE : (int)axis;
}

static const char *check_softmax(const xp_graph *g, size_t node) {
  const char *why = check_float(g, node);
  if (why) return why;
  return softmax_axis(g, node) == XP_NONE ? REASON("an axis of the input", "{axis=of the standard}, {0}") : NULL;
}

/* The library needs the axis to be contiguous: for C the image is brought to channels last, for other axes it is
 * transposed before and after. */
static ox_status *emit_softmax(xp_build *b, size_t node) {
  const xp_graph *g = &b->g;
  uint32_t x = xp_in(g, node, 0), y = xp_out(g, node, 0), in;
  int rank = xp_rank(g, x), axis = softmax_axis(g, node);
  bool old = g->h->node_version(g->g, node) < 13, last = !old && axis == 1 && rank > 2;
  xp_step *s, made = {.kind = &xp_kind_softmax, .axis = rank - 1};
  xp_bytes bytes;
  xp_tail tail;
  xp_find_tail(b, node, &tail);
  if (axis == rank - 1 && !tail.n_nodes && xp_bytes_between(b, node, 1, &tail, &bytes) &&
      xp_bytes_fit(g, &bytes, NULL, OX_U8, &made)) {
    xp_take_tail(b, &tail, true);
    return xp_bytes_add(b, node, &bytes, OX_U8, false, &made);
  }
  XP_TRY(xp_need(b, x, OX_F32, last, &in));
  if (old || last || axis == rank - 1) {
    XP_TRY(xp_add(b, node, &xp_kind_softmax, &in, 1, y, OX_F32, last, &s));
    s->axis = old ? axis : rank - 1;
    return NULL;
  }
  /* Transpose, Softmax, transpose. Each step overwrites the form of |y|, so that no reader gets an intermediate. */
  for (int turn = 0; turn < 3; turn++) {
    XP_TRY(xp_add(b, node, turn == 1 ? &xp_kind_softmax : &xp_kind_transpose, &in, 1, y, OX_F32, false, &s));
    in = s->out, s->axis = rank - 1;
    for (int d = 0; d < rank; d++) s->sizes[d] = d == axis ? rank - 1 : d == rank - 1 ? axis : d;
  }
  return NULL;
}

/* ---- two inputs ---- */

static const struct {
  const char *op;
  xp_binary binary;
} binaries[] = {{"Add", XP_ADD}, {"Div", XP_DIV}, {"Max", XP_MAX}, {"Min", XP_MIN}, {"Mul", XP_MUL}, {"Sub", XP_SUB}};

static const char *check_binary(const xp_graph *g, size_t node) {
  if (g->h->node_in_count(g->g, node) != 2) return REASON("two inputs", "{inputs}");
  if (g->h->node_version(g->g, node) < 7) return REASON("the broadcasting of opset 7 or later", "{op}");
  for (size_t i = 0; i < 2; i++) {
    if (!xp_is_float(g, xp_in(g, node, i))) return XP_NO_FLOAT;
    if (xp_rank(g, xp_in(g, node, i)) < 0) return REASON("known ranks of at most 6", "{inputs}");
  }
  return NULL;
}

static bool is_constant(const xp_build *b, uint32_t v) {
  return b->g.h->value_const(b->g.g, v) || (!b->values[v].from_bytes && xp_dequantizer(&b->g, v) != SIZE_MAX);
}

bool xp_are_last(const xp_build *b, const uint32_t v[2]) {
  int ranks[2] = {xp_rank(&b->g, v[0]), xp_rank(&b->g, v[1])}, rank = ranks[0] > ranks[1] ? ranks[0] : ranks[1];
  bool any = false;
  for (int i = 0; i < 2; i++) {
    if (is_constant(b, v[i])) continue;
    if (xp_rank(&b->g, v[i]) != rank) return false;
    any = any || xp_is_last(b, v[i]);
  }
  return any && rank > 2;
}

static ox_status *emit_binary(xp_build *b, size_t node) {
  const uint32_t v[2] = {xp_in(&b->g, node, 0), xp_in(&b->g, node, 1)};
  int ranks[2] = {xp_rank(&b->g, v[0]), xp_rank(&b->g, v[1])}, rank = ranks[0] > ranks[1] ? ranks[0] : ranks[1];
  size_t row = 0;
  xp_tail tail;
  uint32_t in[2];
  while (!xp_is_op(&b->g, node, binaries[row].op)) row++;
  xp_find_tail(b, node, &tail);
  if (binaries[row].binary == XP_MAX || binaries[row].binary == XP_MIN) /* the library's take no bounds */
    tail = (xp_tail){.lo = -INFINITY, .hi = INFINITY, .out = xp_out(&b->g, node, 0), .quantized = UINT32_MAX};
  xp_bytes x;
  xp_step *s, made = {.kind = &xp_kind_binary, .which = (int)binaries[row].binary};
  bool bytes = xp_bytes_between(b, node, 2, &tail, &x) && xp_bytes_fit(&b->g, &x, &tail, OX_I8, &made);
  xp_take_tail(b, &tail, bytes);
  if (bytes) return xp_bytes_add(b, node, &x, OX_I8, xp_are_last(b, x.x), &made);
  bool last = xp_are_last(b, v);
  for (int i = 0; i < 2; i++)
    if (is_constant(b, v[i]))
      XP_TRY(xp_need_constant(b, v[i], last ? rank : ranks[i], last, &in[i]));
    else
      XP_TRY(xp_need(b, v[i], OX_F32, last, &in[i]));
  bool bounded = !xp_lib_bounds && (tail.lo > -INFINITY || tail.hi < INFINITY);
  XP_TRY(xp_add(b, node, bounded ? &xp_kind_bounded : &xp_kind_binary, in, 2, tail.out, OX_F32, last, &s));
  s->which = (int)binaries[row].binary, s->lo = tail.lo, s->hi = tail.hi;
  return NULL;
}

const xp_operator xp_ops_element[] = {{"Abs", check_float, emit_unary},         {"Ceil", check_float, emit_unary},
                                      {"Clip", check_bounds, emit_unary},       {"Elu", check_alpha, emit_unary},
                                      {"Exp", check_exp, emit_unary},           {"Gelu", check_gelu, emit_unary},
                                      {"Floor", check_float, emit_unary},       {"HardSwish", check_float, emit_unary},
                                      {"LeakyRelu", check_alpha, emit_unary},   {"Neg", check_float, emit_unary},
                                      {"Relu", check_bounds, emit_unary},       {"Round", check_float, emit_unary},
                                      {"Sigmoid", check_float, emit_unary},     {"Sqrt", check_float, emit_unary},
                                      {"Tanh", check_tanh, emit_unary},         {"PRelu", check_prelu, emit_prelu},
                                      {"Softmax", check_softmax, emit_softmax}, {"Add", check_binary, emit_binary},
                                      {"Div", check_binary, emit_binary},       {"Max", check_binary, emit_binary},
                                      {"Min", check_binary, emit_binary},       {"Mul", check_binary, emit_binary},
                                      {"Sub", check_binary, emit_binary},       {NULL, NULL, NULL}};
