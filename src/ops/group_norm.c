/* SPDX-License-Identifier: Apache-2.0
 * ops/group_norm.c - GroupNormalization: moments per instance and group of channels. */
#include <math.h>

#include "kern/norm/channel.h"
#include "kern/norm/mean.h"
#include "kern/norm/norm.h"
#include "kern/quant/convert.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t num_groups;
  float epsilon;
} group_attrs;

static const ox_attr_def table[] = {
    OX_ATTR_INT_REQUIRED_IN(group_attrs, num_groups, 1, OX_COUNT_MAX),
    OX_ATTR_FLOAT(group_attrs, epsilon, 1e-5f),
};

static ox_status *infer(ox_infer_ctx *c) {
  const group_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  if (x->rank >= 0 && x->rank < 2) return ox_fail(OX_INVALID_MODEL, "wanted at least 2 dimensions, got %d", x->rank);
  if (x->rank >= 2 && x->dim[1] >= 0 && x->dim[1] % a->num_groups != 0)
    return ox_fail(OX_INVALID_MODEL, "%lld channels do not divide into %lld groups", (long long)x->dim[1],
                   (long long)a->num_groups);
  return ox_infer_same_as_input(c);
}

typedef struct {
  int64_t groups, channels, inner; /* all groups, channels of one, elements of a channel */
  bool per_group;                  /* scale and bias: one per group (version 18), not per channel */
} group_prep;

static ox_status *prepare(ox_kernel_ctx *c) {
  const group_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  group_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->channels = x->dim[1] / a->num_groups, p->inner = ox_shape_span(x, 2, x->rank);
  p->groups = p->channels > 0 && p->inner > 0 ? x->dim[0] * a->num_groups : 0;
  p->per_group = c->op_version < 21;
  int64_t want = p->per_group ? a->num_groups : x->dim[1];
  for (uint32_t i = 1; i < 3; i++) {
    int64_t got = ox_shape_count(&c->in[i]->shape);
    /* exporters wrote channels already under version 18 */
    if (got != want && got == x->dim[1]) p->per_group = false, want = got;
    if (got != want)
      return ox_fail(OX_SHAPE_MISMATCH, "input %u has %lld elements, wanted %lld", i, (long long)got, (long long)want);
  }
  c->prep = p;
  bool narrow = c->in[0]->dtype != OX_F32;
  return ox_ctx_plan(c, p->groups, narrow ? (size_t)(p->channels * p->inner) * sizeof(float) : 0);
}

static void group_f64(const ox_kernel_ctx *c, const group_prep *p, int64_t g) {
  const group_attrs *a = c->attrs;
  int64_t n = p->channels * p->inner, per = a->num_groups;
  const double *x = (const double *)c->in[0]->data + g * n;
  double *y = (double *)c->out[0]->data + g * n;
  ox_mean mean = ox_mean_f64(x, (size_t)n);
  double inverse = 1 / sqrt(ox_variance_f64(x, (size_t)n, mean) + (double)a->epsilon);
  const double *scale = c->in[1]->data, *bias = c->in[2]->data;
  for (int64_t ch = 0; ch < p->channels; ch++) {
    int64_t k = p->per_group ? g % per : g % per * p->channels + ch, at = ch * p->inner;
    ox_channel_select(c->isa)->scale_shift_f64(y + at, x + at, mean.hi, mean.lo, inverse * scale[k], bias[k],
                                               (size_t)p->inner);
  }
}

static void group_f32(const ox_kernel_ctx *c, const group_prep *p, int64_t g, float *own) {
  const group_attrs *a = c->attrs;
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_channel_variant *v = ox_channel_select(c->isa);
  uint32_t dtype = c->in[0]->dtype;
  size_t n = (size_t)(p->channels * p->inner), at = (size_t)g * n;
  const float *x = own;
  float *y = own;
  if (dtype == OX_F32)
    x = (const float *)c->in[0]->data + at, y = (float *)c->out[0]->data + at;
  else
    cv->load_f32[dtype](c->in[0]->data, at, n, own);
  ox_moments m = ox_norm_moments(ox_norm_select(c->isa), x, n);
  double off = m.mean - (double)(float)m.mean, inverse = 1 / sqrt(m.variance + (double)a->epsilon);
  for (int64_t ch = 0; ch < p->channels; ch++) {
    int64_t in_batch = g % a->num_groups, k = p->per_group ? in_batch : in_batch * p->channels + ch;
    double scale, bias;
    cv->load_f64[c->in[1]->dtype](c->in[1]->data, (size_t)k, 1, &scale);
    cv->load_f64[c->in[2]->dtype](c->in[2]->data, (size_t)k, 1, &bias);
    double factor = scale * inverse;
    v->scale_shift(y + ch * p->inner, x + ch * p->inner, (float)m.mean, (float)factor, (float)(bias - off * factor),
                   (size_t)p->inner);
  }
  if (dtype != OX_F32) cv->store_f32[dtype](own, c->out[0]->data, at, n, NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  for (int64_t g = tiles.begin; g < tiles.end; g++)
    if (c->in[0]->dtype == OX_F64)
      group_f64(c, c->prep, g);
    else
      group_f32(c, c->prep, g, scratch);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GroupNormalization", .since = 18, .types = {OX_T_FLOAT}, .vars = "TTT", .min_in = 3,
               .max_in = 3, .attrs_bytes = sizeof(group_attrs), OX_ATTRS(table), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_group_norm = {ops, OX_COUNT(ops)};
