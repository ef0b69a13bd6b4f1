/* SPDX-License-Identifier: Apache-2.0
 * ops/plane_norm.c - InstanceNormalization and LRN. Computed in float32, double precision for float64. */
#include <math.h>

#include "base/cksize.h"
#include "kern/norm/channel.h"
#include "kern/norm/mean.h"
#include "kern/norm/norm.h"
#include "kern/quant/convert.h"
#include "ops/shared/tiles.h"

typedef struct norm_attrs {
  float epsilon, alpha, beta, bias;
  int64_t size;
  ox_ints consumed_inputs;
} norm_attrs;

static const ox_attr_def instance_rows[] = {OX_ATTR_FLOAT(norm_attrs, epsilon, 1e-5f),
                                            OX_ATTR_INTS(norm_attrs, consumed_inputs)};
static const ox_attr_def lrn_rows[] = {OX_ATTR_FLOAT(norm_attrs, alpha, 0.0001f),
                                       OX_ATTR_FLOAT(norm_attrs, beta, 0.75f), OX_ATTR_FLOAT(norm_attrs, bias, 1.0f),
                                       OX_ATTR_INT_REQUIRED_IN(norm_attrs, size, 1, OX_COUNT_MAX)};

typedef struct norm_prep {
  int64_t planes, channels, n, per_tile; /* LRN: per_tile elements of a plane */
} norm_prep;

/* ---- InstanceNormalization ---- */
static ox_status *infer_instance(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  if (x->rank >= 0 && x->rank < 3) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted at least 3", x->rank);
  for (uint32_t i = 1; i < 3; i++) {
    const ox_shape *s = &c->in[i]->shape;
    if (s->rank < 0 || x->rank < 0) continue;
    if (s->rank != 1 || (s->dim[0] >= 0 && x->dim[1] >= 0 && s->dim[0] != x->dim[1]))
      return ox_fail(OX_SHAPE_MISMATCH, "input %u must have one element per channel", (unsigned)i);
  }
  return ox_infer_same_as_input(c);
}

static ox_status *prepare_instance(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  norm_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->planes = ox_shape_span(x, 0, 2), p->channels = x->dim[1], p->n = ox_shape_span(x, 2, x->rank);
  p->per_tile = OX_MAX(OX_TILE_CHEAP / OX_MAX(p->n, 1), 1);
  return ox_ctx_plan(c, p->n ? ox_tile_count(p->planes, p->per_tile) : 0, 0);
}

static void instance_f32(const ox_kernel_ctx *c, const norm_prep *p, int64_t plane, double scale, double bias) {
  const float *x = (const float *)c->in[0]->data + plane * p->n;
  size_t n = (size_t)p->n;
  ox_moments m = ox_norm_moments(ox_norm_select(c->isa), x, n);
  /* deviations are from the mean as a float; |off| is what that leaves */
  double off = m.mean - (double)(float)m.mean;
  double a = scale / sqrt(m.variance + (double)((const norm_attrs *)c->attrs)->epsilon);
  ox_channel_select(c->isa)->scale_shift((float *)c->out[0]->data + plane * p->n, x, (float)m.mean, (float)a,
                                         (float)(bias - off * a), n);
}

static void instance_any(const ox_kernel_ctx *c, const norm_prep *p, int64_t plane, double scale, double bias) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  double block[OX_CONVERT_BLOCK], a = 0;
  ox_mean mean = {0, 0};
  enum { HI, LO, VARIANCE, RESULT };
  for (int pass = HI; pass <= RESULT; pass++) {
    double sum = 0;
    for (int64_t i = 0; i < p->n; i += OX_CONVERT_BLOCK) {
      size_t n = (size_t)OX_MIN(p->n - i, OX_CONVERT_BLOCK), at = (size_t)(plane * p->n + i);
      cv->load_f64[t](c->in[0]->data, at, n, block);
      for (size_t j = 0; j < n; j++) {
        double d = ox_mean_deviation(block[j], mean);
        sum += pass == VARIANCE ? d * d : d;
        block[j] = a * d + bias;
      }
      if (pass == RESULT) cv->store_f64[t](block, c->out[0]->data, at, n, NULL);
    }
    if (pass == HI) mean.hi = sum / (double)p->n;
    if (pass == LO) mean.lo = ox_mean_low(sum, (double)p->n);
    a = scale / sqrt(sum / (double)p->n + (double)((const norm_attrs *)c->attrs)->epsilon);
  }
}

static ox_status *run_instance(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const norm_prep *p = c->prep;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  int64_t end = OX_MIN(tiles.end * p->per_tile, p->planes);
  for (int64_t i = tiles.begin * p->per_tile; i < end; i++) {
    double scale, bias;
    cv->load_f64[t](c->in[1]->data, (size_t)(i % p->channels), 1, &scale);
    cv->load_f64[t](c->in[2]->data, (size_t)(i % p->channels), 1, &bias);
    if (t == OX_F32)
      instance_f32(c, p, i, scale, bias);
    else
      instance_any(c, p, i, scale, bias);
  }
  return NULL;
}

/* ---- LRN ---- */
static ox_status *prepare_lrn(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  norm_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  if (x->rank < 2) return ox_fail(OX_INVALID_MODEL, "LRN: X has rank %d, wanted at least 2", x->rank);
  p->planes = ox_shape_span(x, 0, 2), p->channels = x->dim[1], p->n = ox_shape_span(x, 2, x->rank);
  p->per_tile = OX_CONVERT_BLOCK;
  return ox_ctx_plan(c, p->planes * ox_tile_count(p->n, p->per_tile), 0);
}

/* Elements [at, at + n) of one plane. */
static void lrn_block(const ox_kernel_ctx *c, const norm_prep *p, int64_t plane, int64_t at, size_t n) {
  const norm_attrs *a = c->attrs;
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_channel_variant *v = ox_channel_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  int64_t ch = plane % p->channels, before = (a->size - 1) / 2, after = a->size / 2;
  int64_t first = ch < before ? 0 : ch - before, last = after >= p->channels - ch ? p->channels - 1 : ch + after;
  float x[OX_CONVERT_BLOCK], sum[OX_CONVERT_BLOCK] = {0};
  double xd[OX_CONVERT_BLOCK], sd[OX_CONVERT_BLOCK] = {0};
  for (int64_t k = first; k <= last; k++) {
    size_t from = (size_t)((plane - ch + k) * p->n + at);
    if (t == OX_F64) {
      cv->load_f64[t](c->in[0]->data, from, n, xd);
      for (size_t i = 0; i < n; i++) sd[i] += xd[i] * xd[i];
    } else {
      cv->load_f32[t](c->in[0]->data, from, n, x);
      v->add_squares(sum, x, n);
    }
  }
  size_t from = (size_t)(plane * p->n + at);
  if (t == OX_F64) {
    cv->load_f64[t](c->in[0]->data, from, n, xd);
    for (size_t i = 0; i < n; i++)
      xd[i] *= pow((double)a->bias + (double)a->alpha / (double)a->size * sd[i], -(double)a->beta);
    cv->store_f64[t](xd, c->out[0]->data, from, n, NULL);
  } else {
    cv->load_f32[t](c->in[0]->data, from, n, x);
    v->response_norm(x, x, sum, a->alpha / (float)a->size, a->bias, -a->beta, n);
    cv->store_f32[t](x, c->out[0]->data, from, n, NULL);
  }
}

static ox_status *run_lrn(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const norm_prep *p = c->prep;
  int64_t blocks = ox_tile_count(p->n, p->per_tile);
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t at = t % blocks * p->per_tile;
    lrn_block(c, p, t / blocks, at, (size_t)OX_MIN(p->n - at, p->per_tile));
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "InstanceNormalization", .since = 1, .types = {OX_T_FLOAT}, .vars = "TTT", .min_in = 3,
               .max_in = 3, OX_ATTRS(instance_rows), .attrs_bytes = sizeof(norm_attrs), .infer = infer_instance),
     OX_KERNEL(.prepare = prepare_instance, .run = run_instance, .inplace = 1)},
    {OX_SCHEMA(.name = "LRN", .since = 1, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1, OX_ATTRS(lrn_rows),
               .attrs_bytes = sizeof(norm_attrs), .infer = ox_infer_same_as_input),
     OX_KERNEL(.prepare = prepare_lrn, .run = run_lrn)},
};
const ox_op_set ox_ops_plane_norm = {ops, OX_COUNT(ops)};
