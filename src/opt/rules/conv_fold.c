/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_fold.c - what follows a convolution channel by channel goes into its weights and bias: batch
 * normalization, and Mul, Div, Add, Sub with constants. In double, rounded once. Each removes a node. The new weights
 * are computed as kernels pack them. */
#include <string.h>

#include "base/macros.h"
#include "base/status.h"
#include "onyx/rewrite.h"
#include "opt/batch_norm.h"

enum { CONV, AFTER };
enum { X, W, B };

/* A convolution with constant float weights. */
typedef struct weights {
  const ox_tensor *w, *bias; /* bias NULL: none */
  int transposed;
  int64_t group, channels; /* of the output */
} weights;

/* y = conv * scale + shift per output channel. */
typedef struct affine {
  double *scale, *shift;
} affine;

static int weights_of(const ox_rewrite *g, ox_id conv, weights *out) {
  const ox_tensor *w = ox_n_in(g, conv) <= 3 ? ox_const_type(g, ox_in(g, conv, W)) : NULL;
  ox_id bias = ox_in(g, conv, B);
  *out = (weights){w, ox_const(g, bias), ox_is(g, conv, "ConvTranspose"), ox_attr_i(g, conv, "group", 1), 0};
  if (!w || w->dtype != OX_F32 || w->shape.rank < 3 || (bias != OX_NONE && !out->bias)) return 0;
  out->channels = out->transposed ? w->shape.dim[1] * out->group : w->shape.dim[0];
  if (out->group < 1 || out->channels < 1 || w->shape.dim[0] % out->group) return 0;
  return !out->bias || (out->bias->dtype == OX_F32 && ox_elements(&out->bias->shape) == out->channels);
}

/* What scaling knows: |scale| of |channels| follow. */
typedef struct scaling {
  int64_t group;
  int transposed;
  double scale[];
} scaling;

/* In pieces of known length, which compilers turn into vectors. The weights come from memory: the processor does not
 * fetch across the ends of pages by itself. */
static void scale(float *to, const ox_f32u *from, double by, int64_t n) {
  enum { PIECE = 16, AHEAD = 1024 };
  float old[PIECE], new[PIECE];
  for (; n >= PIECE; n -= PIECE, to += PIECE, from += PIECE) {
    OX_PREFETCH((const char *)from + AHEAD * sizeof *from);
    memcpy(old, from, sizeof old);
    for (int i = 0; i < PIECE; i++) new[i] = (float)((double)old[i] * by);
    memcpy(to, new, sizeof new);
  }
  for (int64_t i = 0; i < n; i++) to[i] = (float)((double)from[i] * by);
}

/* The weights times the scale of their output channel, filter by filter. */
static void make_scaled(const ox_tensor *w, const void *arg, int64_t first, int64_t n, void *to) {
  const scaling *k = arg;
  const ox_f32u *old = (const ox_f32u *)w->data + first;
  float *scaled = to;
  const ox_shape *s = &w->shape;
  int64_t cols = s->dim[1], per_group = s->dim[0] / k->group;
  int64_t filter = ox_elements_of(s, k->transposed ? 2 : 1, s->rank);
  for (int64_t i = 0, end; i < n; i = end) {
    int64_t at = (first + i) / filter;
    double by = k->scale[k->transposed ? at / cols / per_group * cols + at % cols : at];
    end = (at + 1) * filter - first < n ? (at + 1) * filter - first : n;
    scale(scaled + i, old + i, by, end - i);
  }
}

/* What the weights of |conv| are to be made from, and what scales them already; NULL: nothing. Scales meet, so that
 * the weights in between are never computed. */
static const scaling *scaled_before(const ox_rewrite *g, ox_id conv, const ox_tensor **out_from) {
  int asks = g->api->struct_size >= offsetof(ox_graph_api, const_source) + sizeof g->api->const_source;
  const scaling *k = asks ? g->api->const_source(g, ox_in(g, conv, W), make_scaled, out_from) : NULL;
  if (!k) *out_from = ox_const(g, ox_in(g, conv, W));
  return k;
}

/* Untouched if there is nothing to scale. */
static ox_status *scale_weights(const ox_rewrite *g, ox_id conv, const weights *k, const affine *a) {
  const ox_tensor *from;
  int one = 1;
  size_t bytes = sizeof(scaling) + (size_t)k->channels * sizeof *a->scale;
  ox_id id;
  for (int64_t m = 0; m < k->channels; m++) one &= a->scale[m] == 1;
  if (one) return NULL;
  scaling *arg = g->api->scratch(g, bytes);
  if (!arg) return ox_no_memory(g);
  arg->group = k->group, arg->transposed = k->transposed;
  const scaling *before = scaled_before(g, conv, &from);
  for (int64_t m = 0; m < k->channels; m++) arg->scale[m] = a->scale[m] * (before ? before->scale[m] : 1);
  OX_TRY(g->api->const_later(g, g->api->value_name(g, ox_in(g, conv, W)), OX_F32, &k->w->shape, from, make_scaled, arg,
                             bytes, &id));
  return ox_set_in(g, conv, W, id);
}

/* Weights and bias of |conv| times and plus |a|. */
static ox_status *fold_into(const ox_rewrite *g, ox_id conv, const weights *k, const affine *a) {
  float *bias;
  ox_id id;
  OX_TRY(scale_weights(g, conv, k, a));
  OX_TRY(ox_f32_room(g, NULL, 1, &k->channels, &bias, &id));
  for (int64_t m = 0; m < k->channels; m++)
    bias[m] = (float)((k->bias ? ox_at(g, k->bias, m) : 0) * a->scale[m] + a->shift[m]);
  return ox_set_in(g, conv, B, id);
}

static ox_status *affine_init(const ox_rewrite *g, affine *a, int64_t n) {
  a->scale = g->api->scratch(g, (size_t)n * sizeof *a->scale);
  a->shift = g->api->scratch(g, (size_t)n * sizeof *a->shift);
  return a->scale && a->shift ? NULL : ox_no_memory(g);
}

/* ---- BatchNormalization(X, scale, B, mean, var) ---- */

static const ox_pat batchnorm[] = {
    [CONV] = {.op = "Conv|ConvTranspose", .single_use = 1},
    [AFTER] = {.op = "BatchNormalization", .in = {OX_FROM(CONV), OX_CONST(0), OX_CONST(1), OX_CONST(2), OX_CONST(3)}}};

static int batchnorm_guard(const ox_rewrite *g, ox_match *m) {
  weights *k = OX_CAPTURE(m, weights);
  return weights_of(g, m->node[CONV], k) && ox_norm_is_affine(g, m->node[AFTER], m->arg, k->channels);
}

static ox_status *batchnorm_apply(const ox_rewrite *g, const ox_match *m) {
  const weights *k = OX_CAPTURED(m, weights);
  affine a;
  OX_TRY(affine_init(g, &a, k->channels));
  for (int64_t c = 0; c < k->channels; c++) ox_norm_affine(g, m->node[AFTER], m->arg, c, &a.scale[c], &a.shift[c]);
  OX_TRY(fold_into(g, m->node[CONV], k, &a));
  return ox_bypass(g, m->node[AFTER]);
}

/* ---- arithmetic with constants ---- */

static const ox_pat arith[] = {[CONV] = {.op = "Conv|ConvTranspose", .single_use = 1},
                               [AFTER] = {.op = "Mul|Add", .in = {OX_FROM(CONV), OX_CONST(0)}, .commutative = 1}};
static const ox_pat arith_right[] = {[CONV] = {.op = "Conv|ConvTranspose", .single_use = 1},
                                     [AFTER] = {.op = "Div|Sub", .in = {OX_FROM(CONV), OX_CONST(0)}}};

/* One number, or one per channel: [C,1,1] or [1,C,1,1] for two spatial dimensions. */
static int per_channel(const ox_tensor *t, int64_t channels, int rank) {
  int64_t n = ox_elements(&t->shape);
  if (t->dtype != OX_F32 || t->shape.rank > rank || (n != 1 && n != channels)) return 0;
  int at = t->shape.rank - (rank - 1); /* which dimension of t meets the channels */
  return n == 1 || (at >= 0 && t->shape.dim[at] == channels);
}

static int arith_guard(const ox_rewrite *g, ox_match *m) {
  weights *k = OX_CAPTURE(m, weights);
  return weights_of(g, m->node[CONV], k) && per_channel(ox_const_type(g, m->arg[0]), k->channels, k->w->shape.rank);
}

static ox_status *arith_apply(const ox_rewrite *g, const ox_match *m) {
  const weights *k = OX_CAPTURED(m, weights);
  const ox_tensor *t = ox_const(g, m->arg[0]);
  ox_id after = m->node[AFTER];
  int mul = ox_is(g, after, "Mul"), div = ox_is(g, after, "Div"), add = ox_is(g, after, "Add");
  int64_t n = ox_elements(&t->shape);
  affine a;
  OX_TRY(affine_init(g, &a, k->channels));
  for (int64_t c = 0; c < k->channels; c++) {
    double v = ox_at(g, t, n == 1 ? 0 : c);
    a.scale[c] = mul ? v : div ? 1 / v : 1;
    a.shift[c] = mul || div ? 0 : add ? v : -v;
  }
  OX_TRY(fold_into(g, m->node[CONV], k, &a));
  return ox_give_way(g, after, ox_out(g, m->node[CONV], 0));
}

static const ox_rule rules[] = {
    {OX_RULE("conv-batchnorm", OX_OPTIMIZE_EXTENDED, batchnorm, batchnorm_guard, batchnorm_apply)},
    {OX_RULE("conv-arith", OX_OPTIMIZE_EXTENDED, arith, arith_guard, arith_apply)},
    {OX_RULE("conv-arith-right", OX_OPTIMIZE_EXTENDED, arith_right, arith_guard, arith_apply)},
};
const ox_rule_set ox_rules_conv_fold = OX_RULE_SET(rules);
