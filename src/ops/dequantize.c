/* SPDX-License-Identifier: Apache-2.0
 * ops/dequantize.c - DequantizeLinear: (x - zero point) * scale. */
#include <string.h>

#include "kern/binary/binary.h"
#include "kern/quant/quantize.h"
#include "ops/shared/check.h"
#include "ops/shared/scaled_run.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis, block_size, output_dtype;
} dequantize_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_IN(dequantize_attrs, axis, 1, OX_AXIS_RANGE),
    OX_ATTR_INT_IN(dequantize_attrs, block_size, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT(dequantize_attrs, output_dtype, 0),
};

enum {
  T_SCALE = OX_T_FLOAT | OX_BIT(OX_F8E8M0),
  T_QUANTIZED = OX_BIT(OX_U8) | OX_BIT(OX_I8) | OX_BIT(OX_U16) | OX_BIT(OX_I16) | OX_BIT(OX_I32) | OX_T_SUBBYTE |
                OX_T_FLOAT6 | (OX_T_FLOAT8 & ~OX_BIT(OX_F8E8M0))
};

static ox_status *infer(ox_infer_ctx *c) {
  const dequantize_attrs *a = c->attrs;
  uint32_t to = c->in[1]->dtype == OX_F8E8M0 ? OX_F32 : c->in[1]->dtype;
  if (a->output_dtype) {
    if (a->output_dtype < 0 || a->output_dtype >= OX_DTYPE_COUNT || !(OX_BIT(a->output_dtype) & OX_T_FLOAT))
      return ox_fail(OX_INVALID_MODEL, "attribute 'output_dtype': %lld is not a float type",
                     (long long)a->output_dtype);
    to = (uint32_t)a->output_dtype;
  }
  if (ox_infer_has(c, 2)) {
    if (c->in[0]->dtype && c->in[2]->dtype && c->in[0]->dtype != c->in[2]->dtype)
      return ox_fail(OX_INVALID_MODEL, "the zero point is %s, x is %s", ox_dtype_name(c->in[2]->dtype),
                     ox_dtype_name(c->in[0]->dtype));
  }
  OX_TRY(ox_scale_pair_check(c, a->axis, a->block_size));
  ox_infer_out(c, 0, to, &c->in[0]->shape);
  return NULL;
}

typedef struct {
  ox_scale_pair pair;
} dequantize_prep;

static ox_status *prepare(ox_kernel_ctx *c) {
  const dequantize_attrs *a = c->attrs;
  dequantize_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  ox_scale_pair_init(&p->pair, c, a->axis, a->block_size);
  c->prep = p;
  return ox_plan_elements(c, OX_TILE_MATH);
}

/* Double holds int32 minus int32, which is then rounded to float once. */
static void spread(const ox_convert *cv, const ox_tensor *t, const ox_scales *s, int64_t at, size_t n, double *out) {
  for (size_t i = 0; i < n;) {
    ox_segment g = ox_scales_at(s, at + (int64_t)i);
    size_t m = (size_t)OX_MIN(g.n, (int64_t)(n - i));
    cv->load_f64[t->dtype](t->data, (size_t)g.off, g.step ? m : 1, out + i);
    if (!g.step)
      for (size_t k = 1; k < m; k++) out[i + k] = out[i];
    i += m;
  }
}

/* |n| integers of 4 bits from an even element |at| on as bytes. All loops are of known length. */
enum { PAIRS = OX_CONVERT_BLOCK / 2 };

static void part_halves(const ox_tensor *x, int64_t at, size_t n, uint16_t *restrict pairs) {
  uint8_t joined[PAIRS] = {0}, *u = (uint8_t *)pairs;
  memcpy(joined, (const char *)x->data + at / 2, (n + 1) / 2);
  for (int i = 0; i < PAIRS; i++) pairs[i] = (uint16_t)((joined[i] & 15) | (joined[i] & 0xf0) << 4);
  if (x->dtype == OX_I4)
    for (int i = 0; i < 2 * PAIRS; i++) u[i] = (uint8_t)((u[i] ^ 8) - 8);
}

/* n integers from |at| on less a zero point, times a scale. Of 4 bits: up to OX_CONVERT_BLOCK, |at| even. */
static void widen(const ox_kernel_ctx *c, const ox_tensor *t, int64_t at, size_t n, float scale, int zero, float *y) {
  const ox_quantize_table *q = ox_quantize_select(c->isa);
  const void *x = t->data;
  uint16_t pairs[PAIRS];
  switch (t->dtype) {
    case OX_U4:
      part_halves(t, at, n, pairs);
      q->u8_f32((const uint8_t *)pairs, y, n, scale, zero);
      break;
    case OX_I4:
      part_halves(t, at, n, pairs);
      q->i8_f32((const int8_t *)pairs, y, n, scale, zero);
      break;
    case OX_U8:
      q->u8_f32((const uint8_t *)x + at, y, n, scale, zero);
      break;
    case OX_I8:
      q->i8_f32((const int8_t *)x + at, y, n, scale, zero);
      break;
    case OX_U16:
      q->u16_f32((const ox_u16u *)x + at, y, n, scale, zero);
      break;
    case OX_I32:
      q->i32_f32((const int32_t *)x + at, y, n, scale);
      break;
    default:
      q->i16_f32((const ox_i16u *)x + at, y, n, scale, zero);
  }
}

/* Elements with one scale each, as with blocks along an outer axis: n of them, whose scales begin at |scale_at|. */
static void beside(const ox_kernel_ctx *c, int64_t at, size_t n, int64_t scale_at) {
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_binary_table *b = ox_binary_select(c->isa);
  float x[OX_CONVERT_BLOCK], other[OX_CONVERT_BLOCK];
  widen(c, c->in[0], at, n, 1, 0, x);
  if (ox_ctx_has(c, 2)) {
    widen(c, c->in[2], scale_at, n, 1, 0, other);
    b->fn[OX_BIN_SUB][OX_F32](x, other, x, n, 0);
  }
  const float *scales = (const float *)c->in[1]->data + scale_at;
  if (c->in[1]->dtype != OX_F32)
    cv->load_f32[c->in[1]->dtype](c->in[1]->data, (size_t)scale_at, n, other), scales = other;
  bool floats = c->out[0]->dtype == OX_F32;
  b->fn[OX_BIN_MUL][OX_F32](x, scales, floats ? (float *)c->out[0]->data + at : x, n, 0);
  if (!floats) cv->store_f32[c->out[0]->dtype](x, c->out[0]->data, (size_t)at, n, NULL);
}

enum { REAL = OX_BIT(OX_F32) | OX_T_FLOAT16S };

static bool is_half(uint32_t dtype) { return dtype == OX_U4 || dtype == OX_I4; }

/* Can |segment| be used? For int32, the type of biases, only if zero points are missing or 0. */
static bool goes_fast(const ox_kernel_ctx *c) {
  if (!(OX_BIT(c->in[1]->dtype) & REAL) || !(OX_BIT(c->out[0]->dtype) & REAL)) return false;
  if (c->in[0]->dtype != OX_I32) return (OX_BIT(c->in[0]->dtype) & OX_T_QUANTIZED_FAST) != 0;
  int64_t n = ox_ctx_has(c, 2) ? ox_shape_count(&c->in[2]->shape) : 0;
  const int32_t *zeros = n ? c->in[2]->data : NULL;
  int32_t any = 0;
  for (int64_t i = 0; i < n; i++) any |= zeros[i];
  return any == 0;
}

/* Integers of 4 bits with one scale and zero point to a segment into floats. */
static void block_halves(const ox_kernel_ctx *c, const ox_convert *cv, int64_t at, size_t n) {
  const ox_quantize_table *q = ox_quantize_select(c->isa);
  const ox_scales *s = &((const dequantize_prep *)c->prep)->pair.scales;
  float *y = (float *)c->out[0]->data + at;
  uint16_t pairs[PAIRS];
  const uint8_t *u = (const uint8_t *)pairs;
  part_halves(c->in[0], at, n, pairs);
  for (size_t i = 0, m; i < n; i += m) {
    ox_segment g = ox_scales_at(s, at + (int64_t)i);
    float scale = ((const float *)c->in[1]->data)[g.off];
    int64_t zero = 0;
    m = (size_t)OX_MIN(g.n, (int64_t)(n - i));
    if (ox_ctx_has(c, 2)) cv->load_i64[c->in[2]->dtype](c->in[2]->data, (size_t)g.off, 1, &zero);
    if (c->in[0]->dtype == OX_I4)
      q->i8_f32((const int8_t *)u + i, y + i, m, scale, (int)zero);
    else
      q->u8_f32(u + i, y + i, m, scale, (int)zero);
  }
}

/* Can |beside| be used, where scales begin at |scale_at|? */
static bool goes_beside(const ox_kernel_ctx *c, int64_t scale_at) {
  if (!is_half(c->in[0]->dtype)) return c->in[0]->dtype != OX_I32 && goes_fast(c);
  bool real = (OX_BIT(c->in[1]->dtype) & REAL) && (OX_BIT(c->out[0]->dtype) & REAL);
  return real && !(ox_ctx_has(c, 2) && scale_at % 2);
}

static void block_any(const ox_kernel_ctx *c, const ox_convert *cv, int64_t at, size_t n) {
  const dequantize_prep *p = c->prep;
  ox_segment g = ox_scales_at(&p->pair.scales, at);
  if (g.step && g.n >= (int64_t)n && ox_scale_pair_is_beside(&p->pair) && goes_beside(c, g.off)) {
    beside(c, at, n, g.off);
    return;
  }
  double x[OX_CONVERT_BLOCK], s[OX_CONVERT_BLOCK], z[OX_CONVERT_BLOCK];
  cv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)at, n, x);
  spread(cv, c->in[1], &p->pair.scales, at, n, s);
  if (ox_ctx_has(c, 2)) {
    spread(cv, c->in[2], &p->pair.zeros, at, n, z);
    for (size_t i = 0; i < n; i++) x[i] -= z[i];
  }
  if (c->out[0]->dtype == OX_F64) {
    for (size_t i = 0; i < n; i++) ((double *)c->out[0]->data)[at + (int64_t)i] = x[i] * s[i];
    return;
  }
  float y[OX_CONVERT_BLOCK];
  for (size_t i = 0; i < n; i++) y[i] = (float)x[i] * (float)s[i];
  cv->store_f32[c->out[0]->dtype](y, c->out[0]->data, (size_t)at, n, NULL);
}

static int zero_at(const ox_kernel_ctx *c, int64_t at) {
  if (!ox_ctx_has(c, 2)) return 0;
  const void *z = c->in[2]->data;
  switch (c->in[2]->dtype) {
    case OX_U8:
      return ((const uint8_t *)z)[at];
    case OX_I8:
      return ((const int8_t *)z)[at];
    case OX_U16:
      return ((const ox_u16u *)z)[at];
    case OX_I16:
      return ((const ox_i16u *)z)[at];
    default:
      return 0;
  }
}

/* n elements of one scale and zero point from |at| on. */
static void segment(const ox_kernel_ctx *c, int64_t at, size_t n, int64_t scale_at) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t to = c->out[0]->dtype;
  int zero = zero_at(c, scale_at);
  float scale, block[OX_CONVERT_BLOCK];
  cv->load_f32[c->in[1]->dtype](c->in[1]->data, (size_t)scale_at, 1, &scale);
  if (to == OX_F32) {
    widen(c, c->in[0], at, n, scale, zero, (float *)c->out[0]->data + at);
    return;
  }
  for (size_t i = 0; i < n; i += OX_CONVERT_BLOCK) {
    size_t m = OX_MIN(n - i, (size_t)OX_CONVERT_BLOCK);
    widen(c, c->in[0], at + (int64_t)i, m, scale, zero, block);
    cv->store_f32[to](block, c->out[0]->data, (size_t)at + i, m, NULL);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const dequantize_prep *p = c->prep;
  bool floats = c->in[1]->dtype == OX_F32 && c->out[0]->dtype == OX_F32;
  bool halves =
      floats && is_half(c->in[0]->dtype) && ox_shape_count(&c->in[0]->shape) && ox_scale_pair_is_even(&p->pair);
  const ox_scaled_run r = {
      .pair = &p->pair, .fast = goes_fast(c), .segment = segment, .block = halves ? block_halves : block_any};
  ox_scaled_run_tiles(&r, c, tiles);
  return NULL;
}

#define DEQUANTIZE(dom, ver)                                                                                         \
  {                                                                                                                  \
    OX_SCHEMA(.name = "DequantizeLinear", .domain = dom, .since = ver, .types = {T_QUANTIZED, T_SCALE, T_QUANTIZED}, \
              .vars = "T.T", .min_in = 2, .max_in = 3, .attrs_bytes = sizeof(dequantize_attrs), OX_ATTRS(attrs),     \
              .traits = OX_FOLD_LATE, .infer = infer),                                                               \
        OX_KERNEL(.prepare = prepare, .run = run)                                                                    \
  }

static const ox_op ops[] = {
    DEQUANTIZE(NULL, 10),
    DEQUANTIZE("com.microsoft", 1),
};
const ox_op_set ox_ops_dequantize = {ops, OX_COUNT(ops)};
