/* SPDX-License-Identifier: Apache-2.0
 * ops/bias_fusions.c - com.microsoft's BiasAdd, BiasSplitGelu and BiasSoftmax: a bias row is added first. And
 * ComplexMul and ComplexMulConj, products of pairs. */
#include "kern/softmax/softmax.h"
#include "kern/unary/unary.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

enum { HALVES = OX_BIT(OX_F32) | OX_BIT(OX_F16), FLOATS = HALVES | OX_BIT(OX_F64), ROW_WORK = 16384 };

typedef struct rows_prep {
  int64_t rows, n, per_tile;
  int64_t bias_rows; /* BiasSoftmax */
  bool inner;        /* ... each of which serves consecutive rows */
} rows_prep;

static ox_status *book(ox_kernel_ctx *c, int64_t rows, int64_t n, size_t bytes_each) {
  rows_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t bytes;
  if (!p) return ox_oom();
  p->rows = rows, p->n = n, p->per_tile = OX_MAX(ROW_WORK / OX_MAX(n, 1), 1);
  if (!ox_mul_ok((size_t)n, bytes_each, &bytes)) return ox_fail(OX_LIMIT, "rows of %lld are too long", (long long)n);
  return ox_ctx_plan(c, n ? ox_tile_count(rows, p->per_tile) : 0, bytes);
}

/* ---- BiasAdd: x + bias + skip ---- */

static ox_status *add_infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  OX_TRY(ox_infer_shape_is(c, 0, 3, (int64_t[]){-1, -1, -1}));
  if (x->rank == 3) {
    OX_TRY(ox_infer_shape_is(c, 1, 1, x->dim + 2));
    OX_TRY(ox_infer_shape_is(c, 2, 3, x->dim));
  }
  return ox_infer_same_as_input(c);
}

static ox_status *add_prepare(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  return book(c, x->dim[0] * x->dim[1], x->dim[2], 3 * sizeof(float));
}

static ox_status *add_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const rows_prep *p = c->prep;
  float *spare = scratch;
  const float *bias = ox_as_float_in(c, 1, 0, p->n, spare + 2 * p->n);
  for (int64_t r = tiles.begin * p->per_tile; r < OX_MIN(tiles.end * p->per_tile, p->rows); r++) {
    const float *x = ox_as_float_in(c, 0, r * p->n, p->n, spare);
    const float *skip = ox_as_float_in(c, 2, r * p->n, p->n, spare + p->n);
    float *y = ox_as_float_out(c, 0, r * p->n, spare);
    for (int64_t i = 0; i < p->n; i++) y[i] = x[i] + bias[i] + skip[i];
    ox_as_float_done(c, 0, r * p->n, p->n, y);
  }
  return NULL;
}

/* ---- BiasSplitGelu: left half times gelu(right half) ---- */

static ox_status *split_infer(ox_infer_ctx *c) {
  uint32_t dtype = ox_infer_dtype_of(c, 0, 1);
  OX_TRY(ox_infer_shape_is(c, 0, 3, (int64_t[]){-1, -1, -1}));
  int64_t n = ox_infer_dim(c, 0, 2);
  OX_TRY(ox_infer_shape_is(c, 1, 1, &n));
  if (n >= 0 && n % 2) return ox_fail(OX_SHAPE_MISMATCH, "BiasSplitGelu: rows of %lld have no halves", (long long)n);
  ox_shape y = c->in[0]->shape;
  if (y.rank == 3) y.dim[2] = n < 0 ? -1 : n / 2;
  ox_infer_out(c, 0, dtype, &y);
  return NULL;
}

static ox_status *split_prepare(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  return book(c, x->dim[0] * x->dim[1], x->dim[2], 3 * sizeof(float));
}

static ox_status *split_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const rows_prep *p = c->prep;
  ox_unary_f32_fn *gelu = ox_unary_f32_select(c->isa)->fn[OX_UN_GELU];
  float *spare = scratch, *sum = spare + p->n;
  const float *bias = ox_as_float_in(c, 1, 0, p->n, spare + 2 * p->n);
  int64_t half = p->n / 2;
  for (int64_t r = tiles.begin * p->per_tile; r < OX_MIN(tiles.end * p->per_tile, p->rows); r++) {
    const float *x = ox_as_float_in(c, 0, r * p->n, p->n, spare);
    float *y = ox_as_float_out(c, 0, r * half, spare);
    for (int64_t i = 0; i < p->n; i++) sum[i] = x[i] + bias[i];
    gelu(sum + half, sum + half, (size_t)half, NULL);
    for (int64_t i = 0; i < half; i++) y[i] = sum[i] * sum[half + i];
    ox_as_float_done(c, 0, r * half, half, y);
  }
  return NULL;
}

/* ---- BiasSoftmax: over everything from the axis on ---- */

typedef struct softmax_attrs {
  int64_t axis, is_inner_broadcast;
} softmax_attrs;
static const ox_attr_def softmax_rows[] = {OX_ATTR_INT_IN(softmax_attrs, axis, 1, OX_AXIS_RANGE),
                                           OX_ATTR_INT_REQUIRED(softmax_attrs, is_inner_broadcast)};

/* The rows' length; how many rows there are, and how many the bias has. */
static ox_status *softmax_shape(const softmax_attrs *a, const ox_shape *x, const ox_shape *bias, int64_t *n,
                                int64_t *rows, int64_t *bias_rows) {
  int k;
  if (!ox_axis_ok(a->axis, x->rank, &k))
    return ox_fail(OX_INVALID_MODEL, "BiasSoftmax: axis %lld is outside rank %d", (long long)a->axis, x->rank);
  *n = ox_shape_span(x, k, x->rank), *rows = ox_shape_span(x, 0, k);
  int64_t count = ox_shape_count(bias);
  *bias_rows = *n > 0 && count >= 0 ? count / *n : -1;
  if (*bias_rows < 0 || *rows < 0 || *rows == 0) return NULL;
  if (count % *n || *bias_rows == 0 || *rows % *bias_rows) {
    char tx[OX_SHAPE_TEXT], tb[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "BiasSoftmax: a bias of shape %s does not fit the rows of %s",
                   ox_shape_text(bias, tb), ox_shape_text(x, tx));
  }
  return NULL;
}

static ox_status *softmax_infer(ox_infer_ctx *c) {
  int64_t n, rows, bias_rows;
  if (c->in[0]->shape.rank >= 0)
    OX_TRY(softmax_shape(c->attrs, &c->in[0]->shape, &c->in[1]->shape, &n, &rows, &bias_rows));
  return ox_infer_same_as_input(c);
}

static ox_status *softmax_prepare(ox_kernel_ctx *c) {
  const softmax_attrs *a = c->attrs;
  int64_t n, rows, bias_rows;
  OX_TRY(softmax_shape(a, &c->in[0]->shape, &c->in[1]->shape, &n, &rows, &bias_rows));
  OX_TRY(book(c, rows, n, 2 * sizeof(double)));
  rows_prep *p = c->prep;
  p->bias_rows = bias_rows, p->inner = a->is_inner_broadcast != 0;
  return NULL;
}

static ox_status *softmax_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const rows_prep *p = c->prep;
  ox_stop stop = ox_ctx_stop(c);
  size_t n = (size_t)p->n;
  for (int64_t r = tiles.begin * p->per_tile; r < OX_MIN(tiles.end * p->per_tile, p->rows); r++) {
    int64_t b = p->inner ? r / (p->rows / p->bias_rows) : r % p->bias_rows;
    if (c->in[0]->dtype == OX_F64) {
      const double *x = (const double *)c->in[0]->data + r * p->n, *bias = (const double *)c->in[1]->data + b * p->n;
      double *sum = scratch;
      for (size_t i = 0; i < n; i++) sum[i] = x[i] + bias[i];
      ox_softmax_f64_select(c->isa)->row(sum, (double *)c->out[0]->data + r * p->n, n, false, &stop);
      continue;
    }
    float *spare = scratch, *y = ox_as_float_out(c, 0, r * p->n, spare);
    const float *x = ox_as_float_in(c, 0, r * p->n, p->n, spare);
    const float *bias = ox_as_float_in(c, 1, b * p->n, p->n, spare + n);
    for (size_t i = 0; i < n; i++) y[i] = x[i] + bias[i];
    ox_softmax_select(c->isa)->row(y, y, n);
    ox_as_float_done(c, 0, r * p->n, p->n, y);
  }
  return NULL;
}

#define MS .domain = "com.microsoft", .since = 1
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BiasAdd", MS, .types = {HALVES}, .vars = "TTT", .min_in = 3, .max_in = 3, .infer = add_infer),
     OX_KERNEL(.inplace = 5, .prepare = add_prepare, .run = add_run)},
    {OX_SCHEMA(.name = "BiasSplitGelu", MS, .types = {HALVES}, .vars = "TT", .min_in = 2, .max_in = 2,
               .infer = split_infer),
     OX_KERNEL(.prepare = split_prepare, .run = split_run)},
    {OX_SCHEMA(.name = "BiasSoftmax", MS, .types = {FLOATS}, .vars = "TT", .min_in = 2, .max_in = 2,
               OX_ATTRS(softmax_rows), .attrs_bytes = sizeof(softmax_attrs), .infer = softmax_infer),
     OX_KERNEL(.inplace = 1, .prepare = softmax_prepare, .run = softmax_run)},
};
const ox_op_set ox_ops_bias_fusions = {ops, OX_COUNT(ops)};
