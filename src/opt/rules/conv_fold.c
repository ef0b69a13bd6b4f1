/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_fold.c - what follows a convolution channel by channel goes into its weights and bias: batch
 * normalization, and Mul, Div, Add, Sub with constants. In double, rounded once. Each removes a node. */
#include <math.h>
#include <string.h>

#include "opt/match.h"

enum { CONV, AFTER };
enum { X, W, B };

/* y = conv * scale + shift per output channel. */
typedef struct affine {
  double *scale, *shift;
  int64_t n;
} affine;

static bool conv_ok(const ox_graph *g, ox_id conv, int64_t *out_channels) {
  const ox_node *n = &g->nodes[conv];
  const ox_tensor *w = n->n_in > W && n->n_in <= 3 ? ox_graph_const(g, n->in[W]) : NULL;
  ox_id bias = ox_in(g, conv, B);
  if (!w || w->dtype != OX_F32 || w->shape.rank < 3 || (bias != OX_NONE && !ox_graph_const(g, bias))) return false;
  bool transposed = ox_node_is(n, "ConvTranspose", NULL);
  int64_t group = ox_attr_i(n, "group", 1);
  *out_channels = transposed ? w->shape.dim[1] * group : w->shape.dim[0];
  if (group < 1 || *out_channels < 1 || w->shape.dim[0] % group) return false;
  const ox_tensor *b = bias == OX_NONE ? NULL : ox_graph_const(g, bias);
  return !b || (b->dtype == OX_F32 && ox_shape_count(&b->shape) == *out_channels);
}

/* The weights times the scale of their output channel; untouched if there is nothing to scale. */
static ox_status *scale_weights(ox_graph *g, ox_id conv, const affine *a) {
  ox_node *n = &g->nodes[conv];
  const ox_tensor *w = ox_graph_const(g, n->in[W]);
  bool transposed = ox_node_is(n, "ConvTranspose", NULL), one = true;
  int64_t group = ox_attr_i(n, "group", 1), taps = ox_shape_span(&w->shape, 2, w->shape.rank);
  int64_t rows = w->shape.dim[0], cols = w->shape.dim[1], per_group = rows / group;
  float *scaled;
  ox_id id;
  for (int64_t m = 0; m < a->n; m++) one &= a->scale[m] == 1;
  if (one) return NULL;
  OX_TRY(ox_graph_f32_room(g, g->values[n->in[W]].name, w->shape.rank, w->shape.dim, &scaled, &id));
  const ox_f32u *old = w->data;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++) {
      double s = a->scale[transposed ? r / per_group * cols + c : r];
      for (int64_t t = 0, i = (r * cols + c) * taps; t < taps; t++, i++) scaled[i] = (float)((double)old[i] * s);
    }
  return ox_node_set_input(g, conv, W, id);
}

/* Weights and bias of |conv| times and plus |a|. */
static ox_status *fold_into(ox_graph *g, ox_id conv, const affine *a) {
  const ox_tensor *b = ox_in(g, conv, B) == OX_NONE ? NULL : ox_graph_const(g, ox_in(g, conv, B));
  float *bias;
  ox_id id;
  OX_TRY(scale_weights(g, conv, a));
  OX_TRY(ox_graph_f32_room(g, NULL, 1, &a->n, &bias, &id));
  for (int64_t m = 0; m < a->n; m++) bias[m] = (float)((b ? ox_tensor_at(b, m) : 0) * a->scale[m] + a->shift[m]);
  return ox_node_set_input(g, conv, B, id);
}

static ox_status *affine_init(ox_graph *g, affine *a, int64_t n) {
  a->n = n;
  a->scale = OX_ARENA_ARRAY(&g->model->arena, double, (size_t)n);
  a->shift = OX_ARENA_ARRAY(&g->model->arena, double, (size_t)n);
  return a->scale && a->shift ? NULL : ox_oom();
}

/* ---- BatchNormalization(X, scale, B, mean, var) ---- */

static const ox_pat batchnorm[] = {
    [CONV] = {.op = "Conv|ConvTranspose", .single_use = true},
    [AFTER] = {.op = "BatchNormalization", .in = {OX_FROM(CONV), OX_CONST(0), OX_CONST(1), OX_CONST(2), OX_CONST(3)}}};

static bool batchnorm_guard(const ox_graph *g, const ox_match *m) {
  const ox_node *bn = &g->nodes[m->node[AFTER]];
  int64_t channels, opset = ox_model_opset(g->model, "");
  if (ox_attr_i(bn, "training_mode", 0) || !ox_attr_i(bn, "spatial", 1)) return false;
  if (opset < 7 && !ox_attr_i(bn, "is_test", 0)) return false;
  for (uint32_t i = 1; i < bn->n_out; i++)
    if (bn->out[i] != OX_NONE && ox_graph_use_count(g, bn->out[i])) return false;
  if (!conv_ok(g, m->node[CONV], &channels)) return false;
  for (int i = 0; i < 4; i++) {
    const ox_tensor *t = ox_graph_const(g, m->arg[i]);
    if (t->dtype != OX_F32 || ox_shape_count(&t->shape) != channels) return false;
  }
  return true;
}

static ox_status *batchnorm_apply(ox_graph *g, const ox_match *m) {
  const ox_tensor *p[4];
  affine a;
  double eps = (double)ox_attr_f(&g->nodes[m->node[AFTER]], "epsilon", 1e-5f);
  for (int i = 0; i < 4; i++) p[i] = ox_graph_const(g, m->arg[i]);
  OX_TRY(affine_init(g, &a, ox_shape_count(&p[0]->shape)));
  for (int64_t c = 0; c < a.n; c++) {
    a.scale[c] = ox_tensor_at(p[0], c) / sqrt(ox_tensor_at(p[3], c) + eps);
    a.shift[c] = ox_tensor_at(p[1], c) - ox_tensor_at(p[2], c) * a.scale[c];
  }
  OX_TRY(fold_into(g, m->node[CONV], &a));
  return ox_graph_bypass(g, m->node[AFTER]);
}

/* ---- arithmetic with constants ---- */

static const ox_pat arith[] = {[CONV] = {.op = "Conv|ConvTranspose", .single_use = true},
                               [AFTER] = {.op = "Mul|Add", .in = {OX_FROM(CONV), OX_CONST(0)}, .commutative = true}};
static const ox_pat arith_right[] = {[CONV] = {.op = "Conv|ConvTranspose", .single_use = true},
                                     [AFTER] = {.op = "Div|Sub", .in = {OX_FROM(CONV), OX_CONST(0)}}};

/* One number, or one per channel: [C,1,1] or [1,C,1,1] for two spatial dimensions. */
static bool per_channel(const ox_tensor *t, int64_t channels, int rank) {
  int64_t n = ox_shape_count(&t->shape);
  if (t->dtype != OX_F32 || t->shape.rank > rank || (n != 1 && n != channels)) return false;
  int at = t->shape.rank - (rank - 1); /* which dimension of t meets the channels */
  return n == 1 || (at >= 0 && t->shape.dim[at] == channels);
}

static bool arith_guard(const ox_graph *g, const ox_match *m) {
  int64_t channels;
  if (!conv_ok(g, m->node[CONV], &channels)) return false;
  int rank = ox_graph_const(g, g->nodes[m->node[CONV]].in[W])->shape.rank;
  return per_channel(ox_graph_const(g, m->arg[0]), channels, rank);
}

static ox_status *arith_apply(ox_graph *g, const ox_match *m) {
  const ox_node *after = &g->nodes[m->node[AFTER]];
  const ox_tensor *t = ox_graph_const(g, m->arg[0]);
  const char *op = after->op;
  int64_t channels, n = ox_shape_count(&t->shape);
  affine a;
  conv_ok(g, m->node[CONV], &channels);
  OX_TRY(affine_init(g, &a, channels));
  for (int64_t c = 0; c < channels; c++) {
    double v = ox_tensor_at(t, n == 1 ? 0 : c);
    a.scale[c] = strcmp(op, "Mul") == 0 ? v : strcmp(op, "Div") == 0 ? 1 / v : 1;
    a.shift[c] = strcmp(op, "Add") == 0 ? v : strcmp(op, "Sub") == 0 ? -v : 0;
  }
  OX_TRY(fold_into(g, m->node[CONV], &a));
  OX_TRY(ox_graph_replace_uses(g, after->out[0], g->nodes[m->node[CONV]].out[0]));
  ox_graph_remove_node(g, m->node[AFTER]);
  return NULL;
}

static const ox_rule rules[] = {
    {"conv-batchnorm", OX_LEVEL_EXTENDED, OX_PATTERN(batchnorm), batchnorm_guard, batchnorm_apply, false},
    {"conv-arith", OX_LEVEL_EXTENDED, OX_PATTERN(arith), arith_guard, arith_apply, false},
    {"conv-arith-right", OX_LEVEL_EXTENDED, OX_PATTERN(arith_right), arith_guard, arith_apply, false},
};
const ox_rule_set ox_rules_conv_fold = {rules, OX_COUNT(rules)};
