/* SPDX-License-Identifier: Apache-2.0
 * ops/hyper_connection.c - com.microsoft's HyperConnectionPreMix, which folds C residual streams of H features into
 * one, and HyperConnectionPostMix, which mixes them and adds a layer's output to each. */
#include <string.h>

#include "ops/shared/as_real.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

enum { FLOATS = OX_BIT(OX_F32) | OX_T_FLOAT16S, WORK = 16384 };

typedef struct hyper_attrs {
  int64_t num_branches;
  float reduction_scale;
} hyper_attrs;
static const ox_attr_def pre_rows[] = {OX_ATTR_INT_IN(hyper_attrs, num_branches, 0, 0, OX_COUNT_MAX),
                                       OX_ATTR_FLOAT(hyper_attrs, reduction_scale, 1)};
static const ox_attr_def post_rows[] = {OX_ATTR_INT_IN(hyper_attrs, num_branches, 0, 0, OX_COUNT_MAX)};

/* The streams' shape [lead..., C, H], or with both in one dimension [lead..., C H]; -1: not known. */
typedef struct streams {
  int lead;
  int64_t c, h;
  bool flat;
} streams;

static ox_status *streams_of(const ox_infer_ctx *c, const hyper_attrs *a, const ox_shape *x, streams *s) {
  *s = (streams){-1, -1, -1, a->num_branches != 0};
  if (x->rank < 0) return NULL;
  if (x->rank < 2 - s->flat) return ox_fail(OX_SHAPE_MISMATCH, "%s: streams have rank %d", c->op, x->rank);
  int64_t last = x->dim[x->rank - 1];
  s->lead = x->rank - 2 + s->flat, s->c = s->flat ? a->num_branches : x->dim[x->rank - 2];
  s->h = s->flat && last >= 0 ? last / s->c : last;
  if (s->flat && last >= 0 && last % s->c)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: %lld elements do not divide into %lld branches", c->op, (long long)last,
                   (long long)s->c);
  return NULL;
}

/* Input |i| has |x|'s leading dimensions, then |n| more: |tail|. */
static ox_status *tail_is(const ox_infer_ctx *c, uint32_t i, const ox_shape *x, const streams *s, int n,
                          const int64_t *tail) {
  ox_shape want = *x;
  if (s->lead + n > OX_MAX_RANK) return ox_fail(OX_LIMIT, "%s: streams have rank %d", c->op, x->rank);
  want.rank = s->lead + n;
  for (int d = 0; d < n; d++) want.dim[s->lead + d] = tail[d];
  return ox_infer_shape_is(c, i, want.rank, want.dim);
}

/* Gates come one per stream, [C] or [C, 1], or one per feature, [C, H] or, with flat streams, [C H]. */
static ox_status *gates_fit(const ox_infer_ctx *c, uint32_t i, const ox_shape *x, const streams *s, bool flat_too) {
  if (!ox_infer_has(c, i) || c->in[i]->shape.rank < 0) return NULL;
  const ox_shape *g = &c->in[i]->shape;
  int64_t last = g->rank ? g->dim[g->rank - 1] : -1;
  if (g->rank == s->lead + 2) return tail_is(c, i, x, s, 2, (int64_t[]){s->c, last == 1 ? 1 : s->h});
  if (flat_too && last >= 0 && s->h > 1 && last == s->c * s->h) return tail_is(c, i, x, s, 1, &last);
  return tail_is(c, i, x, s, 1, &s->c);
}

static ox_status *pre_infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  streams s;
  OX_TRY(streams_of(c, c->attrs, x, &s));
  ox_shape y = ox_shape_unknown();
  if (s.lead >= 0) {
    OX_TRY(gates_fit(c, 1, x, &s, s.flat));
    y = *x, y.rank = s.lead + 1, y.dim[s.lead] = s.h;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *post_infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  streams s;
  if (c->in[0]->dtype && c->in[1]->dtype && c->in[0]->dtype != c->in[1]->dtype)
    return ox_fail(OX_INVALID_MODEL, "%s: streams are %s, block_output %s", c->op, ox_dtype_name(c->in[0]->dtype),
                   ox_dtype_name(c->in[1]->dtype));
  OX_TRY(streams_of(c, c->attrs, x, &s));
  if (s.lead >= 0) {
    OX_TRY(tail_is(c, 1, x, &s, 1, &s.h));
    OX_TRY(gates_fit(c, 2, x, &s, false));
    OX_TRY(tail_is(c, 3, x, &s, 2, (int64_t[]){s.c, s.c}));
  }
  return ox_infer_same_as_input(c);
}

typedef struct hyper_prep {
  int64_t tokens, c, h, per_tile;
  int64_t gates; /* per stream: 1 or h */
} hyper_prep;

static ox_status *prepare(ox_kernel_ctx *c, uint32_t gates) {
  const hyper_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  hyper_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  int64_t last = x->dim[x->rank - 1], n = ox_shape_count(x);
  size_t floats;
  if (!p) return ox_oom();
  p->c = a->num_branches ? a->num_branches : x->dim[x->rank - 2], p->h = a->num_branches ? last / p->c : last;
  p->tokens = ox_shape_span(x, 0, x->rank - (a->num_branches ? 1 : 2));
  p->gates = n && ox_shape_count(&c->in[gates]->shape) == n ? p->h : 1;
  p->per_tile = OX_MAX(WORK / OX_MAX(p->c * p->h, 1), 1);
  /* a token's streams, its gates, its mixture, a row to add and one to sum in */
  if (!ox_mul_ok((size_t)p->c, (size_t)(2 * p->h + p->c), &floats) || !ox_add_ok(floats, (size_t)(2 * p->h), &floats) ||
      floats > SIZE_MAX / sizeof(float))
    return ox_fail(OX_LIMIT, "the streams are too wide");
  return ox_ctx_plan(c, p->h ? ox_tile_count(p->tokens, p->per_tile) : 0, floats * sizeof(float));
}

static ox_status *pre_prepare(ox_kernel_ctx *c) { return prepare(c, 1); }
static ox_status *post_prepare(ox_kernel_ctx *c) { return prepare(c, 2); }

/* y += x gate, gate being one number or a row */
static void add_gated(const hyper_prep *p, const float *x, const float *gate, float *y) {
  if (p->gates == 1)
    for (int64_t i = 0; i < p->h; i++) y[i] += x[i] * gate[0];
  else
    for (int64_t i = 0; i < p->h; i++) y[i] += x[i] * gate[i];
}

static void pre_token(const ox_kernel_ctx *c, const hyper_prep *p, int64_t t, float *spare) {
  int64_t n = p->c * p->h, gates = p->c * p->gates;
  const float *x = ox_as_float_in(c, 0, t * n, n, spare);
  const float *gate = ox_as_float_in(c, 1, t * gates, gates, spare + n);
  float *y = ox_as_float_out(c, 0, t * p->h, spare + 2 * n), scale = ((const hyper_attrs *)c->attrs)->reduction_scale;
  memset(y, 0, (size_t)p->h * sizeof *y);
  for (int64_t k = 0; k < p->c; k++) add_gated(p, x + k * p->h, gate + k * p->gates, y);
  for (int64_t i = 0; i < p->h; i++) y[i] *= scale;
  ox_as_float_done(c, 0, t * p->h, p->h, y);
}

static void post_token(const ox_kernel_ctx *c, const hyper_prep *p, int64_t t, float *spare) {
  int64_t n = p->c * p->h, gates = p->c * p->gates, mixes = p->c * p->c;
  const float *x = ox_as_float_in(c, 0, t * n, n, spare);
  const float *gate = ox_as_float_in(c, 2, t * gates, gates, spare + n);
  const float *mix = ox_ctx_has(c, 3) ? ox_as_float_in(c, 3, t * mixes, mixes, spare + 2 * n) : NULL;
  float *row = spare + 2 * n + mixes;
  const float *block = ox_as_float_in(c, 1, t * p->h, p->h, row);
  for (int64_t k = 0; k < p->c; k++) {
    float *y = ox_as_float_out(c, 0, t * n + k * p->h, row + p->h);
    if (mix)
      memset(y, 0, (size_t)p->h * sizeof *y);
    else
      memcpy(y, x + k * p->h, (size_t)p->h * sizeof *y);
    for (int64_t b = 0; mix && b < p->c; b++)
      for (int64_t i = 0; i < p->h; i++) y[i] += mix[b * p->c + k] * x[b * p->h + i];
    add_gated(p, block, gate + k * p->gates, y);
    ox_as_float_done(c, 0, t * n + k * p->h, p->h, y);
  }
}

static ox_status *pre_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const hyper_prep *p = c->prep;
  for (int64_t t = tiles.begin * p->per_tile; t < OX_MIN(tiles.end * p->per_tile, p->tokens); t++)
    pre_token(c, p, t, scratch);
  return NULL;
}

static ox_status *post_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const hyper_prep *p = c->prep;
  for (int64_t t = tiles.begin * p->per_tile; t < OX_MIN(tiles.end * p->per_tile, p->tokens); t++)
    post_token(c, p, t, scratch);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "HyperConnectionPreMix", .domain = "com.microsoft", .since = 1, .types = {FLOATS, FLOATS},
               .min_in = 2, .max_in = 2, OX_ATTRS(pre_rows), .attrs_bytes = sizeof(hyper_attrs), .infer = pre_infer),
     OX_KERNEL(.prepare = pre_prepare, .run = pre_run)},
    {OX_SCHEMA(.name = "HyperConnectionPostMix", .domain = "com.microsoft", .since = 1,
               .types = {FLOATS, FLOATS, FLOATS}, .vars = "TTUU", .min_in = 3, .max_in = 4, OX_ATTRS(post_rows),
               .attrs_bytes = sizeof(hyper_attrs), .infer = post_infer),
     OX_KERNEL(.prepare = post_prepare, .run = post_run)},
};
const ox_op_set ox_ops_hyper_connection = {ops, OX_COUNT(ops)};
