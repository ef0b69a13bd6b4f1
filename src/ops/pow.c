/* SPDX-License-Identifier: Apache-2.0
 * ops/pow.c - Pow: the result has the base's type, whatever the exponent's. Float bases compute in their own precision
 * (16-bit ones in float), integer bases with integer exponents exactly (wrapping), with float exponents in double. */
#include <math.h>

#include "kern/binary/binary.h"
#include "kern/binary/broadcast.h"
#include "kern/quant/convert.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis, broadcast;
  bool has_axis;
} pow_attrs;

static const ox_attr_def legacy_attrs[] = {
    OX_ATTR_INT_HAS_IN(pow_attrs, axis, 0, OX_AXIS_RANGE),
    OX_ATTR_INT(pow_attrs, broadcast, 0),
};

/* Y's shape: before version 7 it may stand at an axis of X, as if ones followed. */
static ox_status *exponent_shape(const pow_attrs *a, const ox_shape *x, const ox_shape *y, ox_shape *out) {
  int at, tail;
  *out = *y;
  if (!a || !a->broadcast || !a->has_axis || x->rank < 0 || y->rank <= 0) return NULL;
  if (!ox_axis_ok(a->axis, x->rank, &at) || (tail = x->rank - at - y->rank) < 0)
    return ox_fail(OX_SHAPE_MISMATCH, "axis %lld: %d dimensions do not fit into %d", (long long)a->axis, y->rank,
                   x->rank);
  for (int i = 0; i < tail; i++) out->dim[out->rank++] = 1;
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape y, s;
  OX_TRY(exponent_shape(c->attrs, &c->in[0]->shape, &c->in[1]->shape, &y));
  OX_TRY(ox_shape_broadcast(&c->in[0]->shape, &y, &s));
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

enum { TILE = 4096, BLOCK = 256 };

static ox_status *prepare(ox_kernel_ctx *c) {
  ox_shape y;
  ox_bcast *b = ox_ctx_alloc(c, sizeof *b);
  if (!b) return ox_oom();
  OX_TRY(exponent_shape(c->attrs, &c->in[0]->shape, &c->in[1]->shape, &y));
  ox_bcast_init(b, &c->out[0]->shape, 2, (const ox_shape *[]){&c->in[0]->shape, &y});
  c->prep = b;
  return ox_plan_elements(c, TILE);
}

/* A negative exponent gives the reciprocal, truncated: 0 but for the bases 1 and -1 (and 0 for base 0). */
static int64_t int_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  uint64_t r = 1, b = (uint64_t)base;
  for (; exponent; exponent >>= 1, b *= b)
    if (exponent & 1) r *= b;
  return (int64_t)r;
}

/* Operand |k|'s elements as they lie in memory, for outputs [at, at + n). */
static const void *spread(const ox_kernel_ctx *c, int k, int64_t at, int64_t n, void *spare) {
  const ox_bcast *b = c->prep;
  size_t size = ox_dtype_bits(c->in[k]->dtype) / 8;
  if (b->dense[k]) return (const char *)c->in[k]->data + (size_t)at * size;
  ox_bcast_gather(b, k, c->in[k]->data, size, at, n, spare);
  return spare;
}

static void block_f32(const ox_kernel_ctx *c, const ox_convert *cv, int64_t at, size_t n, unsigned scalar) {
  uint64_t spare[BLOCK];
  float x[BLOCK], y[BLOCK];
  uint32_t tx = c->in[0]->dtype, ty = c->in[1]->dtype;
  cv->load_f32[tx](spread(c, 0, at, (int64_t)n, spare), 0, n, x);
  if (scalar)
    cv->load_f32[ty](c->in[1]->data, 0, 1, y);
  else
    cv->load_f32[ty](spread(c, 1, at, (int64_t)n, spare), 0, n, y);
  ox_binary_select(c->isa)->fn[OX_BIN_POW][OX_F32](x, y, x, n, scalar);
  cv->store_f32[tx](x, c->out[0]->data, (size_t)at, n, NULL);
}

static void block_f64(const ox_kernel_ctx *c, const ox_convert *cv, int64_t at, size_t n, unsigned scalar) {
  uint64_t spare[BLOCK];
  double x[BLOCK], y[BLOCK];
  uint32_t tx = c->in[0]->dtype, ty = c->in[1]->dtype;
  cv->load_f64[tx](spread(c, 0, at, (int64_t)n, spare), 0, n, x);
  if (scalar)
    cv->load_f64[ty](c->in[1]->data, 0, 1, y);
  else
    cv->load_f64[ty](spread(c, 1, at, (int64_t)n, spare), 0, n, y);
  ox_binary_select(c->isa)->fn[OX_BIN_POW][OX_F64](x, y, x, n, scalar);
  cv->store_f64[tx](x, c->out[0]->data, (size_t)at, n, NULL);
}

/* One exponent for all: the usual ones without a loop over its bits. */
static void int_powers(int64_t *x, size_t n, int64_t exponent) {
  uint64_t *u = (uint64_t *)x;
  if (exponent == 2) {
    for (size_t i = 0; i < n; i++) u[i] *= u[i];
  } else if (exponent == 3) {
    for (size_t i = 0; i < n; i++) u[i] *= u[i] * u[i];
  } else {
    for (size_t i = 0; i < n; i++) x[i] = int_pow(x[i], exponent);
  }
}

static void block_int(const ox_kernel_ctx *c, const ox_convert *cv, int64_t at, size_t n, unsigned scalar) {
  uint64_t spare[BLOCK];
  int64_t x[BLOCK], y[BLOCK];
  uint32_t tx = c->in[0]->dtype, ty = c->in[1]->dtype;
  cv->load_i64[tx](spread(c, 0, at, (int64_t)n, spare), 0, n, x);
  if (scalar) {
    cv->load_i64[ty](c->in[1]->data, 0, 1, y);
    int_powers(x, n, y[0]);
  } else {
    cv->load_i64[ty](spread(c, 1, at, (int64_t)n, spare), 0, n, y);
    for (size_t i = 0; i < n; i++) x[i] = int_pow(x[i], y[i]);
  }
  cv->store_i64[tx](x, c->out[0]->data, (size_t)at, n, NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_bcast *b = c->prep;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t base = c->in[0]->dtype;
  bool int_base = !ox_dtype_is_float(base), int_exponent = !ox_dtype_is_float(c->in[1]->dtype);
  unsigned scalar = ox_shape_count(&c->in[1]->shape) == 1 ? OX_BIN_B_SCALAR : 0;
  int64_t begin, end;
  ox_tile_span(tiles, TILE, b->count, &begin, &end);
  if (base == OX_F32 && c->in[1]->dtype == OX_F32 && b->dense[0] && scalar) {
    if (begin < end)
      ox_binary_select(c->isa)->fn[OX_BIN_POW][OX_F32]((const float *)c->in[0]->data + begin, c->in[1]->data,
                                                       (float *)c->out[0]->data + begin, (size_t)(end - begin), scalar);
    return NULL;
  }
  for (int64_t at = begin; at < end; at += BLOCK) {
    size_t n = (size_t)OX_MIN(end - at, BLOCK);
    if (int_base && int_exponent)
      block_int(c, cv, at, n, scalar);
    else if (int_base || base == OX_F64)
      block_f64(c, cv, at, n, scalar);
    else
      block_f32(c, cv, at, n, scalar);
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Pow", .since = 1, .types = {OX_T_NUMBER}, .vars = "TT", .min_in = 2, .max_in = 2,
               .attrs_bytes = sizeof(pow_attrs), OX_ATTRS(legacy_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "Pow", .since = 7, .types = {OX_T_NUMBER, OX_T_NUMBER}, .min_in = 2, .max_in = 2,
               .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_pow = {ops, OX_COUNT(ops)};
