/* SPDX-License-Identifier: Apache-2.0
 * ops/gates.c - com.microsoft's gates of recurrent and linear attention layers: ScaledSiLU, GatedAdd,
 * LinearAttentionGate. Computed in float, with the intermediate roundings of these operators. */
#include "kern/unary/unary.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

enum { FLOATS = OX_BIT(OX_F32) | OX_T_FLOAT16S, ROW_WORK = 8192 };

/* Rounds |x| to |dtype|. */
static void round_to(const ox_convert *cv, uint32_t dtype, float *x, size_t n) {
  uint16_t narrow[OX_CONVERT_BLOCK];
  if (dtype == OX_F32) return;
  cv->store_f32[dtype](x, narrow, 0, n, NULL);
  cv->load_f32[dtype](narrow, 0, n, x);
}

/* ---- ScaledSiLU: z sigmoid(z), z = scale x ---- */

typedef struct {
  float alpha;
} silu_attrs;
static const ox_attr_def silu_rows[] = {OX_ATTR_FLOAT(silu_attrs, alpha, 1)};

static ox_status *silu_infer(ox_infer_ctx *c) {
  if (ox_infer_has(c, 1)) {
    int64_t n = ox_shape_count(&c->in[1]->shape);
    if (n >= 0 && n != 1) return ox_fail(OX_SHAPE_MISMATCH, "ScaledSiLU: scale has %lld elements", (long long)n);
  }
  return ox_infer_same_as_input(c);
}

static ox_status *silu_prepare(ox_kernel_ctx *c) { return ox_plan_elements(c, OX_TILE_MATH); }

static ox_status *silu_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_convert *cv = ox_convert_select(c->isa);
  ox_unary_f32_fn *sigmoid = ox_unary_f32_select(c->isa)->fn[OX_UN_SIGMOID];
  uint32_t t = c->in[0]->dtype;
  float scale = ((const silu_attrs *)c->attrs)->alpha, z[OX_CONVERT_BLOCK], s[OX_CONVERT_BLOCK];
  if (ox_ctx_has(c, 1)) cv->load_f32[c->in[1]->dtype](c->in[1]->data, 0, 1, &scale);
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_MATH, ox_shape_count(&c->in[0]->shape), &begin, &end);
  for (int64_t at = begin; at < end; at += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - at, OX_CONVERT_BLOCK);
    cv->load_f32[t](c->in[0]->data, (size_t)at, n, z);
    for (size_t i = 0; i < n; i++) z[i] *= scale;
    round_to(cv, t, z, n);
    sigmoid(z, s, n, NULL);
    round_to(cv, t, s, n);
    for (size_t i = 0; i < n; i++) z[i] *= s[i];
    cv->store_f32[t](z, c->out[0]->data, (size_t)at, n, NULL);
  }
  return NULL;
}

/* ---- GatedAdd: x + y gate, a gate per row ---- */

static ox_status *add_infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  if (x->rank == 0) return ox_fail(OX_INVALID_MODEL, "GatedAdd: X has no dimensions");
  if (x->rank > 0) {
    ox_shape gate = *x;
    gate.dim[x->rank - 1] = 1;
    OX_TRY(ox_infer_shape_is(c, 1, x->rank, x->dim));
    OX_TRY(ox_infer_shape_is(c, 2, x->rank, gate.dim));
  }
  return ox_infer_same_as_input(c);
}

typedef struct {
  int64_t rows, n, per_tile;
} rows_prep;

static ox_status *rows_prepare(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  rows_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->rows = ox_shape_span(x, 0, x->rank - 1), p->n = x->dim[x->rank - 1];
  p->per_tile = OX_MAX(ROW_WORK / OX_MAX(p->n, 1), 1);
  return ox_ctx_plan(c, p->n ? ox_tile_count(p->rows, p->per_tile) : 0, 0);
}

static ox_status *add_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const rows_prep *p = c->prep;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  float x[OX_CONVERT_BLOCK], y[OX_CONVERT_BLOCK], gate;
  int64_t begin, end;
  ox_tile_span(tiles, p->per_tile, p->rows, &begin, &end);
  for (int64_t r = begin; r < end; r++) {
    cv->load_f32[t](c->in[2]->data, (size_t)r, 1, &gate);
    for (int64_t at = r * p->n; at < (r + 1) * p->n; at += OX_CONVERT_BLOCK) {
      size_t n = (size_t)OX_MIN((r + 1) * p->n - at, OX_CONVERT_BLOCK);
      cv->load_f32[t](c->in[0]->data, (size_t)at, n, x);
      cv->load_f32[t](c->in[1]->data, (size_t)at, n, y);
      for (size_t i = 0; i < n; i++) y[i] *= gate;
      round_to(cv, t, y, n);
      for (size_t i = 0; i < n; i++) x[i] += y[i];
      cv->store_f32[t](x, c->out[0]->data, (size_t)at, n, NULL);
    }
  }
  return NULL;
}

/* ---- LinearAttentionGate: decay = decay_scale softplus(a + dt_bias), beta = sigmoid(b) ---- */

enum { A, DT_BIAS, DECAY_SCALE, B };

static ox_status *decay_infer(ox_infer_ctx *c) {
  const ox_shape *a = &c->in[A]->shape;
  if (a->rank >= 0 && a->rank != 3) return ox_fail(OX_SHAPE_MISMATCH, "LinearAttentionGate: a has rank %d", a->rank);
  if (a->rank == 3) {
    OX_TRY(ox_infer_shape_is(c, DT_BIAS, 1, &a->dim[2]));
    OX_TRY(ox_infer_shape_is(c, DECAY_SCALE, 1, &a->dim[2]));
    OX_TRY(ox_infer_shape_is(c, B, 3, a->dim));
  }
  if (c->n_out > 1 && !ox_infer_has(c, B))
    return ox_fail(OX_INVALID_MODEL, "LinearAttentionGate: output beta needs input b");
  if (ox_infer_has(c, B) && c->in[B]->dtype && c->in[A]->dtype && c->in[B]->dtype != c->in[A]->dtype)
    return ox_fail(OX_INVALID_MODEL, "LinearAttentionGate: b is %s, a is %s", ox_dtype_name(c->in[B]->dtype),
                   ox_dtype_name(c->in[A]->dtype));
  ox_infer_out(c, 0, c->in[A]->dtype, a);
  ox_infer_out(c, 1, c->in[A]->dtype, a);
  return NULL;
}

static ox_status *decay_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const rows_prep *p = c->prep;
  const ox_convert *cv = ox_convert_select(c->isa);
  ox_unary_f32_fn *const *fn = ox_unary_f32_select(c->isa)->fn;
  const float *bias = c->in[DT_BIAS]->data, *scale = c->in[DECAY_SCALE]->data;
  uint32_t t = c->in[A]->dtype;
  float v[OX_CONVERT_BLOCK];
  int64_t begin, end;
  ox_tile_span(tiles, p->per_tile, p->rows, &begin, &end);
  for (int64_t r = begin; r < end; r++)
    for (int64_t h = 0; h < p->n; h += OX_CONVERT_BLOCK) {
      size_t n = (size_t)OX_MIN(p->n - h, OX_CONVERT_BLOCK), at = (size_t)(r * p->n + h);
      if (c->out[0]) {
        cv->load_f32[t](c->in[A]->data, at, n, v);
        for (size_t i = 0; i < n; i++) v[i] += bias[h + (int64_t)i];
        fn[OX_UN_SOFTPLUS](v, v, n, NULL);
        for (size_t i = 0; i < n; i++) v[i] *= scale[h + (int64_t)i];
        cv->store_f32[t](v, c->out[0]->data, at, n, NULL);
      }
      if (!ox_ctx_wants(c, 1)) continue;
      cv->load_f32[t](c->in[B]->data, at, n, v);
      fn[OX_UN_SIGMOID](v, v, n, NULL);
      cv->store_f32[t](v, c->out[1]->data, at, n, NULL);
    }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ScaledSiLU", .domain = "com.microsoft", .since = 1, .types = {FLOATS, FLOATS}, .min_in = 1,
               .max_in = 2, OX_ATTRS(silu_rows), .attrs_bytes = sizeof(silu_attrs), .infer = silu_infer),
     OX_KERNEL(.inplace = 1, .prepare = silu_prepare, .run = silu_run)},
    {OX_SCHEMA(.name = "GatedAdd", .domain = "com.microsoft", .since = 1, .types = {FLOATS}, .vars = "TTT", .min_in = 3,
               .max_in = 3, .infer = add_infer),
     OX_KERNEL(.inplace = 3, .prepare = rows_prepare, .run = add_run)},
    {OX_SCHEMA(.name = "LinearAttentionGate", .domain = "com.microsoft", .since = 1,
               .types = {FLOATS, OX_BIT(OX_F32), OX_BIT(OX_F32), FLOATS}, .vars = "T..T", .min_in = 3, .max_in = 4,
               .min_out = 1, .max_out = 2, .infer = decay_infer),
     OX_KERNEL(.inplace = 1, .prepare = rows_prepare, .run = decay_run)},
};
const ox_op_set ox_ops_gates = {ops, OX_COUNT(ops)};
