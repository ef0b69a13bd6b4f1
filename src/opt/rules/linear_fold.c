/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/linear_fold.c - batch normalization behind a product with constant weights goes into weights and bias:
 * on [N, C] the channels are the columns. In double, rounded once. Removes a node. */
#include "base/status.h"
#include "onyx/rewrite.h"

enum { PRODUCT, NORM };
enum { SCALE, SHIFT, MEAN, VARIANCE };
static const ox_pat pattern[] = {
    [PRODUCT] = {.op = "MatMul|Gemm", .single_use = 1, .types = OX_BIT(OX_F32)},
    [NORM] = {.op = "BatchNormalization",
              .in = {OX_FROM(PRODUCT), OX_CONST(SCALE), OX_CONST(SHIFT), OX_CONST(MEAN), OX_CONST(VARIANCE)}}};

/* The constant B [K, N] (or its transpose), and Gemm's C of one number per column, if any. */
typedef struct weights {
  const ox_tensor *b, *c;
  int trans;
  int64_t n;
} weights;

static int weights_of(const ox_rewrite *g, ox_id node, weights *k) {
  int gemm = ox_is(g, node, "Gemm");
  ox_id c = gemm ? ox_in(g, node, 2) : OX_NONE;
  *k = (weights){ox_const(g, ox_in(g, node, 1)), ox_const(g, c), gemm && ox_attr_i(g, node, "transB", 0), 0};
  if (!k->b || k->b->dtype != OX_F32 || k->b->shape.rank != 2) return 0;
  k->n = k->b->shape.dim[!k->trans];
  if (k->n < 1 || c == OX_NONE) return k->n > 0;
  return k->c && k->c->dtype == OX_F32 && ox_elements(&k->c->shape) == k->n &&
         (k->n == 1 || k->c->shape.dim[k->c->shape.rank - 1] == k->n);
}

static int guard(const ox_rewrite *g, ox_match *m) {
  ox_id norm = m->node[NORM];
  weights *k = OX_CAPTURE(m, weights);
  if (ox_attr_i(g, norm, "training_mode", 0) || ox_opset_of(g, "") < 7 || !ox_attr_i(g, norm, "spatial", 1)) return 0;
  if (!ox_one_output(g, norm) || ox_shape_at(g, ox_out(g, m->node[PRODUCT], 0))->rank != 2) return 0;
  if (!weights_of(g, m->node[PRODUCT], k)) return 0;
  for (int i = SCALE; i <= VARIANCE; i++) {
    const ox_tensor *t = ox_const(g, m->arg[i]);
    if (t->dtype != OX_F32 || ox_elements(&t->shape) != k->n) return 0;
  }
  return ox_op_serves(g, NULL, "Gemm", OX_F32);
}

/* A product becomes Gemm with the same B side, alpha kept: y = alpha A (B s) + 1 * (beta c s + shift). */
static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const weights *k = OX_CAPTURED(m, weights);
  ox_id node = m->node[PRODUCT], wid, bid;
  const ox_tensor *p[4];
  double eps = (double)ox_attr_f(g, m->node[NORM], "epsilon", 1e-5f);
  double beta = ox_is(g, node, "Gemm") ? (double)ox_attr_f(g, node, "beta", 1) : 1;
  int64_t rows = k->b->shape.dim[0], cols = k->b->shape.dim[1];
  const ox_f32u *w = k->b->data;
  float *nw, *nb;
  for (int i = SCALE; i <= VARIANCE; i++) p[i] = ox_const(g, m->arg[i]);
  OX_TRY(ox_f32_room(g, NULL, 2, k->b->shape.dim, &nw, &wid));
  OX_TRY(ox_f32_room(g, NULL, 1, &k->n, &nb, &bid));
  for (int64_t j = 0; j < k->n; j++) {
    double s = ox_at(g, p[SCALE], j) / sqrt(ox_at(g, p[VARIANCE], j) + eps);
    double c = k->c ? beta * ox_at(g, k->c, j) : 0;
    nb[j] = (float)(c * s + ox_at(g, p[SHIFT], j) - ox_at(g, p[MEAN], j) * s);
    for (int64_t i = 0; i < (k->trans ? cols : rows); i++) {
      int64_t at = k->trans ? j * cols + i : i * cols + j;
      nw[at] = (float)((double)w[at] * s);
    }
  }
  OX_TRY(ox_become(g, node, NULL, "Gemm"));
  OX_TRY(ox_set_in(g, node, 1, wid));
  OX_TRY(ox_set_in(g, node, 2, bid));
  OX_TRY(ox_drop_attr(g, node, "beta"));
  return ox_bypass(g, m->node[NORM]);
}

static const ox_rule rules[] = {{OX_RULE("linear-batchnorm", OX_OPTIMIZE_EXTENDED, pattern, guard, apply)}};
const ox_rule_set ox_rules_linear_fold = OX_RULE_SET(rules);
