/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_longformer.c - com.microsoft.LongformerAttention: a token attends to tokens within a window on
 * either side and to global tokens; a global token attends to all, with separate projections. Computed in float:
 * stage 0 projects, a tile per token, stage 1 attends, a tile per head of a batch entry. */
#include <math.h>

#include "kern/softmax/softmax.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { X, WEIGHT, BIAS, MASK, GLOBAL_WEIGHT, GLOBAL_BIAS, GLOBAL };
typedef struct longformer_attrs {
  int64_t num_heads, window;
} longformer_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_INT_REQUIRED_IN(longformer_attrs, num_heads, 1, OX_COUNT_MAX),
                                        OX_ATTR_INT_REQUIRED_IN(longformer_attrs, window, 1, OX_COUNT_MAX)};

typedef struct longformer_prep {
  int64_t batch, len, hidden, heads, d, window;
  float scale;
} longformer_prep;

static ox_status *infer(ox_infer_ctx *c) {
  int64_t heads = ((const longformer_attrs *)c->attrs)->num_heads, hidden = ox_infer_dim(c, X, 2);
  int64_t all = ox_dim_mul(hidden, 3), tokens[] = {ox_infer_dim(c, X, 0), ox_infer_dim(c, X, 1)};
  OX_TRY(ox_infer_shape_is(c, X, 3, (int64_t[]){-1, -1, -1}));
  if (hidden >= 0 && hidden % heads)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: %lld heads of %lld", c->op, (long long)heads, (long long)hidden);
  for (uint32_t i = WEIGHT; i <= GLOBAL_WEIGHT; i += GLOBAL_WEIGHT - WEIGHT) {
    OX_TRY(ox_infer_shape_is(c, i, 2, (int64_t[]){hidden, all}));
    OX_TRY(ox_infer_shape_is(c, i + 1, 1, &all));
  }
  OX_TRY(ox_infer_shape_is(c, MASK, 2, tokens));
  OX_TRY(ox_infer_shape_is(c, GLOBAL, 2, tokens));
  ox_infer_out(c, 0, ox_infer_dtype_of(c, X, GLOBAL_BIAS), &c->in[X]->shape);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const longformer_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape;
  longformer_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t at;
  int64_t count;
  if (!p) return ox_oom();
  *p = (longformer_prep){x->dim[0], x->dim[1], x->dim[2], a->num_heads, x->dim[2] / a->num_heads, a->window, 0};
  p->scale = (float)(1 / sqrt((double)OX_MAX(p->d, 1)));
  if (!ox_mul_i64_ok(ox_shape_count(x), 6, &count)) return ox_fail(OX_LIMIT, "LongformerAttention: too long");
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, count, &at));
  c->n_stages = 2, c->n_tiles[0] = p->batch * p->len, c->n_tiles[1] = p->batch * p->heads;
  /* a token and a row of weights; scores, their keys, a result */
  c->scratch_per_worker = (size_t)OX_MAX(4 * p->hidden, 3 * p->len + p->d) * sizeof(float);
  return NULL;
}

/* q, k or v (|part| 0 to 2) of a token, local or global. */
static float *part_of(const ox_kernel_ctx *c, const longformer_prep *p, int64_t token, bool global, int part) {
  return (float *)c->shared + (token * 6 + (global ? 3 : 0) + part) * p->hidden;
}

static void project(const ox_kernel_ctx *c, const longformer_prep *p, int64_t token, float *spare) {
  int64_t n = 3 * p->hidden;
  const float *x = ox_as_float_in(c, X, token * p->hidden, p->hidden, spare);
  for (int global = 0; global < 2; global++) {
    uint32_t weight = global ? GLOBAL_WEIGHT : WEIGHT;
    float *y = part_of(c, p, token, global, 0);
    ox_convert_select(c->isa)->load_f32[c->in[weight + 1]->dtype](c->in[weight + 1]->data, 0, (size_t)n, y);
    for (int64_t k = 0; k < p->hidden; k++) {
      const float *w = ox_as_float_in(c, weight, k * n, n, spare + p->hidden);
      for (int64_t j = 0; j < n; j++) y[j] += x[k] * w[j];
    }
  }
}

static bool is_global(const ox_kernel_ctx *c, int64_t token) { return ((const int32_t *)c->in[GLOBAL]->data)[token]; }

static void attend(const ox_kernel_ctx *c, const longformer_prep *p, int64_t b, int64_t h, float *scratch) {
  float *scores = scratch, *mask = scores + p->len, *spare = mask + p->len;
  int32_t *keys = (int32_t *)(void *)spare;
  int64_t base = b * p->len, at = h * p->d;
  float *room = spare + p->len;
  ox_convert_select(c->isa)->load_f32[c->in[MASK]->dtype](c->in[MASK]->data, (size_t)base, (size_t)p->len, mask);
  for (int64_t i = 0; i < p->len; i++) {
    bool global = is_global(c, base + i);
    const float *q = part_of(c, p, base + i, global, 0) + at;
    int64_t n = 0, to = (base + i) * p->hidden + at;
    float *y = ox_as_float_out(c, 0, to, room);
    for (int64_t j = 0; j < p->len; j++) {
      if (!global && (j < i - p->window || j > i + p->window) && !is_global(c, base + j)) continue;
      const float *k = part_of(c, p, base + j, global, 1) + at;
      float dot = 0;
      for (int64_t l = 0; l < p->d; l++) dot += q[l] * k[l];
      scores[n] = dot * p->scale + mask[j], keys[n++] = (int32_t)j;
    }
    ox_softmax_select(c->isa)->row(scores, scores, (size_t)n);
    for (int64_t l = 0; l < p->d; l++) y[l] = 0;
    for (int64_t j = 0; j < n; j++) {
      const float *v = part_of(c, p, base + keys[j], global, 2) + at;
      for (int64_t l = 0; l < p->d; l++) y[l] += scores[j] * v[l];
    }
    ox_as_float_done(c, 0, to, p->d, y);
    if (ox_ctx_stopped_each(c, i, 16)) return;
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const longformer_prep *p = c->prep;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (stage == 0)
      project(c, p, t, scratch);
    else
      attend(c, p, t / p->heads, t % p->heads, scratch);
    if (ox_ctx_stopped_each(c, t, 16)) return NULL;
  }
  return NULL;
}

#define T (OX_BIT(OX_F32) | OX_BIT(OX_F16))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "LongformerAttention", .domain = "com.microsoft", .since = 1,
               .types = {T, T, T, T, T, T, OX_BIT(OX_I32)}, .vars = "TTTTTT", .min_in = 7, .max_in = 7,
               OX_ATTRS(attr_rows), .attrs_bytes = sizeof(longformer_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_attention_longformer = {ops, OX_COUNT(ops)};
