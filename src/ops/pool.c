/* SPDX-License-Identifier: Apache-2.0
 * ops/pool.c - MaxPool, AveragePool, LpPool. Float32 of up to three axes without indices runs axis by axis, and
 * with very long lines on the tiles of the depthwise convolution; bytes on vectors of their own; everything else in
 * double precision, plane by plane. */
#include "base/cksize.h"
#include "kern/pool/max_pool_i8.h"
#include "kern/pool/planes.h"
#include "kern/quant/convert.h"
#include "ops/shared/pool_node.h"

static const ox_attr_def max_attrs[] = {OX_POOL_ATTR_ROWS, OX_ATTR_INT(ox_pool_attrs, storage_order, 0)};
static const ox_attr_def average_attrs[] = {OX_POOL_ATTR_ROWS, OX_ATTR_INT(ox_pool_attrs, count_include_pad, 0)};
static const ox_attr_def lp_attrs[] = {OX_POOL_ATTR_ROWS, OX_ATTR_INT_IN(ox_pool_attrs, p, 2, 1, OX_COUNT_MAX)};
static const ox_attr_def lp1_attrs[] = {
    OX_POOL_ATTR_ROWS, OX_ATTR_ROW_(ox_pool_attrs, p_float, "p", OX_ATTR_FLOAT_KIND, 0, OX_NO_FIELD, .f = 2)};

typedef struct pool_prep {
  ox_pool pool;
  bool by_axis, fast, bytes;
  ox_planes axes;
  ox_conv_plan plan;
  int64_t out[OX_CONV_AXES];
  float *ones;                  /* AVERAGE, fast: the weights */
  float *inverse[OX_CONV_AXES]; /* ... and 1 / count by coordinate */
  int64_t planes, in_n, out_n, per_tile;
} pool_prep;

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape y;
  OX_TRY(ox_pool_infer_shape(c->attrs, &c->in[0]->shape, &y));
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  ox_infer_out(c, 1, OX_I64, &y);
  return NULL;
}

/* A tile is several rows of outputs, across planes, or, where an output is a whole plane, several outputs. */
static ox_status *prepare_axes(ox_kernel_ctx *c, pool_prep *p) {
  ox_planes_reach *table = ox_ctx_alloc(c, (size_t)ox_planes_table_count(&p->pool) * sizeof *table);
  if (!table) return ox_oom();
  ox_planes *axes = &p->axes;
  ox_planes_init(axes, &p->pool, table);
  if (axes->average) OX_TRY(ox_pool_inverse(c, &p->pool, p->inverse));
  for (int i = 0; i < OX_PLANES_AXES; i++) axes->inverse[i] = p->inverse[i];
  p->by_axis = true, c->form = axes->whole ? "whole planes" : "axis by axis";
  int64_t rows = axes->whole ? p->planes : p->planes * axes->out[0] * axes->out[1];
  int64_t cost = axes->whole ? p->in_n : OX_MAX(axes->line, axes->out[2]);
  p->per_tile = OX_MAX(32768 / OX_MAX(cost, 1), 1);
  return ox_ctx_plan(c, OX_CEIL_DIV(rows, p->per_tile), ox_planes_scratch(axes));
}

/* Up to three axes, by the depthwise tiles of kern/conv. */
static ox_status *prepare_fast(ox_kernel_ctx *c, pool_prep *p) {
  const ox_pool *pool = &p->pool;
  const ox_conv_variant *v = ox_conv_select(c->isa);
  ox_conv_geom g;
  OX_TRY(ox_pool_taps(c, pool, p->planes, &g, p->inverse));
  int64_t taps_all = g.n_taps[0] * g.n_taps[1] * g.n_taps[2];
  for (int i = 0; i < OX_CONV_AXES; i++) p->out[i] = g.out[i];
  p->fast = pool->kind == OX_POOL_MAX ? ox_conv_plan_max(&p->plan, &g, v)
                                      : ox_conv_plan_init(&p->plan, &g, &(ox_act){OX_ACT_NONE, 0, 0}, v);
  if (!p->fast) return NULL;
  void *tables = ox_ctx_alloc(c, p->plan.table_bytes + 1);
  p->ones = ox_ctx_alloc(c, (size_t)taps_all * sizeof(float));
  if (!tables || !p->ones) return ox_oom();
  for (int64_t t = 0; t < taps_all; t++) p->ones[t] = 1;
  ox_conv_plan_tables(&p->plan, tables);
  p->plan.planes.one_filter = true, c->form = ox_conv_form(&p->plan);
  OX_TRY(ox_ctx_plan(c, p->plan.n_tiles[0], p->plan.scratch_bytes));
  if (pool->kind == OX_POOL_AVERAGE) { /* a second pass divides */
    p->per_tile = OX_MAX(16384 / OX_MAX(p->out_n, 1), 1);
    c->n_stages = 2, c->n_tiles[1] = p->out_n ? OX_CEIL_DIV(p->planes, p->per_tile) : 0;
  }
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c, ox_pool_kind kind) {
  const ox_pool_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape, *y = &c->out[0]->shape;
  pool_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  ox_pool *pool = &p->pool;
  OX_TRY(ox_pool_make(a, kind, x, y, pool));
  if (c->op_version < 2) pool->p = (double)a->p_float;
  p->planes = ox_shape_span(x, 0, 2), p->in_n = ox_shape_span(x, 2, x->rank), p->out_n = ox_shape_span(y, 2, y->rank);
  bool plain = kind == OX_POOL_LP || ox_ctx_wants(c, 1) || c->in[0]->dtype != OX_F32;
  if (!plain && ox_planes_fits(pool)) return prepare_axes(c, p);
  if (!plain && ox_pool_has_taps(pool)) OX_TRY(prepare_fast(c, p));
  if (p->fast) return NULL;
  p->bytes = (c->in[0]->dtype == OX_U8 || c->in[0]->dtype == OX_I8) && !ox_ctx_wants(c, 1) && ox_max_pool_i8_fits(pool);
  c->form = p->bytes ? "8-bit maxima" : "planes in double";
  if (p->bytes) {
    p->per_tile = OX_MAX(65536 / OX_MAX(p->out_n, 1), 1);
    return ox_ctx_plan(c, OX_CEIL_DIV(p->planes, p->per_tile), ox_max_pool_i8_scratch(pool));
  }
  size_t bytes;
  if (!ox_mul_ok((size_t)p->in_n + (size_t)p->out_n, sizeof(double), &bytes))
    return ox_fail(OX_LIMIT, "pool: too large");
  p->per_tile = OX_MAX(4096 / OX_MAX(p->out_n, 1), 1);
  return ox_ctx_plan(c, p->out_n ? OX_CEIL_DIV(p->planes, p->per_tile) : 0, bytes);
}

static ox_status *prepare_max(ox_kernel_ctx *c) { return prepare(c, OX_POOL_MAX); }
static ox_status *prepare_average(ox_kernel_ctx *c) { return prepare(c, OX_POOL_AVERAGE); }
static ox_status *prepare_lp(ox_kernel_ctx *c) { return prepare(c, OX_POOL_LP); }

/* Sums to averages: 1 / count is a product over the axes. */
static void divide(const pool_prep *p, float *y, int64_t begin, int64_t end) {
  const int64_t *out = p->out; /* not the plan's, which may have moved axes */
  y += begin * p->out_n;
  for (int64_t plane = begin; plane < end; plane++)
    for (int64_t row = 0; row < out[0] * out[1]; row++, y += out[2]) {
      float f = p->inverse[0][row / out[1]] * p->inverse[1][row % out[1]];
      for (int64_t i = 0; i < out[2]; i++) y[i] *= f * p->inverse[2][i];
    }
}

/* Elements of a plane between two checks for a stop. */
enum { PIECE = 1 << 14 };

static void run_plain(const ox_kernel_ctx *c, const pool_prep *p, ox_range tiles, double *x) {
  const ox_convert *cv = ox_convert_select(c->isa);
  ox_stop stop = ox_ctx_stop(c);
  uint32_t dtype = c->in[0]->dtype;
  double *y = x + p->in_n;
  int64_t *index = ox_ctx_wants(c, 1) ? c->out[1]->data : NULL;
  int64_t end = OX_MIN(tiles.end * p->per_tile, p->planes);
  for (int64_t i = tiles.begin * p->per_tile; i < end; i++) {
    int64_t *at = index ? index + i * p->out_n : NULL;
    for (int64_t j = 0; j < p->in_n && !(j && ox_ctx_stopped(c)); j += PIECE)
      cv->load_f64[dtype](c->in[0]->data, (size_t)(i * p->in_n + j), (size_t)OX_MIN(PIECE, p->in_n - j), x + j);
    ox_pool_plane(&p->pool, x, y, at, &stop);
    for (int64_t j = 0; at && j < p->out_n && !ox_ctx_stopped_each(c, j, PIECE); j++)
      if (at[j] >= 0) at[j] += i * p->in_n; /* indices count from the start of X */
    for (int64_t j = 0; c->out[0] && j < p->out_n && !(j && ox_ctx_stopped(c)); j += PIECE)
      cv->store_f64[dtype](y + j, c->out[0]->data, (size_t)(i * p->out_n + j), (size_t)OX_MIN(PIECE, p->out_n - j),
                           NULL);
  }
}

static void run_axes(const ox_kernel_ctx *c, const pool_prep *p, ox_range tiles, void *scratch) {
  const ox_planes_variant *v = ox_planes_select(c->isa);
  const ox_planes *axes = &p->axes;
  int64_t rows = axes->whole ? p->planes : p->planes * axes->out[0] * axes->out[1];
  int64_t begin = tiles.begin * p->per_tile, end = OX_MIN(tiles.end * p->per_tile, rows);
  if (axes->whole)
    v->whole(axes, c->in[0]->data, c->out[0]->data, begin, end);
  else
    v->rows(axes, c->in[0]->data, c->out[0]->data, begin, end, scratch);
}

static void run_bytes(const ox_kernel_ctx *c, const pool_prep *p, ox_range tiles, void *scratch) {
  int64_t end = OX_MIN(tiles.end * p->per_tile, p->planes);
  for (int64_t i = tiles.begin * p->per_tile; i < end; i++)
    ox_max_pool_i8(&p->pool, c->in[0]->dtype == OX_I8, (const uint8_t *)c->in[0]->data + i * p->in_n,
                   (uint8_t *)c->out[0]->data + i * p->out_n, scratch);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const pool_prep *p = c->prep;
  if (p->by_axis) {
    run_axes(c, p, tiles, scratch);
  } else if (p->bytes) {
    run_bytes(c, p, tiles, scratch);
  } else if (!p->fast) {
    run_plain(c, p, tiles, scratch);
  } else if (stage == 0) {
    ox_conv_args a = {.x = c->in[0]->data, .w = p->ones, .y = c->out[0]->data};
    ox_conv_run(&p->plan, &a, 0, tiles.begin, tiles.end, scratch);
  } else {
    divide(p, c->out[0]->data, tiles.begin * p->per_tile, OX_MIN(tiles.end * p->per_tile, p->planes));
  }
  return NULL;
}

#define POOL_ROW(table)                                                                             \
  .types = {OX_T_FLOAT | OX_BIT(OX_I8) | OX_BIT(OX_U8)}, .min_in = 1, .max_in = 1, OX_ATTRS(table), \
  .attrs_bytes = sizeof(ox_pool_attrs), .infer = infer
#define POOL_ROW_KERNEL .run = run
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MaxPool", .since = 1, .min_out = 1, .max_out = 2, POOL_ROW(max_attrs)),
     OX_KERNEL(.prepare = prepare_max, POOL_ROW_KERNEL)},
    {OX_SCHEMA(.name = "AveragePool", .since = 1, POOL_ROW(average_attrs)),
     OX_KERNEL(.prepare = prepare_average, POOL_ROW_KERNEL)},
    {OX_SCHEMA(.name = "LpPool", .since = 1, POOL_ROW(lp1_attrs)), OX_KERNEL(.prepare = prepare_lp, POOL_ROW_KERNEL)},
    {OX_SCHEMA(.name = "LpPool", .since = 2, POOL_ROW(lp_attrs)), OX_KERNEL(.prepare = prepare_lp, POOL_ROW_KERNEL)},
};
const ox_op_set ox_ops_pool = {ops, OX_COUNT(ops)};
