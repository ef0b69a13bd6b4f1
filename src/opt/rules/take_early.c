/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/take_early.c - Gather and Slice of a few rows move before what works row by row, so that rows which nothing
 * reads are not computed: the last layer of a network that classifies by its first token, or the logits of all tokens
 * but the last. Only where that saves a product. Each application moves them up by one node. */
#include "base/status.h"
#include "onyx/rewrite.h"

#define EACH                                                                                                   \
  "Add|Sub|Mul|Div|Pow|Min|Max|Erf|Relu|Sigmoid|Tanh|Gelu|Sqrt|Exp|Neg|Abs|Reciprocal|Softplus|LeakyRelu|Elu|" \
  "HardSwish|HardSigmoid|Identity|Cast"
#define REDUCE "ReduceMean|ReduceSum|ReduceMax|ReduceMin|ReduceL2|ReduceSumSquare"

enum {
  MOST_INPUTS = 4,
  MOST_USERS = 4,
  MOST_UNKNOWN = 4 /* rows of an unknown number */,
  DEPTH = 12,
  BUDGET = 64 /* nodes looked at */
};
enum { KEPT = -1, NEVER = -2 };

/* ---- takers ---- */
typedef struct taker {
  int axis, slice, scalar;   /* scalar: the axis goes away */
  int64_t count, first, end; /* first, end: of a slice; first: the only index of a Gather */
  ox_id index;               /* of a Gather */
} taker;

static int one_of(const ox_rewrite *g, ox_id v, int64_t absent, int64_t *out) {
  int n;
  *out = absent;
  return v == OX_NONE || (ox_const_ints(g, v, out, 1, &n) && n == 1);
}

/* |dim| below 0: unknown; then |count| is the most that there can be. */
static int slice_of(const ox_rewrite *g, ox_id node, const ox_shape *x, taker *t) {
  int64_t axis, step, dim;
  if (ox_n_in(g, node) < 3 || !one_of(g, ox_in(g, node, 1), 0, &t->first) ||
      !one_of(g, ox_in(g, node, 2), 0, &t->end) || !one_of(g, ox_in(g, node, 3), 0, &axis) ||
      !one_of(g, ox_in(g, node, 4), 1, &step))
    return 0;
  if (step != 1 || axis < -x->rank || axis >= x->rank) return 0;
  t->axis = (int)(axis < 0 ? axis + x->rank : axis), dim = x->dim[t->axis];
  int64_t first = t->first, end = t->end;
  if (dim >= 0) {
    first = first < 0 ? (first < -dim ? 0 : first + dim) : first;
    end = end < 0 ? end + dim : end < dim ? end : dim;
  } else if (first < 0 && end > INT32_MAX - 1) {
    end = 0;
  } else if ((first < 0) != (end < 0)) {
    return 0;
  }
  t->count = end < first ? 0 : end - first;
  return 1;
}

static int gather_of(const ox_rewrite *g, ox_id node, const ox_shape *x, taker *t) {
  int64_t axis = ox_attr_i(g, node, "axis", 0);
  t->index = ox_in(g, node, 1);
  const ox_tensor *index = ox_const(g, t->index);
  if (!index || index->shape.rank > 1 || axis < -x->rank || axis >= x->rank) return 0;
  t->axis = (int)(axis < 0 ? axis + x->rank : axis), t->count = ox_elements(&index->shape);
  t->scalar = index->shape.rank == 0;
  return t->count != 1 || one_of(g, t->index, 0, &t->first);
}

/* Whether |node| takes a few of many rows. */
static int taker_of(const ox_rewrite *g, ox_id node, taker *t) {
  const ox_shape *x = ox_shape_at(g, ox_in(g, node, 0));
  *t = (taker){.slice = ox_is(g, node, "Slice"), .index = OX_NONE};
  if (x->rank < 2 || !(t->slice ? slice_of(g, node, x, t) : gather_of(g, node, x, t)) || t->count < 1) return 0;
  if (x->dim[t->axis] >= 0) return 2 * t->count <= x->dim[t->axis];
  return t->axis > 0 && t->count <= MOST_UNKNOWN; /* there is often one item of a batch, and many tokens */
}

static int same(const taker *a, const taker *b) {
  if (a->axis != b->axis || a->slice != b->slice || a->scalar != b->scalar || a->count != b->count) return 0;
  if (a->slice) return a->first == b->first && a->end == b->end;
  return a->count == 1 ? a->first == b->first : a->index == b->index;
}

/* Whether |v| is read in no other way. */
static int all_take(const ox_rewrite *g, ox_id v, const taker *t) {
  uint32_t n = g->api->user_count(g, v), slot;
  for (uint32_t i = 0; i < n; i++) {
    taker other;
    ox_id user = g->api->user(g, v, i, &slot);
    if (user == OX_NONE || slot != 0 || !ox_is(g, user, "Gather|Slice") || !taker_of(g, user, &other)) return 0;
    if (!same(t, &other)) return 0;
  }
  return n == ox_uses(g, v) && n <= MOST_USERS;
}

/* ---- what works row by row ---- */

/* Where axis |axis| of the result is in an operand that broadcasts. */
static int broadcast(const ox_shape *s, const ox_shape *out, int axis) {
  int at = axis - (out->rank - s->rank);
  if (at < 0 || (s->dim[at] == 1 && out->dim[axis] != 1)) return KEPT;
  return s->dim[at] == out->dim[axis] && s->dim[at] != -1 ? at : NEVER;
}

static int in_product(const ox_rewrite *g, ox_id f, uint32_t slot, int axis, const ox_shape *out) {
  const ox_shape *a = ox_shape_at(g, ox_in(g, f, 0)), *b = ox_shape_at(g, ox_in(g, f, 1));
  if (ox_is(g, f, "Gemm")) {
    if (axis != 0 || ox_attr_i(g, f, "transA", 0)) return NEVER;
    return slot == 0 ? 0 : slot == 1 ? KEPT : broadcast(ox_shape_at(g, ox_in(g, f, 2)), out, 0);
  }
  if (a->rank != out->rank || b->rank < 2 || axis == out->rank - 1) return NEVER;
  if (axis != out->rank - 2 && b->rank != 2) return NEVER;
  return slot == 0 ? axis : KEPT;
}

/* Reshapes that leave the axis and all before it. */
static int in_reshape(const ox_rewrite *g, ox_id f, int axis, const ox_shape *in, const ox_shape *out) {
  int unknown = 0;
  if (in->rank <= axis || ox_attr_i(g, f, "allowzero", 0)) return NEVER;
  for (int i = 0; i <= axis; i++)
    if (in->dim[i] != out->dim[i] || in->dim[i] == -1) return NEVER;
  for (int i = axis + 1; i < out->rank; i++) {
    if (out->dim[i] == 0) return NEVER;
    unknown += out->dim[i] < 0;
  }
  return unknown <= 1 ? axis : NEVER;
}

static int in_reduction(const ox_rewrite *g, ox_id f, int axis, int rank) {
  int64_t axes[OX_MAX_RANK];
  int n;
  if (!ox_attr_i(g, f, "keepdims", 1) || !ox_list_of(g, f, "axes", 1, axes, OX_MAX_RANK, &n) || n < 1) return NEVER;
  for (int i = 0; i < n; i++)
    if ((axes[i] < 0 ? axes[i] + rank : axes[i]) == axis) return NEVER;
  return axis;
}

/* Attention: rows of the result are those of the queries, unless they know where they are. */
static int in_attention(const ox_rewrite *g, ox_id f, uint32_t slot, int axis, const ox_shape *s) {
  int rank = ox_shape_at(g, ox_in(g, f, 0))->rank;
  if (axis != rank - 2 || ox_attr_i(g, f, "is_causal", 0) || slot > 3) return NEVER;
  if (slot < 3) return slot ? KEPT : axis;
  if (s->rank < 2 || s->dim[s->rank - 2] == 1) return KEPT;
  return s->dim[s->rank - 2] == ox_shape_at(g, ox_out(g, f, 0))->dim[axis] ? s->rank - 2 : NEVER;
}

/* Where axis |axis| of |f|'s result is in its input |slot|; KEPT: nowhere, NEVER: |f| does not work row by row. */
static int place_in(const ox_rewrite *g, ox_id f, uint32_t slot, int axis) {
  const ox_shape *out = ox_shape_at(g, ox_out(g, f, 0)), *s = ox_shape_at(g, ox_in(g, f, slot));
  if (ox_in(g, f, slot) == OX_NONE) return KEPT;
  if (s->rank < 0 || out->rank <= axis) return NEVER;
  if (ox_is(g, f, "MatMul|Gemm")) return in_product(g, f, slot, axis, out);
  if (ox_is(g, f, EACH)) return ox_n_in(g, f) == 1 ? axis : ox_attr_of(g, f, "axis") ? NEVER : broadcast(s, out, axis);
  if (ox_is(g, f, "Attention") || ox_is_of(g, f, "Attention", "ai.onyx")) return in_attention(g, f, slot, axis, s);
  if (slot > 0) return KEPT;
  if (ox_is_of(g, f, "Gelu|QuickGelu|FastGelu", "com.microsoft")) return axis;
  if (ox_is(g, f, "Reshape")) return in_reshape(g, f, axis, s, out);
  if (ox_is(g, f, REDUCE)) return in_reduction(g, f, axis, s->rank);
  if (ox_is(g, f, "Transpose")) {
    const ox_attr_view *perm = ox_attr_ints(g, f, "perm");
    return perm ? (int)perm->ints[axis] : s->rank - 1 - axis;
  }
  int64_t along = ox_attr_i(g, f, "axis", -1);
  along += along < 0 ? s->rank : 0;
  if (ox_is(g, f, "LayerNormalization|SimplifiedLayerNormalization")) return axis < along ? axis : NEVER;
  return ox_is(g, f, "Softmax") && ox_opset_of(g, "") >= 13 && axis != along ? axis : NEVER;
}

/* Whether |v| comes from a product of which it would take rows, at most |depth| nodes up. */
static int saves_product(const ox_rewrite *g, ox_id v, int axis, int depth, int *budget) {
  uint32_t slot = 0;
  ox_id f = g->api->producer(g, v, &slot);
  int found = 0;
  if (f == OX_NONE || slot || ox_n_in(g, f) > MOST_INPUTS || ox_uses(g, v) > MOST_USERS || !depth || --*budget < 0)
    return 0;
  for (uint32_t i = 0; i < ox_n_in(g, f); i++) {
    int at = place_in(g, f, i, axis);
    if (at == NEVER) return 0;
    if (at >= 0) found = found || ox_is(g, f, "MatMul|Gemm") || saves_product(g, ox_in(g, f, i), at, depth - 1, budget);
  }
  return found;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  taker *t = OX_CAPTURE(m, taker);
  ox_id v = ox_in(g, m->node[0], 0), f = ox_producer(g, v);
  int budget = BUDGET;
  return f != OX_NONE && taker_of(g, m->node[0], t) && ox_one_output(g, f) && all_take(g, v, t) &&
         saves_product(g, v, t->axis, DEPTH, &budget);
}

/* ---- the move ---- */
static ox_status *take(const ox_rewrite *g, const taker *t, ox_id v, int axis, ox_id *out) {
  ox_id in[4] = {v, t->index}, node;
  if (t->slice) {
    OX_TRY(ox_i64_const(g, &t->first, 1, &in[1]));
    OX_TRY(ox_i64_const(g, &t->end, 1, &in[2]));
    OX_TRY(ox_i64_const(g, (const int64_t[]){axis}, 1, &in[3]));
    return ox_emit(g, NULL, "Slice", in, 4, &node, out);
  }
  if (t->scalar) OX_TRY(ox_i64_const(g, &t->first, 1, &in[1]));
  OX_TRY(g->api->add_value(g, NULL, NULL, out));
  OX_TRY(g->api->add_node(g, NULL, "Gather", "", in, 2, out, 1, &node));
  OX_TRY(ox_set_int(g, node, "axis", axis));
  return g->api->infer(g, node);
}

/* The shape that a Reshape gives, with as many rows as there are now. */
static ox_status *shape_of(const ox_rewrite *g, const ox_shape *out, int axis, ox_id *v) {
  int64_t dims[OX_MAX_RANK];
  for (int i = 0; i < out->rank; i++) dims[i] = i <= axis ? 0 : out->dim[i] < 0 ? -1 : out->dim[i];
  return ox_i64_const(g, dims, out->rank, v);
}

static ox_status *zero(const ox_rewrite *g, ox_id *v) {
  static const int64_t none = 0;
  ox_tensor t;
  memset(&t, 0, sizeof t);
  t.dtype = OX_I64, t.data = (void *)(uintptr_t)&none, t.bytes = sizeof none;
  return g->api->add_const(g, NULL, &t, v);
}

/* |f| again, of taken rows. */
static ox_status *compute_taken(const ox_rewrite *g, const taker *t, ox_id f, ox_id *out) {
  ox_id in[MOST_INPUTS], node;
  uint32_t n = ox_n_in(g, f);
  for (uint32_t i = 0; i < n; i++) {
    int at = place_in(g, f, i, t->axis);
    in[i] = ox_in(g, f, i);
    if (at >= 0) OX_TRY(take(g, t, in[i], at, &in[i]));
  }
  if (ox_is(g, f, "Reshape")) OX_TRY(shape_of(g, ox_shape_at(g, ox_out(g, f, 0)), t->axis, &in[1]));
  OX_TRY(g->api->add_value(g, NULL, NULL, out));
  OX_TRY(g->api->add_node(g, ox_domain_of(g, f), ox_op_of(g, f), ox_name_of(g, f), in, n, out, 1, &node));
  OX_TRY(ox_copy_attrs(g, node, f));
  return g->api->infer(g, node);
}

static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const taker *t = OX_CAPTURED(m, taker);
  ox_id v = ox_in(g, m->node[0], 0), f = ox_producer(g, v), taken;
  OX_TRY(compute_taken(g, t, f, &taken));
  while (g->api->user_count(g, v)) {
    ox_id user = g->api->user(g, v, 0, NULL), first;
    if (!t->scalar) {
      OX_TRY(ox_give_way(g, user, taken));
      continue;
    }
    OX_TRY(zero(g, &first));
    OX_TRY(ox_set_in(g, user, 0, taken));
    OX_TRY(ox_set_in(g, user, 1, first));
  }
  return ox_remove_unused(g, f); /* it reads what other takers wait for */
}

static const ox_pat pattern[] = {{.op = "Gather|Slice"}};
static const ox_rule rules[] = {{OX_RULE("take-early", OX_OPTIMIZE_EXTENDED, pattern, guard, apply)}};
const ox_rule_set ox_rules_take_early = OX_RULE_SET(rules);
