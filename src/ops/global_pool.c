/* SPDX-License-Identifier: Apache-2.0
 * ops/global_pool.c - GlobalAveragePool, GlobalMaxPool, GlobalLpPool: a plane becomes one element. */
#include <math.h>

#include "kern/norm/channel.h"
#include "kern/quant/convert.h"
#include "ops/shared/tiles.h"

typedef enum { AVERAGE, LARGEST, LP } kind;
typedef struct {
  int64_t p;
  float p_float; /* version 1 */
} lp_attrs;
typedef struct {
  kind kind;
  int64_t planes, n, per_tile;
} prep;

static const ox_attr_def lp_rows[] = {OX_ATTR_INT_IN(lp_attrs, p, 2, 1, OX_COUNT_MAX)};
static const ox_attr_def lp1_rows[] = {
    OX_ATTR_ROW_(lp_attrs, p_float, "p", OX_ATTR_FLOAT_KIND, 0, OX_NO_FIELD, .f = 2)};

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape s = c->in[0]->shape;
  if (s.rank >= 0 && s.rank < 2) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted at least 2", s.rank);
  for (int i = 2; i < s.rank; i++) s.dim[i] = 1;
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c, kind k) {
  const ox_shape *x = &c->in[0]->shape;
  prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->kind = k, p->planes = ox_shape_span(x, 0, 2), p->n = ox_shape_span(x, 2, x->rank);
  p->per_tile = OX_MAX(OX_TILE_CHEAP / OX_MAX(p->n, 1), 1);
  return ox_ctx_plan(c, ox_tile_count(p->planes, p->per_tile), 0);
}
static ox_status *prepare_average(ox_kernel_ctx *c) { return prepare(c, AVERAGE); }
static ox_status *prepare_max(ox_kernel_ctx *c) { return prepare(c, LARGEST); }
static ox_status *prepare_lp(ox_kernel_ctx *c) { return prepare(c, LP); }

/* Any type, in double precision, a block at a time. */
static double plain(const ox_kernel_ctx *c, const prep *p, int64_t plane, double exponent) {
  const ox_convert *cv = ox_convert_select(c->isa);
  double block[OX_CONVERT_BLOCK], r = p->kind == LARGEST ? -INFINITY : 0;
  for (int64_t i = 0; i < p->n; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(p->n - i, OX_CONVERT_BLOCK);
    cv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)(plane * p->n + i), n, block);
    for (size_t j = 0; j < n; j++) {
      double v = block[j];
      if (p->kind == AVERAGE)
        r += v;
      else if (p->kind == LP)
        r += exponent == 2 ? v * v : pow(fabs(v), exponent);
      else if (v > r || isnan(v))
        r = v;
    }
  }
  return p->kind == AVERAGE ? r / (double)p->n : p->kind == LP ? pow(r, 1 / exponent) : r;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const prep *p = c->prep;
  const lp_attrs *a = c->attrs;
  double exponent = p->kind != LP ? 0 : c->op_version < 2 ? (double)a->p_float : (double)a->p;
  const ox_channel_variant *v = ox_channel_select(c->isa);
  int64_t end = OX_MIN(tiles.end * p->per_tile, p->planes);
  for (int64_t i = tiles.begin * p->per_tile; i < end; i++) {
    if (c->in[0]->dtype == OX_F32 && p->kind != LP) {
      const float *x = (const float *)c->in[0]->data + i * p->n;
      float r = p->kind == AVERAGE ? v->sum(x, (size_t)p->n) / (float)p->n : v->max(x, (size_t)p->n);
      ((float *)c->out[0]->data)[i] = r;
    } else {
      double r = plain(c, p, i, exponent);
      ox_convert_select(c->isa)->store_f64[c->in[0]->dtype](&r, c->out[0]->data, (size_t)i, 1, NULL);
    }
  }
  return NULL;
}

#define ROW .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1, .infer = infer
#define ROW_KERNEL .run = run
#define LP_ROW(rows) OX_ATTRS(rows), .attrs_bytes = sizeof(lp_attrs), ROW
#define LP_ROW_KERNEL .prepare = prepare_lp, ROW_KERNEL
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GlobalAveragePool", .since = 1, ROW), OX_KERNEL(.prepare = prepare_average, ROW_KERNEL)},
    {OX_SCHEMA(.name = "GlobalMaxPool", .since = 1, ROW), OX_KERNEL(.prepare = prepare_max, ROW_KERNEL)},
    {OX_SCHEMA(.name = "GlobalLpPool", .since = 1, LP_ROW(lp1_rows)), OX_KERNEL(LP_ROW_KERNEL)},
    {OX_SCHEMA(.name = "GlobalLpPool", .since = 2, LP_ROW(lp_rows)), OX_KERNEL(LP_ROW_KERNEL)},
};
const ox_op_set ox_ops_global_pool = {ops, OX_COUNT(ops)};
