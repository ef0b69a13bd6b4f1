/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/linear_fold.c - batch normalization behind a product with constant weights goes into weights and bias: on
 * [N, C] the channels are the columns. Reshapes and Transposes may lie between as long as columns stay whole and end up
 * where channels are. In double, rounded once. */
#include "base/status.h"
#include "onyx/rewrite.h"
#include "opt/batch_norm.h"

enum { NORM };
enum { X, SCALE, SHIFT, MEAN, VARIANCE };
enum { MAX_MOVES = 3 };
static const ox_pat pattern[] = {
    [NORM] = {.op = "BatchNormalization",
              .in = {OX_ARG(X), OX_CONST(SCALE), OX_CONST(SHIFT), OX_CONST(MEAN), OX_CONST(VARIANCE)}}};

/* The constant B [K, N] (or its transpose), and Gemm's C of one number per column, if any. */
typedef struct weights {
  const ox_tensor *b, *c;
  int trans;
  int64_t n;
} weights;

static int weights_of(const ox_rewrite *g, ox_id node, weights *k) {
  int gemm = ox_is(g, node, "Gemm");
  ox_id c = gemm ? ox_in(g, node, 2) : OX_NONE;
  *k = (weights){ox_const_type(g, ox_in(g, node, 1)), ox_const(g, c), gemm && ox_attr_i(g, node, "transB", 0), 0};
  if (!k->b || k->b->dtype != OX_F32 || k->b->shape.rank != 2) return 0;
  k->n = k->b->shape.dim[!k->trans];
  if (k->n < 1 || c == OX_NONE) return k->n > 0;
  return k->c && k->c->dtype == OX_F32 && ox_elements(&k->c->shape) == k->n &&
         (k->n == 1 || k->c->shape.dim[k->c->shape.rank - 1] == k->n);
}

typedef struct found {
  weights k;
  ox_id product, moves[MAX_MOVES]; /* moves: what lies between, from NORM upwards */
  int n_moves;
} found;

/* Where |node|, a Reshape or Transpose, moves axis |axis| of |n| columns; -1: nowhere as a whole. */
static int axis_behind(const ox_rewrite *g, ox_id node, int axis, int64_t n) {
  const ox_shape *from = ox_shape_at(g, ox_in(g, node, 0)), *to = ox_shape_at(g, ox_out(g, node, 0));
  if (from->rank < 1 || to->rank < 1) return -1;
  if (ox_is(g, node, "Reshape")) /* what is innermost stays together if it still is a dimension */
    return axis == from->rank - 1 && to->dim[to->rank - 1] == n ? to->rank - 1 : -1;
  const ox_attr_view *perm = ox_attr_ints(g, node, "perm");
  if (!perm) return from->rank - 1 - axis;
  for (size_t i = 0; i < perm->n; i++)
    if (perm->ints[i] == axis) return (int)i;
  return -1;
}

static int find(const ox_rewrite *g, ox_id norm, found *f) {
  ox_id v = ox_in(g, norm, X), move;
  for (f->n_moves = 0; f->n_moves < MAX_MOVES; v = ox_in(g, move, 0)) {
    move = ox_up1(g, v, "Reshape|Transpose");
    if (move == OX_NONE) break;
    f->moves[f->n_moves++] = move;
  }
  f->product = ox_up1(g, v, "MatMul|Gemm");
  if (f->product == OX_NONE || !weights_of(g, f->product, &f->k)) return 0;
  int axis = ox_shape_at(g, v)->rank - 1;
  for (int i = f->n_moves - 1; i >= 0 && axis >= 0; i--) axis = axis_behind(g, f->moves[i], axis, f->k.n);
  return axis == 1;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id norm = m->node[NORM];
  found *f = OX_CAPTURE(m, found);
  if (ox_opset_of(g, "") < 7 || ox_dtype_of(g, m->arg[X]) != OX_F32 || !find(g, norm, f)) return 0;
  if (!ox_norm_is_affine(g, norm, &m->arg[SCALE], f->k.n)) return 0;
  return ox_op_serves(g, NULL, "Gemm", OX_F32);
}

/* B s and beta c s + shift. */
static ox_status *fold(const ox_rewrite *g, const ox_match *m, ox_id *wid, ox_id *bid) {
  const found *f = OX_CAPTURED(m, found);
  const weights *k = &f->k;
  double beta = ox_is(g, f->product, "Gemm") ? (double)ox_attr_f(g, f->product, "beta", 1) : 1;
  int64_t rows = k->b->shape.dim[0], cols = k->b->shape.dim[1];
  const ox_f32u *w = ox_const(g, ox_in(g, f->product, 1))->data;
  float *nw, *nb;
  OX_TRY(ox_f32_room(g, NULL, 2, k->b->shape.dim, &nw, wid));
  OX_TRY(ox_f32_room(g, NULL, 1, &k->n, &nb, bid));
  for (int64_t j = 0; j < k->n; j++) {
    double s, shift, c = k->c ? beta * ox_at(g, k->c, j) : 0;
    ox_norm_affine(g, m->node[NORM], &m->arg[SCALE], j, &s, &shift);
    nb[j] = (float)(c * s + shift);
    for (int64_t i = 0; i < (k->trans ? cols : rows); i++) {
      int64_t at = k->trans ? j * cols + i : i * cols + j;
      nw[at] = (float)((double)w[at] * s);
    }
  }
  return NULL;
}

/* A matrix times weights becomes Gemm with the same B side, alpha kept: y = alpha A (B s) + 1 * (beta c s + shift).
 * Products of more dimensions get an Add. */
static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  ox_id wid, bid, add, product = f->product, moved = ox_out(g, product, 0);
  OX_TRY(fold(g, m, &wid, &bid));
  OX_TRY(ox_set_in(g, product, 1, wid));
  if (ox_shape_at(g, moved)->rank == 2) {
    OX_TRY(ox_become(g, product, NULL, "Gemm"));
    OX_TRY(ox_set_in(g, product, 2, bid));
    OX_TRY(ox_drop_attr(g, product, "beta"));
  } else {
    const ox_id terms[] = {moved, bid};
    OX_TRY(ox_emit(g, NULL, "Add", terms, 2, &add, &moved));
  }
  for (int i = f->n_moves - 1; i >= 0; i--) { /* what they move is another value now */
    OX_TRY(ox_set_in(g, f->moves[i], 0, moved));
    moved = ox_out(g, f->moves[i], 0);
  }
  return ox_bypass(g, m->node[NORM]);
}

static const ox_rule rules[] = {{OX_RULE("linear-batchnorm", OX_OPTIMIZE_EXTENDED, pattern, guard, apply)}};
const ox_rule_set ox_rules_linear_fold = OX_RULE_SET(rules);
