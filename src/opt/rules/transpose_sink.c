/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/transpose_sink.c - a Transpose of a convolution's channels to the end moves behind what works element by
 * element, behind padding and means, as models of TensorFlow have around each convolution: those that meet the
 * Transpose back vanish with it, and biases, activations and padding stand next to their convolution. Each node is
 * passed once, downwards; no Transpose is added.
 */
#include "base/status.h"
#include "onyx/rewrite.h"

#define UNARY "Relu|LeakyRelu|Elu|Selu|Sigmoid|HardSigmoid|HardSwish|Tanh|Clip|Softplus|Gelu|Sqrt|Exp|Neg|Abs"
#define BINARY "Add|Mul|Sub|Div|Max|Min"

/* Channels of |node|, whose perm is [0, 2, .. , 1], so that axis 1 goes to the end. */
static int turns(const ox_rewrite *g, ox_id node) {
  const ox_attr_view *perm = ox_attr_ints(g, node, "perm");
  if (!perm || perm->n < 3 || perm->n > 5 || perm->ints[0] != 0) return 0;
  for (size_t i = 1; i < perm->n; i++)
    if (perm->ints[i] != (int64_t)(i + 1 == perm->n ? 1 : i + 1)) return 0;
  return ox_shape_at(g, ox_in(g, node, 0))->rank == (int)perm->n && ox_dtype_of(g, ox_in(g, node, 0)) == OX_F32;
}

/* Whether |v| comes from a convolution, by such nodes as are passed here. */
static int from_convolution(const ox_rewrite *g, ox_id v) {
  enum { MOST = 16 };
  for (int i = 0; i < MOST && v != OX_NONE; i++) {
    ox_id node = ox_producer(g, v);
    if (node == OX_NONE) return 0;
    if (ox_is(g, node, "Conv|ConvTranspose|BatchNormalization|MaxPool|AveragePool") ||
        ox_is_of(g, node, "FusedConv", "com.microsoft"))
      return 1;
    if (!ox_is(g, node, UNARY "|" BINARY "|Pad|ReduceMean")) return 0;
    v = ox_in(g, node, ox_const_type(g, ox_in(g, node, 0)) ? 1 : 0);
  }
  return 0;
}

/* The Transpose that makes input |slot| of |node|; OX_NONE: there is none that may move. */
static ox_id turn_at(const ox_rewrite *g, ox_id node, uint32_t slot) {
  ox_id t = ox_up(g, ox_in(g, node, slot), "Transpose");
  return t != OX_NONE && turns(g, t) && from_convolution(g, ox_in(g, t, 0)) ? t : OX_NONE;
}

static int only_use(const ox_rewrite *g, ox_id turn) {
  return ox_uses(g, ox_out(g, turn, 0)) == 1 && !ox_is_output(g, ox_out(g, turn, 0));
}

/* Broadcasting by attributes, before operator set 7, names axes. */
static int broadcasts(const ox_rewrite *g, ox_id op) {
  return ox_n_in(g, op) == 2 && !ox_attr_of(g, op, "axis") && !ox_attr_of(g, op, "broadcast");
}

typedef struct found {
  ox_id turn;
  uint32_t slot; /* which input it makes */
} found;

/* Numbers of axes, or two per axis. */
typedef struct numbers {
  int64_t v[2 * OX_MAX_RANK];
  int n;
} numbers;

/* The axis before the turn of one behind it. */
static int64_t before(int64_t axis, int rank) { return axis == 0 ? 0 : axis == rank - 1 ? 1 : axis + 1; }

/* The node computes what |in| says in the place of its inputs, along other |axes| unless that is NULL, and its result
 * is turned instead. */
static ox_status *turn_result(const ox_rewrite *g, ox_id op, ox_id turn, const ox_id *in, uint32_t n_in,
                              const numbers *axes) {
  int64_t perm[OX_MAX_RANK];
  int rank = ox_shape_at(g, ox_in(g, turn, 0))->rank;
  ox_id moved, node;
  for (int i = 0; i < rank; i++) perm[i] = before(i, rank);
  OX_TRY(g->api->add_value(g, NULL, NULL, &moved));
  OX_TRY(g->api->add_node(g, NULL, ox_op_of(g, op), ox_name_of(g, op), in, n_in, &moved, 1, &node));
  OX_TRY(ox_copy_attrs(g, node, op));
  if (axes) OX_TRY(ox_set_ints(g, node, "axes", axes->v, (size_t)axes->n));
  OX_TRY(g->api->infer(g, node));
  OX_TRY(g->api->set_counts(g, op, n_in, 1));
  OX_TRY(ox_remake(g, op, NULL, "Transpose", &moved, 1));
  return ox_set_ints(g, op, "perm", perm, (size_t)rank);
}

/* ---- one operand ---- */
enum { OP, MAX_IN = 3 };
static const ox_pat unary[] = {[OP] = {.op = UNARY}};

static int unary_guard(const ox_rewrite *g, ox_match *m) {
  found *f = OX_CAPTURE(m, found);
  f->turn = turn_at(g, m->node[OP], 0), f->slot = 0;
  return f->turn != OX_NONE && only_use(g, f->turn) && ox_n_in(g, m->node[OP]) <= MAX_IN;
}

static ox_status *unary_apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  ox_id in[MAX_IN];
  uint32_t n_in = ox_n_in(g, m->node[OP]);
  for (uint32_t i = 0; i < n_in; i++) in[i] = ox_in(g, m->node[OP], i);
  in[0] = ox_in(g, f->turn, 0);
  return turn_result(g, m->node[OP], f->turn, in, n_in, NULL);
}

/* ---- and a constant: of one element, or of one for each channel ---- */
static const ox_pat with_const[] = {[OP] = {.op = BINARY}};

static int const_guard(const ox_rewrite *g, ox_match *m) {
  found *f = OX_CAPTURE(m, found);
  ox_id op = m->node[OP];
  if (!broadcasts(g, op)) return 0;
  f->slot = ox_const_type(g, ox_in(g, op, 0)) ? 1 : 0;
  const ox_tensor *c = ox_const_type(g, ox_in(g, op, 1 - f->slot));
  f->turn = c ? turn_at(g, op, f->slot) : OX_NONE;
  if (f->turn == OX_NONE || !only_use(g, f->turn) || c->dtype != OX_F32) return 0;
  const ox_shape *s = ox_shape_at(g, ox_out(g, f->turn, 0));
  int64_t n = ox_elements(&c->shape);
  if (c->shape.rank > s->rank) return 0;
  return n == 1 || (n > 1 && n == c->shape.dim[c->shape.rank - 1] && n == s->dim[s->rank - 1]);
}

static ox_status *const_apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  const ox_tensor *c = ox_const(g, ox_in(g, m->node[OP], 1 - f->slot));
  int rank = ox_shape_at(g, ox_in(g, f->turn, 0))->rank;
  int64_t dims[OX_MAX_RANK];
  float *data;
  ox_id in[2];
  if (!c) return ox_no_memory(g);
  int64_t n = ox_elements(&c->shape);
  for (int i = 0; i < rank - 1; i++) dims[i] = i == 0 ? n : 1;
  in[f->slot] = ox_in(g, f->turn, 0);
  OX_TRY(ox_f32_room(g, NULL, n == 1 ? 0 : rank - 1, dims, &data, &in[1 - f->slot]));
  for (int64_t i = 0; i < n; i++) data[i] = ((const ox_f32u *)c->data)[i];
  return turn_result(g, m->node[OP], f->turn, in, 2, NULL);
}

/* ---- two turned operands: one Transpose does for both ---- */
typedef struct pair {
  ox_id turn[2];
  int whole; /* which of them has the result's shape */
} pair;
static const ox_pat both[] = {[OP] = {.op = BINARY}};

static int both_guard(const ox_rewrite *g, ox_match *m) {
  pair *p = OX_CAPTURE(m, pair);
  ox_id op = m->node[OP];
  if (!broadcasts(g, op)) return 0;
  for (int i = 0; i < 2; i++) {
    p->turn[i] = turn_at(g, op, (uint32_t)i);
    if (p->turn[i] == OX_NONE) return 0;
  }
  const ox_shape *y = ox_shape_at(g, ox_out(g, op, 0)), *a = ox_shape_at(g, ox_out(g, p->turn[0], 0)),
                 *b = ox_shape_at(g, ox_out(g, p->turn[1], 0));
  p->whole = ox_same_shape(y, a) ? 0 : 1;
  return a->rank == b->rank && (p->whole == 0 || ox_same_shape(y, b)) && p->turn[0] != p->turn[1] &&
         (only_use(g, p->turn[0]) || only_use(g, p->turn[1]));
}

static ox_status *both_apply(const ox_rewrite *g, const ox_match *m) {
  const pair *p = OX_CAPTURED(m, pair);
  ox_id in[2] = {ox_in(g, p->turn[0], 0), ox_in(g, p->turn[1], 0)};
  return turn_result(g, m->node[OP], p->turn[p->whole], in, 2, NULL);
}

/* ---- padding, and means that keep the rank: what is said of axes is said of others ---- */
typedef struct along {
  ox_id turn;
  numbers to;
} along;
static const ox_pat pad[] = {[OP] = {.op = "Pad"}};
static const ox_pat mean[] = {[OP] = {.op = "ReduceMean"}};

static int pad_guard(const ox_rewrite *g, ox_match *m) {
  along *a = OX_CAPTURE(m, along);
  ox_id op = m->node[OP];
  numbers said;
  a->turn = turn_at(g, op, 0);
  if (a->turn == OX_NONE || !only_use(g, a->turn) || ox_n_in(g, op) < 2 || ox_n_in(g, op) > 3) return 0;
  int rank = ox_shape_at(g, ox_in(g, a->turn, 0))->rank;
  if (!ox_const_ints(g, ox_in(g, op, 1), said.v, 2 * OX_MAX_RANK, &said.n) || said.n != 2 * rank) return 0;
  a->to.n = said.n;
  for (int i = 0; i < rank; i++) {
    a->to.v[before(i, rank)] = said.v[i];
    a->to.v[rank + before(i, rank)] = said.v[rank + i];
  }
  return 1;
}

static ox_status *pad_apply(const ox_rewrite *g, const ox_match *m) {
  const along *a = OX_CAPTURED(m, along);
  ox_id op = m->node[OP], in[MAX_IN] = {ox_in(g, a->turn, 0), OX_NONE, ox_in(g, op, 2)};
  OX_TRY(ox_i64_const(g, a->to.v, a->to.n, &in[1]));
  return turn_result(g, op, a->turn, in, ox_n_in(g, op), NULL);
}

static int mean_guard(const ox_rewrite *g, ox_match *m) {
  along *a = OX_CAPTURE(m, along);
  ox_id op = m->node[OP];
  a->turn = turn_at(g, op, 0);
  if (a->turn == OX_NONE || !only_use(g, a->turn) || ox_attr_i(g, op, "keepdims", 1) != 1) return 0;
  int rank = ox_shape_at(g, ox_in(g, a->turn, 0))->rank;
  if (!ox_list_of(g, op, "axes", 1, a->to.v, OX_MAX_RANK, &a->to.n)) return 0;
  for (int i = 0; i < a->to.n; i++) {
    int64_t axis = a->to.v[i] < 0 ? a->to.v[i] + rank : a->to.v[i];
    if (axis < 0 || axis >= rank) return 0;
    a->to.v[i] = before(axis, rank);
  }
  return a->to.n > 0;
}

static ox_status *mean_apply(const ox_rewrite *g, const ox_match *m) {
  const along *a = OX_CAPTURED(m, along);
  ox_id op = m->node[OP], in[2] = {ox_in(g, a->turn, 0), OX_NONE};
  if (ox_n_in(g, op) == 1) return turn_result(g, op, a->turn, in, 1, &a->to);
  OX_TRY(ox_i64_const(g, a->to.v, a->to.n, &in[1]));
  return turn_result(g, op, a->turn, in, 2, NULL);
}

static const ox_rule rules[] = {
    {OX_RULE("transpose-sink-both", OX_OPTIMIZE_EXTENDED, both, both_guard, both_apply)},
    {OX_RULE("transpose-sink-const", OX_OPTIMIZE_EXTENDED, with_const, const_guard, const_apply)},
    {OX_RULE("transpose-sink-mean", OX_OPTIMIZE_EXTENDED, mean, mean_guard, mean_apply)},
    {OX_RULE("transpose-sink-pad", OX_OPTIMIZE_EXTENDED, pad, pad_guard, pad_apply)},
    {OX_RULE("transpose-sink-unary", OX_OPTIMIZE_EXTENDED, unary, unary_guard, unary_apply)},
};
const ox_rule_set ox_rules_transpose_sink = OX_RULE_SET(rules);
