/* SPDX-License-Identifier: Apache-2.0
 * opt/hoist.c - products that a Loop or Scan has of one row after the other are computed in front of it, of all rows at
 * once: a recurrent cell that is written out multiplies its input with weights in each step, and reads them from memory
 * each time. An operator that works row by row goes to the other side of what takes the row:
 *
 *   MatMul(Gather(x, i), w)  =>  Gather(MatMul(x, w), i)
 *
 * for a Gather or Slice by what depends on the number of the iteration alone, and for what a Scan hands in. Nothing
 * that moves can fail, shapes are known; a loop that stops when its state says so may never come to most rows, and is
 * left alone. */
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"
#include "graph/control.h"
#include "graph/deferred_const.h"
#include "graph/registry.h"
#include "opt/opt.h"
#include "opt/row_source.h"

enum {
  MOST_AHEAD = 4, /* operators between the row and the product that it is for */
  LEAST_WEIGHTS = 1024,
  MOST_ROWS = 3,                /* in an iteration: of more at a time a product reads no weights in vain */
  MOST_IN_VAIN = 4 * MOST_ROWS, /* times as many rows as there are iterations */
  MOST_WIDER = 16               /* times what is there instead of the rows, where their number is unknown */
};
#define MOST_BYTES ((size_t)256 << 20) /* of all rows */
#define FEW_BYTES ((size_t)16 << 20)   /* however much wider they are; and at most of what is made at load */

/* ---- what moves ---- */

/* |v| is there outside, or can be: a constant, a value of the enclosing graph, or one of these transposed. */
static bool is_outside(const ox_loop_site *s, ox_id v) {
  if (v == OX_NONE) return false;
  const ox_graph_value *value = &s->b->values[v];
  if (value->outer != OX_NONE) return true;
  if (value->init) return !value->is_input && !value->deferred;
  const ox_node *n = value->producer == OX_NONE ? NULL : ox_graph_node(s->b, value->producer);
  return n && ox_node_is(n, "Transpose") && s->b->values[n->in[0]].producer == OX_NONE && is_outside(s, n->in[0]);
}

/* There are more than a few rows in each iteration. */
static bool are_many(const ox_shape *x, int axis) {
  int64_t n = 1;
  for (int d = 0; d < x->rank - 1; d++)
    if (d != axis) n *= OX_MAX(OX_MIN(x->dim[d], MOST_ROWS + 1), 1);
  return n > MOST_ROWS;
}

/* All rows are not too many once they are |width| wide. */
static bool in_bounds(const ox_loop_site *s, const ox_row_source *r, int64_t width) {
  ox_shape x = *ox_shape_of_value(s->g, r->all);
  int64_t was = x.dim[x.rank - 1], trips = s->def->trips ? s->def->trips(s->g, &s->g->nodes[s->node]) : -1;
  bool made_at_load = ox_graph_const_type(s->g, r->all) != NULL;
  size_t bytes;
  x.dim[x.rank - 1] = width;
  int64_t n = ox_shape_count(&x), rows = ox_shape_span(&x, 0, x.rank - 1);
  if (was < 1 || are_many(&x, r->axis)) return false;
  if (rows >= 0 && trips >= 0 && rows / MOST_IN_VAIN > trips) return false;
  if (n < 0) return width / was <= MOST_WIDER && !made_at_load;
  if (!ox_dtype_bytes(s->g->values[r->all].type.dtype, n, &bytes)) return false;
  return bytes <= FEW_BYTES || (bytes <= MOST_BYTES && width / was <= MOST_WIDER && !made_at_load);
}

/* The product of a row with weights that are |width| wide. */
static bool is_product(const ox_loop_site *s, const ox_node *n, int64_t *out_inner, int64_t *out_width) {
  bool gemm = ox_node_is(n, "Gemm");
  const ox_attr *turned = ox_node_attr(n, "transB");
  if ((!gemm && !ox_node_is(n, "MatMul")) || !is_outside(s, n->in[1])) return false;
  const ox_shape *w = ox_shape_of_value(s->b, n->in[1]);
  if (w->rank != 2 || w->dim[0] < 1 || w->dim[1] < 1) return false;
  int inner = gemm && turned && turned->v.i ? 1 : 0;
  *out_inner = w->dim[inner], *out_width = w->dim[1 - inner];
  return *out_inner >= LEAST_WEIGHTS / *out_width;
}

/* Added to each row alike: |v| has one axis, or those before it are ones. */
static bool is_row_alike(const ox_loop_site *s, ox_id v) {
  const ox_shape *c = ox_shape_of_value(s->b, v);
  if (!is_outside(s, v) || c->rank < 0 || c->rank > 2) return false;
  return c->rank < 2 || c->dim[0] == 1;
}

static bool has_default(const ox_node *n, const char *name, double value) {
  const ox_attr *a = ox_node_attr(n, name);
  return !a || (a->v.kind == 1 ? a->v.f == (float)value : (double)a->v.i == value);
}

static bool is_plain_gemm(const ox_loop_site *s, const ox_node *n) {
  bool bias = n->n_in > 2 && n->in[2] != OX_NONE;
  return has_default(n, "alpha", 1) && has_default(n, "transA", 0) &&
         (!bias || (has_default(n, "beta", 1) && is_row_alike(s, n->in[2])));
}

/* Works on each element alone, as the row operators of a network in front of the cell do. */
static bool is_unary(const ox_node *n) {
  static const char *const ops[] = {"Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Softplus", "Identity", "Gelu"};
  for (size_t i = 0; i < OX_COUNT(ops); i++)
    if (ox_node_is(n, ops[i])) return true;
  return false;
}

/* The input of |n| that is the row; -1: |n| is none of the operators that may move. */
static int row_input(const ox_loop_site *s, const ox_node *n) {
  int64_t inner, width;
  if (!n->n_out || n->n_out > 1 || n->out[0] == OX_NONE) return -1;
  if (is_product(s, n, &inner, &width)) return ox_node_is(n, "MatMul") || is_plain_gemm(s, n) ? 0 : -1;
  if (is_unary(n)) return 0;
  if (!ox_node_is(n, "Add") && !ox_node_is(n, "Sub") && !ox_node_is(n, "Mul")) return -1;
  for (int i = 0; i < 2; i++) {
    const ox_shape *row = ox_shape_of_value(s->b, n->in[i]), *other = ox_shape_of_value(s->b, n->in[1 - i]);
    if (is_row_alike(s, n->in[1 - i]) && (other->rank < 2 || row->rank >= 2) && row->rank >= 1) return i;
  }
  return -1;
}

/* A product is behind |n|, not far from it. */
static bool leads_to_product(const ox_loop_site *s, const ox_node *n, int ahead) {
  const ox_graph_value *v = &s->b->values[n->out[0]];
  int64_t inner, width;
  if (is_product(s, n, &inner, &width)) return true;
  for (uint32_t i = 0; ahead && i < v->n_uses; i++) {
    const ox_node *next = ox_graph_node(s->b, v->uses[i].node);
    if (row_input(s, next) == (int)v->uses[i].slot && leads_to_product(s, next, ahead - 1)) return true;
  }
  return false;
}

/* All rows are what a product made: the bias costs nothing there. */
static bool behind_product(const ox_loop_site *s, const ox_row_source *r) {
  ox_id from = s->g->values[r->all].producer;
  return from != OX_NONE && (ox_node_is(&s->g->nodes[from], "MatMul") || ox_node_is(&s->g->nodes[from], "Gemm"));
}

static bool moves(const ox_loop_site *s, const ox_node *n, ox_row_source *r) {
  int at = row_input(s, n);
  if (at < 0 || !ox_row_source_find(s, n->in[at], r) || ox_node_version(s->g->model, n) < 7) return false;
  const ox_shape *x = ox_shape_of_value(s->g, r->all);
  int64_t last = x->dim[x->rank - 1], inner, width = last;
  if (!(OX_BIT(s->g->values[r->all].type.dtype) & OX_T_FLOAT) || last < 1) return false;
  if (is_product(s, n, &inner, &width)) return inner == last && in_bounds(s, r, width);
  if (n->n_in == 2) { /* the other one must not make the row wider */
    const ox_shape *other = ox_shape_of_value(s->b, n->in[1 - at]);
    if (other->rank > 0 && other->dim[other->rank - 1] != 1 && other->dim[other->rank - 1] != last) return false;
  }
  return in_bounds(s, r, last) && (behind_product(s, r) || leads_to_product(s, n, MOST_AHEAD));
}

/* ---- moving ---- */

static ox_status *copy_attrs(ox_graph *to, ox_id node, const ox_node *from) {
  for (uint32_t i = 0; i < from->n_attrs; i++) OX_TRY(ox_node_set_attr(to, node, &from->attrs[i]));
  to->nodes[node].version = from->version;
  return NULL;
}

/* A node of one output, which gets a name of its own; |like| (may be NULL): whose attributes it has. */
static ox_status *add(ox_graph *g, const char *op, const ox_node *like, const ox_id *in, uint32_t n_in, ox_id *out) {
  ox_id node;
  const ox_node kept = like ? *like : (ox_node){.name = ""};
  OX_TRY(ox_graph_add_value(g, NULL, out));
  OX_TRY(ox_graph_add_node(g, op, "", kept.name, in, n_in, out, 1, &node));
  if (like) OX_TRY(copy_attrs(g, node, &kept));
  return ox_infer_node(g, node);
}

/* |v| of the body, outside. */
static ox_status *bring_out(const ox_loop_site *s, ox_id v, ox_id *out) {
  const ox_graph_value *value = &s->b->values[v];
  if (value->outer != OX_NONE) return *out = value->outer, NULL;
  if (value->init) return ox_graph_add_const(s->g, value->name, value->init, out);
  const ox_node *n = ox_graph_node(s->b, value->producer);
  ox_id in;
  OX_TRY(bring_out(s, n->in[0], &in));
  return add(s->g, "Transpose", n, &in, 1, out);
}

/* Gemm has rows and columns only. */
static ox_status *gemm_ahead(const ox_loop_site *s, const ox_node *n, ox_id all, ox_id *out) {
  const ox_attr *turned = ox_node_attr(n, "transB");
  ox_id in[2] = {all, OX_NONE}, weights, bias = n->n_in > 2 ? n->in[2] : OX_NONE;
  OX_TRY(bring_out(s, n->in[1], &weights));
  in[1] = weights;
  if (turned && turned->v.i) OX_TRY(add(s->g, "Transpose", NULL, &weights, 1, &in[1]));
  OX_TRY(add(s->g, "MatMul", NULL, in, 2, out));
  if (bias == OX_NONE) return NULL;
  in[0] = *out;
  OX_TRY(bring_out(s, bias, &in[1]));
  return add(s->g, "Add", NULL, in, 2, out);
}

static ox_status *ahead(const ox_loop_site *s, const ox_node *n, ox_id all, ox_id *out) {
  ox_id in[2] = {all, OX_NONE};
  int at = row_input(s, n);
  if (ox_node_is(n, "Gemm")) return gemm_ahead(s, n, all, out);
  if (n->n_in == 2) OX_TRY(bring_out(s, n->in[1 - at], &in[1 - at]));
  in[at] = all;
  return add(s->g, n->op, n, in, n->n_in, out);
}

/* What the operator hands in is |all|'s row in the place of the other one, which has no other readers. */
static ox_status *hand_in(const ox_loop_site *s, const ox_row_source *r, ox_id all, ox_id *out) {
  uint32_t from = 0;
  int64_t axis;
  *out = s->b->inputs[r->arg];
  s->def->sliced(&s->g->nodes[s->node], r->arg, &from, &axis);
  OX_TRY(ox_node_set_input(s->g, s->node, from, all));
  return ox_graph_new_name(s->b, *out);
}

/* The row of |all| that |r| takes, in the body. */
static ox_status *take_row(const ox_loop_site *s, const ox_row_source *r, ox_id all, ox_id *out) {
  ox_id in[8];
  if (r->take == OX_NONE && !r->n_views && ox_graph_use_count(s->b, s->b->inputs[r->arg]) == 1)
    return hand_in(s, r, all, out);
  if (r->take == OX_NONE) {
    OX_TRY(s->def->slice_also(s->g, s->node, r->arg, all, out));
  } else {
    const ox_node *n = ox_graph_node(s->b, r->take);
    uint32_t n_in = OX_MIN(n->n_in, (uint32_t)OX_COUNT(in));
    memcpy(in, n->in, n_in * sizeof *in);
    OX_TRY(ox_graph_stand_in(s->b, all, &in[0]));
    s->b->values[in[0]].type = s->g->values[all].type;
    OX_TRY(add(s->b, n->op, ox_graph_node(s->b, r->take), in, n_in, out));
  }
  for (uint32_t i = r->n_views; i-- > 0;) {
    const ox_node *n = ox_graph_node(s->b, r->views[i]);
    in[0] = *out, in[1] = n->n_in > 1 ? n->in[1] : OX_NONE;
    OX_TRY(add(s->b, n->op, n, in, n->n_in, out));
  }
  return NULL;
}

static ox_status *move(const ox_loop_site *s, ox_id node, const ox_row_source *r) {
  const ox_node n = s->b->nodes[node];
  ox_id all, row, was = n.out[0];
  OX_TRY(ahead(s, &n, r->all, &all));
  OX_TRY(take_row(s, r, all, &row));
  s->b->values[row].type = s->b->values[was].type;
  OX_TRY(ox_graph_replace_uses(s->b, was, row));
  ox_graph_remove_node(s->b, node);
  return NULL;
}

/* ---- the row and the state side by side: MatMul(Concat(row, state), k) ---- */

/* Rows [from, from + n) of the constant |k|. */
static ox_status *rows_of(ox_graph *b, const ox_tensor *k, int64_t from, int64_t n, ox_id *out) {
  ox_tensor part = *k;
  size_t each = k->bytes / (size_t)k->shape.dim[0];
  part.shape.dim[0] = n, part.bytes = (size_t)n * each, part.data = (char *)k->data + (size_t)from * each;
  return ox_graph_add_const(b, NULL, &part, out);
}

/* The first or the last of what |c| joins is a row whose part of the product moves. */
static bool has_row(const ox_loop_site *s, const ox_node *n, const ox_node *c, uint32_t *out_at, int64_t *out_width) {
  const ox_tensor *k = ox_graph_const_type(s->b, n->in[1]);
  const ox_attr *axis = ox_node_attr(c, "axis");
  ox_row_source r;
  if (!ox_node_is(c, "Concat") || c->n_in < 2 || !axis || !k || k->shape.rank != 2 || ox_deferred_of(s->b, n->in[1]))
    return false;
  for (uint32_t i = 0; i < c->n_in; i += c->n_in - 1) {
    const ox_shape *row = ox_shape_of_value(s->b, c->in[i]);
    int at;
    if (row->rank < 1 || !ox_axis_ok(axis->v.i, row->rank, &at) || at != row->rank - 1) continue;
    int64_t width = row->dim[row->rank - 1];
    if (width < 1 || width >= k->shape.dim[0] || width < LEAST_WEIGHTS / OX_MAX(k->shape.dim[1], 1)) continue;
    if (!ox_row_source_find(s, c->in[i], &r) || !in_bounds(s, &r, k->shape.dim[1])) continue;
    *out_at = i, *out_width = width;
    return true;
  }
  return false;
}

static ox_status *split(const ox_loop_site *s, ox_id node, uint32_t at, int64_t width) {
  const ox_node n = s->b->nodes[node], c = s->b->nodes[s->b->values[n.in[0]].producer];
  const ox_tensor *k = ox_graph_const(s->b, n.in[1]);
  const ox_type type = s->b->values[n.out[0]].type;
  ox_id row[2] = {c.in[at], OX_NONE}, rest[2] = {c.in[at ? 0 : 1], OX_NONE}, part[2], sum;
  int64_t others = k->shape.dim[0] - width;
  OX_TRY(rows_of(s->b, k, at ? others : 0, width, &row[1]));
  OX_TRY(rows_of(s->b, k, at ? 0 : width, others, &rest[1]));
  if (c.n_in > 2) OX_TRY(add(s->b, "Concat", &c, c.in + (at ? 0 : 1), c.n_in - 1, &rest[0]));
  OX_TRY(add(s->b, "MatMul", NULL, row, 2, &part[0]));
  OX_TRY(add(s->b, "MatMul", NULL, rest, 2, &part[1]));
  OX_TRY(add(s->b, "Add", NULL, part, 2, &sum));
  s->b->values[sum].type = type;
  OX_TRY(ox_graph_replace_uses(s->b, n.out[0], sum));
  ox_graph_remove_node(s->b, node);
  return NULL;
}

/* ---- the pass ---- */

static ox_status *try_node(const ox_loop_site *s, ox_id node, uint32_t *n_done) {
  const ox_node *n = &s->b->nodes[node];
  ox_row_source r;
  uint32_t at;
  int64_t width;
  if (n->dead || n->n_in < 1 || n->n_in > 3 || n->in[0] == OX_NONE) return NULL;
  bool list;
  OX_TRY(ox_row_of_list(s, node, &list));
  if (list) {
    ++*n_done;
    return NULL;
  }
  n = &s->b->nodes[node];
  ox_id from = s->b->values[n->in[0]].producer;
  if (moves(s, n, &r)) {
    ++*n_done;
    return move(s, node, &r);
  }
  if (!ox_node_is(n, "MatMul") || from == OX_NONE || !has_row(s, n, ox_graph_node(s->b, from), &at, &width))
    return NULL;
  ++*n_done;
  return split(s, node, at, width);
}

static ox_status *hoist(ox_graph *g, ox_id node, const ox_control_def *def, const ox_carried_values *c,
                        uint32_t *n_done) {
  ox_loop_site s = {.g = g, .b = ox_node_body(&g->nodes[node], 0), .node = node, .def = def};
  if (c->body_in + c->n > s.b->n_inputs || c->body_out + c->n > s.b->n_outputs) return NULL;
  bool *counter = ox_new(g->model->alloc, c->n + 1);
  if (!counter) return ox_oom();
  ox_steady_init(&s.steady, s.b, c, counter);
  ox_status *st = NULL;
  bool end = ox_steady_end(&s.steady);
  for (ox_id i = 0; end && !st && i < s.b->n_nodes; i++) st = try_node(&s, i, n_done); /* new ones come later */
  ox_delete(g->model->alloc, counter, c->n + 1);
  return st;
}

ox_status *ox_hoist_graph(ox_graph *g, uint32_t *n_done) {
  for (ox_id id = 0, n_nodes = g->n_nodes; id < n_nodes; id++) {
    uint32_t version;
    const ox_schema *s = g->nodes[id].dead ? NULL : ox_node_schema(g->model, &g->nodes[id], &version);
    ox_carried_values c;
    if (!s || !s->control || !s->control->carried || !ox_node_body(&g->nodes[id], 0)) continue;
    if (s->control->carried(&g->nodes[id], &c)) OX_TRY(hoist(g, id, s->control, &c, n_done));
  }
  return NULL;
}
