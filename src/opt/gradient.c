/* SPDX-License-Identifier: Apache-2.0
 * opt/gradient.c - clones the graph between xs and y with the node's inputs in place of xs and zs, then walks the clone
 * backwards. A rule is a row of a table: it adds each input's share of the derivative. */
#include "opt/gradient.h"

#include <string.h>

#include "base/macros.h"
#include "opt/opt.h"

typedef struct {
  ox_graph *g;
  ox_arena *arena;
  ox_id *image;   /* per value of the original graph: its stand-in in the clone, or OX_NONE */
  ox_id *adjoint; /* per value: d y / d value so far, or OX_NONE. Room for values made on the way */
  uint32_t room;
  ox_id *order; /* cloned nodes, in the order of computation */
  uint32_t n_order;
} tape;

/* ---- building blocks ---- */

static ox_status *emit(tape *t, const char *op, ox_id a, ox_id b, ox_id *out) {
  const ox_id in[] = {a, b};
  ox_id node;
  OX_TRY(ox_graph_add_value(t->g, "gradient", out));
  OX_TRY(ox_graph_add_node(t->g, op, "", NULL, in, b == OX_NONE ? 1 : 2, out, 1, &node));
  return ox_infer_node(t->g, node);
}

static ox_status *scalar_like(tape *t, ox_id like, float v, ox_id *out) {
  uint32_t dtype = t->g->values[like].type.dtype;
  double d = (double)v;
  if (dtype == OX_F64) return ox_graph_add_const_copy(t->g, "k", OX_F64, 0, NULL, &d, out);
  if (dtype == OX_F32) return ox_graph_add_const_copy(t->g, "k", OX_F32, 0, NULL, &v, out);
  return ox_fail(OX_NOT_IMPLEMENTED, "the gradient of %s values", ox_dtype_name(dtype));
}

/* Sums |v| over the axes along which an operand of |shape| was broadcast, so that it has that shape. */
static ox_status *unbroadcast(tape *t, ox_id v, const ox_shape *shape, ox_id *out) {
  const ox_shape from = t->g->values[v].type.shape;
  int64_t axes[OX_MAX_RANK], n = 0, rank = shape->rank;
  *out = v;
  if (!ox_shape_known(&from) || !ox_shape_known(shape))
    return ox_fail(OX_NOT_IMPLEMENTED, "the gradient of '%s', whose shape is not known at load", t->g->values[v].name);
  if (ox_shape_equal(&from, shape)) return NULL;
  for (int i = 0; i < from.rank; i++) {
    int k = i - (from.rank - shape->rank);
    if (k < 0 || (shape->dim[k] == 1 && from.dim[i] != 1)) axes[n++] = i;
  }
  ox_id list, target, sum;
  OX_TRY(ox_graph_add_const_copy(t->g, "axes", OX_I64, 1, &n, axes, &list));
  OX_TRY(ox_graph_add_const_copy(t->g, "shape", OX_I64, 1, &rank, shape->dim, &target));
  if (ox_model_opset(t->g->model, "") >= 13) {
    OX_TRY(emit(t, "ReduceSum", v, list, &sum));
  } else {
    OX_TRY(emit(t, "ReduceSum", v, OX_NONE, &sum));
    ox_id node = t->g->values[sum].producer;
    OX_TRY(ox_node_set_ints(t->g, node, "axes", axes, (size_t)n));
    OX_TRY(ox_infer_node(t->g, node));
  }
  return emit(t, "Reshape", sum, target, out);
}

/* Adds |share| to the adjoint of |v|. */
static ox_status *credit(tape *t, ox_id v, ox_id share) {
  if (v == OX_NONE || v >= t->room) return NULL;
  const ox_shape shape = t->g->values[v].type.shape;
  OX_TRY(unbroadcast(t, share, &shape, &share));
  if (t->adjoint[v] == OX_NONE)
    t->adjoint[v] = share;
  else
    OX_TRY(emit(t, "Add", t->adjoint[v], share, &t->adjoint[v]));
  return NULL;
}

/* ---- rules: g is the adjoint of output y; a and b are the inputs ---- */

typedef ox_status *(*rule_fn)(tape *t, ox_id a, ox_id b, ox_id y, ox_id g);

static ox_status *d_add(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)y;
  OX_TRY(credit(t, a, g));
  return credit(t, b, g);
}

static ox_status *d_sub(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)y;
  OX_TRY(credit(t, a, g));
  OX_TRY(emit(t, "Neg", g, OX_NONE, &g));
  return credit(t, b, g);
}

static ox_status *d_mul(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)y;
  ox_id ga, gb;
  OX_TRY(emit(t, "Mul", g, b, &ga));
  OX_TRY(credit(t, a, ga));
  OX_TRY(emit(t, "Mul", g, a, &gb));
  return credit(t, b, gb);
}

static ox_status *d_div(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  ox_id ga, gb;
  OX_TRY(emit(t, "Div", g, b, &ga));
  OX_TRY(credit(t, a, ga));
  OX_TRY(emit(t, "Mul", ga, y, &gb)); /* d (a / b) / d b = -(a / b) / b */
  OX_TRY(emit(t, "Neg", gb, OX_NONE, &gb));
  return credit(t, b, gb);
}

static ox_status *d_neg(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)b, (void)y;
  OX_TRY(emit(t, "Neg", g, OX_NONE, &g));
  return credit(t, a, g);
}

static ox_status *d_identity(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)b, (void)y;
  return credit(t, a, g);
}

static ox_status *d_exp(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)b;
  OX_TRY(emit(t, "Mul", g, y, &g));
  return credit(t, a, g);
}

static ox_status *d_log(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)b, (void)y;
  OX_TRY(emit(t, "Div", g, a, &g));
  return credit(t, a, g);
}

static ox_status *d_sqrt(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)b;
  ox_id half;
  OX_TRY(scalar_like(t, a, 0.5f, &half));
  OX_TRY(emit(t, "Mul", g, half, &g));
  OX_TRY(emit(t, "Div", g, y, &g));
  return credit(t, a, g);
}

static ox_status *d_tanh(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)b;
  ox_id square, scaled;
  OX_TRY(emit(t, "Mul", y, y, &square));
  OX_TRY(emit(t, "Mul", g, square, &scaled));
  OX_TRY(emit(t, "Sub", g, scaled, &g));
  return credit(t, a, g);
}

static ox_status *d_sigmoid(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)b;
  ox_id gy, gyy;
  OX_TRY(emit(t, "Mul", g, y, &gy));
  OX_TRY(emit(t, "Mul", gy, y, &gyy));
  OX_TRY(emit(t, "Sub", gy, gyy, &g));
  return credit(t, a, g);
}

static ox_status *d_relu(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)b;
  ox_id sign; /* of y: 1 where a > 0, else 0 */
  OX_TRY(emit(t, "Sign", y, OX_NONE, &sign));
  OX_TRY(emit(t, "Mul", g, sign, &g));
  return credit(t, a, g);
}

static ox_status *transposed(tape *t, ox_id v, ox_id *out) {
  const ox_shape s = t->g->values[v].type.shape;
  int64_t perm[OX_MAX_RANK];
  if (s.rank < 2) return ox_fail(OX_NOT_IMPLEMENTED, "the gradient of a product with a vector");
  for (int i = 0; i < s.rank; i++) perm[i] = i < s.rank - 2 ? i : 2 * s.rank - 3 - i;
  OX_TRY(emit(t, "Transpose", v, OX_NONE, out));
  ox_id node = t->g->values[*out].producer;
  OX_TRY(ox_node_set_ints(t->g, node, "perm", perm, (size_t)s.rank));
  return ox_infer_node(t->g, node);
}

static ox_status *d_matmul(tape *t, ox_id a, ox_id b, ox_id y, ox_id g) {
  (void)y;
  ox_id at, bt, ga, gb;
  OX_TRY(transposed(t, a, &at));
  OX_TRY(transposed(t, b, &bt));
  OX_TRY(emit(t, "MatMul", g, bt, &ga));
  OX_TRY(emit(t, "MatMul", at, g, &gb));
  OX_TRY(credit(t, a, ga));
  return credit(t, b, gb);
}

static const struct {
  const char *op;
  rule_fn rule;
} rules[] = {{"Add", d_add},           {"Sub", d_sub},         {"Mul", d_mul},      {"Div", d_div},   {"Neg", d_neg},
             {"Identity", d_identity}, {"Exp", d_exp},         {"Log", d_log},      {"Sqrt", d_sqrt}, {"Tanh", d_tanh},
             {"Relu", d_relu},         {"Sigmoid", d_sigmoid}, {"MatMul", d_matmul}};

/* ---- the walk ---- */

/* The clone of |v|; what does not lead to y is not touched. Depth is bounded by the graph's order: see clone_all. */
static ox_status *clone_node(tape *t, ox_id id) {
  const ox_node n = *ox_graph_node(t->g, id);
  ox_id *in = OX_ARENA_ARRAY(t->arena, ox_id, n.n_in), *out = OX_ARENA_ARRAY(t->arena, ox_id, n.n_out), made;
  if (!in || !out) return ox_oom();
  for (uint32_t i = 0; i < n.n_in; i++)
    in[i] = n.in[i] == OX_NONE || t->image[n.in[i]] == OX_NONE ? n.in[i] : t->image[n.in[i]];
  for (uint32_t i = 0; i < n.n_out; i++) {
    out[i] = OX_NONE;
    if (n.out[i] == OX_NONE) continue;
    OX_TRY(ox_graph_add_value(t->g, t->g->values[n.out[i]].name, &out[i]));
    t->image[n.out[i]] = out[i];
  }
  OX_TRY(ox_graph_add_node(t->g, n.op, n.domain, NULL, in, n.n_in, out, n.n_out, &made));
  for (uint32_t i = 0; i < n.n_attrs; i++) OX_TRY(ox_node_set_attr(t->g, made, &n.attrs[i]));
  t->order[t->n_order++] = made;
  return ox_infer_node(t->g, made);
}

/* Marks the nodes that |y| needs, stopping at values that have a stand-in, then clones them in order. */
static ox_status *clone_all(tape *t, const ox_id *order, uint32_t n, ox_id y) {
  bool *needed = OX_ARENA_ARRAY(t->arena, bool, t->g->n_values);
  if (!needed) return ox_oom();
  needed[y] = true;
  for (uint32_t k = n; k-- > 0;) {
    const ox_node *node = ox_graph_node(t->g, order[k]);
    bool used = false;
    for (uint32_t i = 0; i < node->n_out; i++)
      used |= node->out[i] != OX_NONE && needed[node->out[i]] && t->image[node->out[i]] == OX_NONE;
    for (uint32_t i = 0; used && i < node->n_in; i++)
      if (node->in[i] != OX_NONE) needed[node->in[i]] = true;
  }
  for (uint32_t k = 0; k < n; k++) {
    const ox_node *node = ox_graph_node(t->g, order[k]);
    bool used = false;
    for (uint32_t i = 0; i < node->n_out; i++)
      used |= node->out[i] != OX_NONE && needed[node->out[i]] && t->image[node->out[i]] == OX_NONE;
    if (used) OX_TRY(clone_node(t, order[k]));
  }
  return NULL;
}

static ox_status *backward(tape *t) {
  for (uint32_t k = t->n_order; k-- > 0;) {
    const ox_node n = *ox_graph_node(t->g, t->order[k]);
    if (n.out[0] == OX_NONE || t->adjoint[n.out[0]] == OX_NONE) continue;
    rule_fn rule = NULL;
    for (size_t i = 0; i < OX_COUNT(rules); i++)
      if (n.domain[0] == 0 && strcmp(rules[i].op, n.op) == 0) rule = rules[i].rule;
    if (!rule) return ox_fail(OX_NOT_IMPLEMENTED, "operator not implemented: Gradient through %s", n.op);
    OX_TRY(rule(t, n.in[0], n.n_in > 1 ? n.in[1] : OX_NONE, n.out[0], t->adjoint[n.out[0]]));
  }
  return NULL;
}

/* The stand-ins: input i of the Gradient node for xs[i], then zs. */
static ox_status *bind(tape *t, const ox_node *n, const ox_attr *names, uint32_t first) {
  for (size_t i = 0; names && i < names->v.n; i++) {
    char *name = ox_arena_str(t->arena, names->v.strings[i].p, names->v.strings[i].n);
    ox_id v = name ? ox_graph_find(t->g, name) : OX_NONE;
    if (v == OX_NONE || first + i >= n->n_in || n->in[first + i] == OX_NONE)
      return ox_fail(OX_INVALID_MODEL, "Gradient: no value or no input for '%s'", name ? name : "");
    t->image[v] = n->in[first + i];
  }
  return NULL;
}

static ox_status *differentiate(ox_graph *g, ox_id id, ox_arena *arena) {
  const ox_node n = *ox_graph_node(g, id);
  const ox_attr *xs = ox_node_attr(&n, "xs"), *zs = ox_node_attr(&n, "zs"), *y = ox_node_attr(&n, "y");
  char *y_name = y ? ox_arena_str(arena, y->v.s.p, y->v.s.n) : NULL;
  ox_id target = y_name ? ox_graph_find(g, y_name) : OX_NONE;
  if (!xs || target == OX_NONE) return ox_fail(OX_INVALID_MODEL, "Gradient: 'xs' or 'y' is missing or names no value");
  ox_id *order = NULL;
  uint32_t n_nodes, seeds = g->n_values;
  OX_TRY(ox_graph_order(g, g->model->alloc, &order, &n_nodes));
  uint32_t allocated = g->n_nodes;
  tape t = {.g = g, .arena = arena, .room = 2 * seeds + 16};
  t.image = OX_ARENA_ARRAY(arena, ox_id, seeds), t.adjoint = OX_ARENA_ARRAY(arena, ox_id, t.room);
  t.order = OX_ARENA_ARRAY(arena, ox_id, n_nodes);
  ox_status *st = t.image && t.adjoint && t.order ? NULL : ox_oom();
  for (uint32_t i = 0; !st && i < t.room; i++) t.adjoint[i] = OX_NONE;
  for (uint32_t i = 0; !st && i < seeds; i++) t.image[i] = OX_NONE;
  if (!st) st = bind(&t, &n, xs, 0);
  if (!st) st = bind(&t, &n, zs, (uint32_t)xs->v.n);
  if (!st) st = clone_all(&t, order, n_nodes, target);
  ox_delete(g->model->alloc, order, allocated * sizeof *order);
  OX_TRY(st);
  ox_id top = t.image[target], zero, one;
  if (top == OX_NONE) return ox_fail(OX_INVALID_MODEL, "Gradient: '%s' does not depend on xs", y_name);
  OX_TRY(scalar_like(&t, top, 1, &one));
  OX_TRY(emit(&t, "Sub", top, top, &zero));
  OX_TRY(emit(&t, "Add", zero, one, &t.adjoint[top]));
  OX_TRY(backward(&t));
  for (uint32_t i = 0; i < n.n_out; i++) {
    const ox_id out = n.out[i];
    if (out == OX_NONE) continue;
    ox_id d = t.adjoint[n.in[i]], node;
    if (d == OX_NONE) OX_TRY(emit(&t, "Sub", n.in[i], n.in[i], &d)); /* no path: zero */
    OX_TRY(ox_node_set_output(g, id, i, OX_NONE));
    OX_TRY(ox_graph_add_node(g, "Identity", "", NULL, &d, 1, &out, 1, &node));
  }
  ox_graph_remove_node(g, id);
  return NULL;
}

ox_status *ox_gradient_expand(ox_graph *g) {
  ox_arena arena;
  ox_status *st = NULL;
  ox_arena_init(&arena, g->model->alloc);
  for (ox_id i = 0; !st && i < g->n_nodes; i++)
    if (!g->nodes[i].dead && strcmp(g->nodes[i].op, "Gradient") == 0 &&
        strcmp(g->nodes[i].domain, "ai.onnx.preview.training") == 0) {
      st = ox_status_note(differentiate(g, i, &arena), "node '%s' (Gradient)", g->nodes[i].name);
      ox_arena_reset(&arena);
    }
  ox_arena_deinit(&arena);
  return st;
}
