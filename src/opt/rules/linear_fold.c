/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/linear_fold.c - batch normalization behind a product with constant weights goes into weights and bias:
 * on [N, C] the channels are the columns. In double, rounded once. Removes a node. */
#include <math.h>

#include "opt/match.h"

enum { PRODUCT, NORM };
enum { SCALE, SHIFT, MEAN, VARIANCE };
static const ox_pat pattern[] = {
    [PRODUCT] = {.op = "MatMul|Gemm", .single_use = true, .types = OX_BIT(OX_F32)},
    [NORM] = {.op = "BatchNormalization",
              .in = {OX_FROM(PRODUCT), OX_CONST(SCALE), OX_CONST(SHIFT), OX_CONST(MEAN), OX_CONST(VARIANCE)}}};

static bool is_gemm(const ox_graph *g, ox_id n) { return ox_node_is(&g->nodes[n], "Gemm", NULL); }

/* The constant B [K, N] (or its transpose), and Gemm's C of one number per column, if any. */
static bool weights_ok(const ox_graph *g, ox_id node, int64_t *n) {
  const ox_tensor *w = ox_graph_const(g, g->nodes[node].in[1]);
  bool trans = is_gemm(g, node) && ox_attr_i(&g->nodes[node], "transB", 0);
  if (!w || w->dtype != OX_F32 || w->shape.rank != 2) return false;
  *n = w->shape.dim[!trans];
  ox_id c = is_gemm(g, node) ? ox_in(g, node, 2) : OX_NONE;
  const ox_tensor *bias = c == OX_NONE ? NULL : ox_graph_const(g, c);
  return *n > 0 && (c == OX_NONE || (bias && bias->dtype == OX_F32 && ox_shape_count(&bias->shape) == *n &&
                                     bias->shape.dim[bias->shape.rank - 1] == *n));
}

static bool guard(const ox_graph *g, const ox_match *m) {
  const ox_node *norm = &g->nodes[m->node[NORM]];
  int64_t n;
  if (ox_attr_i(norm, "training_mode", 0) || ox_model_opset(g->model, "") < 7 || !ox_attr_i(norm, "spatial", 1))
    return false;
  for (uint32_t i = 1; i < norm->n_out; i++)
    if (norm->out[i] != OX_NONE && ox_graph_use_count(g, norm->out[i])) return false;
  if (ox_shape_at(g, g->nodes[m->node[PRODUCT]].out[0])->rank != 2 || !weights_ok(g, m->node[PRODUCT], &n))
    return false;
  for (int i = SCALE; i <= VARIANCE; i++) {
    const ox_tensor *t = ox_graph_const(g, m->arg[i]);
    if (t->dtype != OX_F32 || ox_shape_count(&t->shape) != n) return false;
  }
  return true;
}

/* A product becomes Gemm with the same B side, alpha kept: y = alpha A (B s) + 1 * (beta c s + shift). */
static ox_status *apply(ox_graph *g, const ox_match *m) {
  ox_id node = m->node[PRODUCT], wid, bid;
  bool gemm = is_gemm(g, node), trans = gemm && ox_attr_i(&g->nodes[node], "transB", 0);
  const ox_tensor *w = ox_graph_const(g, g->nodes[node].in[1]), *p[4];
  ox_id c = gemm ? ox_in(g, node, 2) : OX_NONE;
  const ox_tensor *old = c == OX_NONE ? NULL : ox_graph_const(g, c);
  double eps = (double)ox_attr_f(&g->nodes[m->node[NORM]], "epsilon", 1e-5f);
  double beta = gemm ? (double)ox_attr_f(&g->nodes[node], "beta", 1) : 1;
  int64_t rows = w->shape.dim[0], cols = w->shape.dim[1], n = trans ? rows : cols;
  float *nw, *nb;
  for (int i = SCALE; i <= VARIANCE; i++) p[i] = ox_graph_const(g, m->arg[i]);
  OX_TRY(ox_graph_f32_room(g, NULL, 2, w->shape.dim, &nw, &wid));
  OX_TRY(ox_graph_f32_room(g, NULL, 1, &n, &nb, &bid));
  for (int64_t j = 0; j < n; j++) {
    double s = ox_tensor_at(p[SCALE], j) / sqrt(ox_tensor_at(p[VARIANCE], j) + eps);
    nb[j] =
        (float)((old ? beta * ox_tensor_at(old, j) : 0) * s + ox_tensor_at(p[SHIFT], j) - ox_tensor_at(p[MEAN], j) * s);
    for (int64_t k = 0; k < (trans ? cols : rows); k++) {
      int64_t at = trans ? j * cols + k : k * cols + j;
      nw[at] = (float)(ox_tensor_at(w, at) * s);
    }
  }
  OX_TRY(ox_node_become(g, node, "", "Gemm"));
  OX_TRY(ox_node_set_input(g, node, 1, wid));
  OX_TRY(ox_node_set_input(g, node, 2, bid));
  ox_node_remove_attr(g, node, "beta");
  return ox_graph_bypass(g, m->node[NORM]);
}

static const ox_rule rules[] = {{"linear-batchnorm", OX_LEVEL_EXTENDED, OX_PATTERN(pattern), guard, apply, false}};
const ox_rule_set ox_rules_linear_fold = {rules, OX_COUNT(rules)};
