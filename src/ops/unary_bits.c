/* SPDX-License-Identifier: Apache-2.0
 * ops/unary_bits.c - Not, BitwiseNot, IsNaN, IsInf, Identity, BitCast: operators of one input that look at bits. */
#include <math.h>
#include <string.h>

#include "graph/known.h"
#include "graph/tape.h"
#include "kern/binary/binary.h"
#include "kern/quant/convert.h"
#include "kern/unary/unary.h"
#include "ops/shared/tiles.h"

static ox_status *prepare(ox_kernel_ctx *c) { return ox_plan_elements(c, OX_TILE_CHEAP); }

/* ---- Not, BitwiseNot ---- */
static ox_status *run_not(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_tensor *x = c->in[0];
  int64_t begin, end;
  size_t bytes = ox_dtype_bits(x->dtype) / 8;
  ox_tile_span(tiles, OX_TILE_CHEAP, ox_shape_count(&x->shape), &begin, &end);
  const char *in = (const char *)x->data + (size_t)begin * bytes;
  char *out = (char *)c->out[0]->data + (size_t)begin * bytes;
  if (begin >= end) return NULL;
  const ox_unary_plain *u = ox_unary_plain_select(c->isa);
  (x->dtype == OX_BOOL ? u->logical_not : u->bitwise_not)(in, out, (size_t)(end - begin) * bytes);
  return NULL;
}

/* ---- IsNaN, IsInf ---- */
typedef struct {
  int64_t detect_negative, detect_positive;
} isinf_attrs;

static const ox_attr_def isinf_table[] = {
    OX_ATTR_INT(isinf_attrs, detect_negative, 1),
    OX_ATTR_INT(isinf_attrs, detect_positive, 1),
};

static ox_status *infer_bool(ox_infer_ctx *c) {
  ox_infer_out(c, 0, OX_BOOL, &c->in[0]->shape);
  return NULL;
}

/* |n| elements from |at| on as floats: in place or in |block|. Every type but double tests the same after widening. */
static const float *floats_at(const ox_kernel_ctx *c, int64_t at, size_t n, float *block) {
  const ox_tensor *x = c->in[0];
  if (x->dtype == OX_F32) return (const float *)x->data + at;
  ox_convert_select(c->isa)->load_f32[x->dtype](x->data, (size_t)at, n, block);
  return block;
}

/* |low|, |high|: whether these infinities count. Both are those without a sign: one comparison. */
static void isinf_f32(const ox_kernel_ctx *c, const float *x, size_t n, uint8_t *y, bool low, bool high) {
  static const float minus = -INFINITY, plus = INFINITY, none = NAN;
  static const uint32_t no_sign = 0x7fffffff, infinite = 0x7f800000;
  const ox_binary_table *b = ox_binary_select(c->isa);
  uint32_t size[OX_CONVERT_BLOCK];
  if (!low || !high) {
    b->fn[OX_BIN_EQ][OX_F32](x, low ? &minus : high ? &plus : &none, y, n, OX_BIN_B_SCALAR);
    return;
  }
  b->fn[OX_BIN_AND][OX_U32](x, &no_sign, size, n, OX_BIN_B_SCALAR);
  b->fn[OX_BIN_EQ][OX_U32](size, &infinite, y, n, OX_BIN_B_SCALAR);
}

/* Only NaN is unequal to itself. */
static ox_status *run_isnan(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  bool wide = c->in[0]->dtype == OX_F64;
  ox_binary_fn *equal = ox_binary_select(c->isa)->fn[OX_BIN_EQ][wide ? OX_F64 : OX_F32];
  int64_t begin, end;
  float block[OX_CONVERT_BLOCK];
  ox_tile_span(tiles, OX_TILE_CHEAP, ox_shape_count(&c->in[0]->shape), &begin, &end);
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    uint8_t *y = (uint8_t *)c->out[0]->data + i;
    const void *x = wide ? (const void *)((const double *)c->in[0]->data + i) : floats_at(c, i, n, block);
    equal(x, x, y, n, 0);
    ox_unary_plain_select(c->isa)->logical_not(y, y, n);
  }
  return NULL;
}

static ox_status *run_isinf(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const isinf_attrs *a = c->attrs;
  double low = a->detect_negative ? -INFINITY : NAN, high = a->detect_positive ? INFINITY : NAN;
  int64_t begin, end;
  float block[OX_CONVERT_BLOCK];
  ox_tile_span(tiles, OX_TILE_CHEAP, ox_shape_count(&c->in[0]->shape), &begin, &end);
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    uint8_t *y = (uint8_t *)c->out[0]->data + i;
    if (c->in[0]->dtype != OX_F64) {
      isinf_f32(c, floats_at(c, i, n, block), n, y, a->detect_negative != 0, a->detect_positive != 0);
      continue;
    }
    const double *x = (const double *)c->in[0]->data + i;
    for (size_t k = 0; k < n; k++) y[k] = (x[k] == low) | (x[k] == high);
  }
  return NULL;
}

/* ---- Identity, BitCast: the same bytes ---- */
typedef struct {
  int64_t to;
} bitcast_attrs;

static const ox_attr_def bitcast_table[] = {OX_ATTR_INT_REQUIRED(bitcast_attrs, to)};

static ox_status *infer_bitcast(ox_infer_ctx *c) {
  const bitcast_attrs *a = c->attrs;
  uint32_t from = c->in[0]->dtype, to = (uint32_t)a->to;
  if (a->to <= 0 || a->to >= OX_DTYPE_COUNT || to == OX_STRING)
    return ox_fail(OX_INVALID_MODEL, "attribute 'to': %lld is not an element type for BitCast", (long long)a->to);
  if (from != OX_UNDEFINED && ox_dtype_bits(from) != ox_dtype_bits(to))
    return ox_fail(OX_INVALID_MODEL, "%s has %u bits, %s has %u: BitCast needs the same", ox_dtype_name(from),
                   ox_dtype_bits(from), ox_dtype_name(to), ox_dtype_bits(to));
  ox_infer_out(c, 0, to, &c->in[0]->shape);
  return NULL;
}

static ox_status *run_copy(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  if (c->out[0]->bytes && c->out[0]->data != c->in[0]->data) memcpy(c->out[0]->data, c->in[0]->data, c->out[0]->bytes);
  return NULL;
}

enum { T_ISNAN = OX_T_FLOAT | OX_BIT(OX_F8E4M3FN) | OX_BIT(OX_F8E4M3FNUZ) | OX_BIT(OX_F8E5M2) | OX_BIT(OX_F8E5M2FNUZ) };

static const ox_known *known_same(const ox_known_ctx *c) { return c->in[0]; }

static ox_status *gradient_same(ox_tape *t, const ox_node *n, ox_id g) { return ox_tape_credit(t, n->in[0], g); }

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BitCast", .since = 26, .types = {OX_T_ALL & ~OX_BIT(OX_STRING)}, .min_in = 1, .max_in = 1,
               .attrs_bytes = sizeof(bitcast_attrs), OX_ATTRS(bitcast_table), .traits = OX_VIEW,
               .infer = infer_bitcast),
     OX_KERNEL(.run = run_copy)},
    {OX_SCHEMA(.name = "BitwiseNot", .since = 18, .types = {OX_T_INT}, .min_in = 1, .max_in = 1,
               .infer = ox_infer_same_as_input),
     OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run_not)},
    {OX_SCHEMA(.name = "Identity", .since = 1, .min_in = 1, .max_in = 1, .traits = OX_VIEW | OX_ANY_KIND,
               .infer = ox_infer_same_as_input, .known = known_same, .gradient = gradient_same),
     OX_KERNEL(.run = run_copy)},
    {OX_SCHEMA(.name = "SampleOp", .domain = "com.microsoft", .since = 1,
               .types = {OX_BIT(OX_F16) | OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_T_INDEX | OX_BIT(OX_U32) |
                         OX_BIT(OX_U64)},
               .min_in = 1, .max_in = 1, .traits = OX_VIEW, .infer = ox_infer_same_as_input, .known = known_same,
               .gradient = gradient_same),
     OX_KERNEL(.run = run_copy)},
    {OX_SCHEMA(.name = "IsInf", .since = 10, .types = {T_ISNAN}, .min_in = 1, .max_in = 1,
               .attrs_bytes = sizeof(isinf_attrs), OX_ATTRS(isinf_table), .infer = infer_bool),
     OX_KERNEL(.prepare = prepare, .run = run_isinf)},
    {OX_SCHEMA(.name = "IsNaN", .since = 9, .types = {T_ISNAN}, .min_in = 1, .max_in = 1, .infer = infer_bool),
     OX_KERNEL(.prepare = prepare, .run = run_isnan)},
    {OX_SCHEMA(.name = "Not", .since = 1, .types = {OX_BIT(OX_BOOL)}, .min_in = 1, .max_in = 1,
               .infer = ox_infer_same_as_input),
     OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run_not)},
};
const ox_op_set ox_ops_unary_bits = {ops, OX_COUNT(ops)};
