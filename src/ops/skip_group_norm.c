/* SPDX-License-Identifier: Apache-2.0
 * ops/skip_group_norm.c - com.microsoft's GroupNorm and SkipGroupNorm: group normalization, in either layout, of the
 * sum of input, skip and bias, followed by an optional SiLU. */
#include <math.h>

#include "kern/norm/channel.h"
#include "kern/norm/norm.h"
#include "kern/unary/unary.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { X, GAMMA, BETA, SKIP, BIAS, SUM = 1 };

typedef struct group_attrs {
  int64_t groups, channels_last, activation;
  float epsilon;
} group_attrs;
static const ox_attr_def table[] = {
    OX_ATTR_INT_REQUIRED_IN(group_attrs, groups, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(group_attrs, activation, 0, 1),
    OX_ATTR_INT(group_attrs, channels_last, 1),
    OX_ATTR_FLOAT(group_attrs, epsilon, 1e-5f),
};

typedef struct group_prep {
  int64_t groups, channels, pixels; /* all groups of all images; channels and pixels of one */
  bool last, skip_per_image;        /* skip has one number per channel of an image */
} group_prep;

/* ---- shapes ---- */

/* Skip is an image, or [N, C], or that with dimensions of 1. */
static ox_status *check_skip(const ox_infer_ctx *c, const ox_shape *x, int channel_dim) {
  if (!ox_infer_has(c, SKIP) || c->in[SKIP]->shape.rank < 0) return NULL;
  const ox_shape *s = &c->in[SKIP]->shape;
  if (s->rank == 2) return ox_infer_shape_is(c, SKIP, 2, (int64_t[]){x->dim[0], x->dim[channel_dim]});
  bool ones = s->rank == 4;
  for (int d = 1; ones && d < 4; d++) ones = d == channel_dim || s->dim[d] == 1;
  ox_shape want = *x;
  for (int d = 1; ones && d < 4; d++) want.dim[d] = d == channel_dim ? x->dim[d] : 1;
  return ox_infer_shape_is(c, SKIP, 4, want.dim);
}

static ox_status *infer(ox_infer_ctx *c) {
  const group_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape;
  int channel_dim = a->channels_last ? 3 : 1;
  OX_TRY(ox_infer_shape_is(c, X, 4, (int64_t[]){-1, -1, -1, -1}));
  int64_t channels = ox_infer_dim(c, X, channel_dim);
  if (channels >= 0 && channels % a->groups)
    return ox_fail(OX_INVALID_MODEL, "%s: %lld channels do not divide into %lld groups", c->op, (long long)channels,
                   (long long)a->groups);
  OX_TRY(ox_infer_shape_is(c, GAMMA, 1, &channels));
  OX_TRY(ox_infer_shape_is(c, BETA, 1, &channels));
  OX_TRY(ox_infer_shape_is(c, BIAS, 1, &channels));
  for (uint32_t i = SKIP; i <= BIAS; i++)
    if (ox_infer_has(c, i) && c->in[i]->dtype && c->in[X]->dtype && c->in[i]->dtype != c->in[X]->dtype)
      return ox_fail(OX_INVALID_MODEL, "%s: input %u is %s, X is %s", c->op, i, ox_dtype_name(c->in[i]->dtype),
                     ox_dtype_name(c->in[X]->dtype));
  if (x->rank == 4) OX_TRY(check_skip(c, x, channel_dim));
  ox_infer_out(c, 0, c->in[X]->dtype, x);
  ox_infer_out(c, SUM, c->in[X]->dtype, x);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const group_attrs *a = c->attrs;
  const int64_t *x = c->in[X]->shape.dim;
  group_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t floats;
  if (!p) return ox_oom();
  p->last = a->channels_last != 0;
  p->groups = x[0] * a->groups, p->channels = x[p->last ? 3 : 1] / a->groups;
  p->pixels = p->last ? x[1] * x[2] : x[2] * x[3];
  p->skip_per_image = ox_ctx_has(c, SKIP) && ox_shape_count(&c->in[SKIP]->shape) != ox_shape_count(&c->in[X]->shape);
  if (p->channels == 0 || p->pixels == 0) p->groups = 0;
  /* the group, then four rows of its channels */
  if (!ox_mul_ok((size_t)p->channels, (size_t)p->pixels + 4, &floats) || floats > SIZE_MAX / sizeof(float))
    return ox_fail(OX_LIMIT, "%lld pixels of %lld channels are too many", (long long)p->pixels, (long long)p->channels);
  return ox_ctx_plan(c, p->groups, floats * sizeof(float));
}

/* ---- run: a tile is a group ---- */

typedef struct group {
  const ox_kernel_ctx *c;
  const group_prep *p;
  int64_t image, first;                    /* first channel */
  float *x, *gamma, *beta, *added, *spare; /* x: the group, in the input's order; added: to each channel */
} group;

/* A run of |n| contiguous elements of the group, from |at| on in the input and output, from |own| on in the group's
 * copy. Channels last: a pixel's channels; else a channel's pixels. */
typedef struct run_of {
  int64_t at, own, n;
} run_of;

static run_of run_at(const group *g, int64_t i) {
  const group_prep *p = g->p;
  int64_t all = p->channels * ((const group_attrs *)g->c->attrs)->groups;
  if (p->last) return (run_of){(g->image * p->pixels + i) * all + g->first, i * p->channels, p->channels};
  return (run_of){(g->image * all + g->first + i) * p->pixels, i * p->pixels, p->pixels};
}
static int64_t runs(const group_prep *p) { return p->last ? p->pixels : p->channels; }

static void read_group(group *g) {
  const ox_kernel_ctx *c = g->c;
  const group_prep *p = g->p;
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t all = p->channels * ((const group_attrs *)c->attrs)->groups;
  for (int64_t i = 0; i < p->channels; i++) g->added[i] = 0;
  if (ox_ctx_has(c, BIAS))
    cv->load_f32[c->in[BIAS]->dtype](c->in[BIAS]->data, (size_t)g->first, (size_t)p->channels, g->added);
  if (p->skip_per_image) {
    cv->load_f32[c->in[SKIP]->dtype](c->in[SKIP]->data, (size_t)(g->image * all + g->first), (size_t)p->channels,
                                     g->spare);
    for (int64_t i = 0; i < p->channels; i++) g->added[i] += g->spare[i];
  }
  for (int64_t i = 0; i < runs(p); i++) {
    run_of r = run_at(g, i);
    float *x = g->x + r.own, skip[OX_CONVERT_BLOCK];
    cv->load_f32[c->in[X]->dtype](c->in[X]->data, (size_t)r.at, (size_t)r.n, x);
    for (int64_t k = 0; k < r.n; k++) x[k] += g->added[p->last ? k : i];
    for (int64_t k = 0; ox_ctx_has(c, SKIP) && !p->skip_per_image && k < r.n; k += OX_CONVERT_BLOCK) {
      int64_t n = OX_MIN(r.n - k, OX_CONVERT_BLOCK);
      cv->load_f32[c->in[SKIP]->dtype](c->in[SKIP]->data, (size_t)(r.at + k), (size_t)n, skip);
      for (int64_t j = 0; j < n; j++) x[k + j] += skip[j];
    }
    if (ox_ctx_wants(c, SUM)) cv->store_f32[c->out[SUM]->dtype](x, c->out[SUM]->data, (size_t)r.at, (size_t)r.n, NULL);
  }
}

static void write_group(const group *g) {
  const ox_kernel_ctx *c = g->c;
  const group_prep *p = g->p;
  const group_attrs *a = c->attrs;
  const ox_norm_table *t = ox_norm_select(c->isa);
  ox_unary_f32_fn *const *fn = ox_unary_f32_select(c->isa)->fn;
  const float one[OX_UNARY_PARAMS] = {1, 0};
  size_t n = (size_t)(p->channels * p->pixels);
  ox_moments m = ox_norm_moments(t, g->x, n);
  double off = m.mean - (double)(float)m.mean, inverse = 1 / sqrt(m.variance + (double)a->epsilon);
  for (int64_t i = 0; i < runs(p); i++) {
    run_of r = run_at(g, i);
    float *x = g->x + r.own;
    if (p->last) {
      t->apply(x, x, (size_t)r.n, m.mean, (float)inverse, g->gamma, g->beta);
    } else {
      double scale = (double)g->gamma[i] * inverse;
      ox_channel_select(c->isa)->scale_shift(x, x, (float)m.mean, (float)scale,
                                             (float)((double)g->beta[i] - off * scale), (size_t)r.n);
    }
    if (a->activation) fn[OX_UN_SWISH](x, x, (size_t)r.n, one);
    ox_convert_select(c->isa)->store_f32[c->out[0]->dtype](x, c->out[0]->data, (size_t)r.at, (size_t)r.n, NULL);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const group_prep *p = c->prep;
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t groups = ((const group_attrs *)c->attrs)->groups;
  float *rows = (float *)scratch + p->channels * p->pixels;
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    group g = {c,
               p,
               i / groups,
               i % groups * p->channels,
               scratch,
               rows,
               rows + p->channels,
               rows + 2 * p->channels,
               rows + 3 * p->channels};
    cv->load_f32[c->in[GAMMA]->dtype](c->in[GAMMA]->data, (size_t)g.first, (size_t)p->channels, g.gamma);
    cv->load_f32[c->in[BETA]->dtype](c->in[BETA]->data, (size_t)g.first, (size_t)p->channels, g.beta);
    read_group(&g);
    if (c->out[0]) write_group(&g);
  }
  return NULL;
}

#define FLOATS (OX_BIT(OX_F32) | OX_BIT(OX_F16))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GroupNorm", .domain = "com.microsoft", .since = 1, .types = {FLOATS}, .vars = ".TT",
               .min_in = 3, .max_in = 3, OX_ATTRS(table), .attrs_bytes = sizeof(group_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "SkipGroupNorm", .domain = "com.microsoft", .since = 1, .types = {FLOATS}, .vars = "TUUTT",
               .min_in = 4, .max_in = 5, .min_out = 1, .max_out = 2, OX_ATTRS(table),
               .attrs_bytes = sizeof(group_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_skip_group_norm = {ops, OX_COUNT(ops)};
