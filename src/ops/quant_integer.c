/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_integer.c - com.microsoft's MulInteger, products of bytes less their zero points, ReduceSumInteger and
 * QLinearReduceMean, folds of bytes along axes. */
#include <math.h>

#include "kern/binary/broadcast.h"
#include "kern/quant/convert.h"
#include "kern/reduce/fold.h"
#include "ops/shared/check.h"
#include "ops/shared/qparam.h"
#include "ops/shared/tiles.h"

enum { BYTES = OX_BIT(OX_U8) | OX_BIT(OX_I8), BLOCK = 512 };

static int32_t byte_at(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
}

/* ---- MulInteger ---- */

enum { A, A_ZERO, B, B_ZERO };

static ox_status *mul_infer(ox_infer_ctx *c) {
  static const uint8_t operands[] = {A, B};
  ox_shape y;
  OX_TRY(ox_qparam_required(c, operands, OX_COUNT(operands)));
  OX_TRY(ox_shape_broadcast(&c->in[A]->shape, &c->in[B]->shape, &y));
  ox_infer_out(c, 0, OX_I32, &y);
  return NULL;
}

static ox_status *mul_prepare(ox_kernel_ctx *c) {
  static const uint8_t zeros[] = {A_ZERO, B_ZERO};
  ox_bcast *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  const ox_shape *shapes[] = {&c->in[A]->shape, &c->in[B]->shape};
  if (!p) return ox_oom();
  OX_TRY(ox_qparam_check(c, zeros, OX_COUNT(zeros)));
  ox_bcast_init(p, &c->out[0]->shape, 2, shapes);
  return ox_plan_elements(c, OX_TILE_CHEAP);
}

/* Elements [at, at + n) of operand |i|, less its zero point. */
static void operand(const ox_kernel_ctx *c, uint32_t i, int64_t at, int64_t n, int32_t *out) {
  uint8_t block[BLOCK];
  int32_t zero = ox_ctx_has(c, i + 1) ? byte_at(c->in[i + 1], 0) : 0;
  ox_bcast_gather(c->prep, i == A ? 0 : 1, c->in[i]->data, 1, at, n, block);
  for (int64_t k = 0; k < n; k++) out[k] = (c->in[i]->dtype == OX_I8 ? (int8_t)block[k] : block[k]) - zero;
}

static ox_status *mul_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  int32_t a[BLOCK], b[BLOCK];
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_CHEAP, ox_shape_count(&c->out[0]->shape), &begin, &end);
  for (int64_t at = begin; at < end; at += BLOCK) {
    int64_t n = OX_MIN(end - at, BLOCK);
    operand(c, A, at, n, a), operand(c, B, at, n, b);
    for (int64_t k = 0; k < n; k++) ((int32_t *)c->out[0]->data)[at + k] = a[k] * b[k];
  }
  return NULL;
}

/* ---- folds ---- */

typedef struct {
  ox_ints axes;
  int64_t keepdims;
} fold_attrs;
static const ox_attr_def fold_rows[] = {OX_ATTR_INTS_REQUIRED_IN(fold_attrs, axes, OX_AXIS_RANGE),
                                        OX_ATTR_INT_REQUIRED(fold_attrs, keepdims)};
enum { X, SCALE, ZERO, Y_SCALE, Y_ZERO, TILE = OX_FOLD_BATCH };

/* Which axes fold: those of the list, or all of an empty one. */
static ox_status *folded(const fold_attrs *a, int rank, bool *fold) {
  for (int d = 0; d < OX_MAX_RANK; d++) fold[d] = a->axes.n == 0;
  for (size_t i = 0; i < a->axes.n; i++) {
    int k;
    if (!ox_axis_ok(a->axes.v[i], rank, &k))
      return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)a->axes.v[i], rank);
    fold[k] = true;
  }
  return NULL;
}

static ox_status *infer_as(ox_infer_ctx *c, uint32_t dtype) {
  const fold_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape;
  bool fold[OX_MAX_RANK];
  ox_shape y = ox_shape_unknown();
  if (x->rank >= 0) {
    OX_TRY(folded(a, x->rank, fold));
    y.rank = 0;
    for (int d = 0; d < x->rank; d++)
      if (!fold[d] || a->keepdims) y.dim[y.rank++] = fold[d] ? 1 : x->dim[d];
  }
  ox_infer_out(c, 0, dtype, &y);
  return NULL;
}

static ox_status *sum_infer(ox_infer_ctx *c) { return infer_as(c, c->in[X]->dtype == OX_U8 ? OX_U32 : OX_I32); }
static ox_status *mean_infer(ox_infer_ctx *c) {
  static const uint8_t required[] = {X, SCALE, Y_SCALE};
  OX_TRY(ox_qparam_required(c, required, OX_COUNT(required)));
  return infer_as(c, c->in[X]->dtype);
}

static ox_status *fold_prepare(ox_kernel_ctx *c) {
  static const uint8_t scalars[] = {SCALE, ZERO, Y_SCALE, Y_ZERO};
  ox_fold_plan *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  bool fold[OX_MAX_RANK];
  if (!p) return ox_oom();
  OX_TRY(ox_qparam_check(c, scalars, OX_COUNT(scalars)));
  OX_TRY(folded(c->attrs, c->in[X]->shape.rank, fold));
  ox_fold_plan_init(p, &c->in[X]->shape, fold);
  return ox_ctx_plan(c, ox_tile_count(ox_shape_count(&c->out[0]->shape), TILE), 0);
}

/* Sums of the outputs of tile |t|; how many. */
static int64_t sums_of(const ox_kernel_ctx *c, int64_t t, ox_fold_acc *acc) {
  const ox_fold_plan *p = c->prep;
  ox_fold_job j = {p, c->in[X]->data, c->in[X]->dtype, c->isa};
  int64_t at = t * TILE, n = OX_MIN(ox_shape_count(&c->out[0]->shape) - at, TILE);
  if (p->length)
    ox_fold_run(&j, OX_FOLD_SUM, at, n, 0, p->length, NULL, acc);
  else
    for (int64_t k = 0; k < n; k++) acc[k].i = 0;
  return n;
}

static ox_status *sum_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  ox_fold_acc acc[TILE];
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t n = sums_of(c, t, acc);
    for (int64_t k = 0; k < n; k++) ((uint32_t *)c->out[0]->data)[t * TILE + k] = (uint32_t)acc[k].i;
  }
  return NULL;
}

/* A mean of nothing is NaN, which no byte is: the zero point stands for it. */
static ox_status *mean_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  uint32_t type = c->in[X]->dtype;
  ox_qparam from = ox_qparam_of(c, SCALE, ZERO, type), to = ox_qparam_of(c, Y_SCALE, Y_ZERO, type);
  int64_t length = ((const ox_fold_plan *)c->prep)->length;
  ox_fold_acc acc[TILE];
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t n = sums_of(c, t, acc);
    for (int64_t k = 0; k < n; k++) {
      double mean = length ? (double)acc[k].i / (double)length - from.zero : 0;
      ((uint8_t *)c->out[0]->data)[t * TILE + k] = ox_quantize_byte(to, (float)(mean * (double)from.scale));
    }
  }
  return NULL;
}

#define MS .domain = "com.microsoft", .since = 1
#define F32 OX_BIT(OX_F32)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MulInteger", MS, .types = {BYTES}, .vars = "TTTT", .min_in = 1, .max_in = 4,
               .infer = mul_infer),
     OX_KERNEL(.prepare = mul_prepare, .run = mul_run)},
    {OX_SCHEMA(.name = "ReduceSumInteger", MS, .types = {BYTES}, .min_in = 1, .max_in = 1, OX_ATTRS(fold_rows),
               .attrs_bytes = sizeof(fold_attrs), .infer = sum_infer),
     OX_KERNEL(.prepare = fold_prepare, .run = sum_run)},
    {OX_SCHEMA(.name = "QLinearReduceMean", MS, .types = {BYTES, F32, BYTES, F32, BYTES}, .vars = "T.T.T", .min_in = 2,
               .max_in = 5, OX_ATTRS(fold_rows), .attrs_bytes = sizeof(fold_attrs), .infer = mean_infer),
     OX_KERNEL(.prepare = fold_prepare, .run = mean_run)},
};
const ox_op_set ox_ops_quant_integer = {ops, OX_COUNT(ops)};
