/* SPDX-License-Identifier: Apache-2.0
 * ops/quantize.c - QuantizeLinear and DynamicQuantizeLinear. */
#include <math.h>
#include <string.h>

#include "kern/quant/quantize.h"
#include "ops/shared/check.h"
#include "ops/shared/scaled_run.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis, saturate, block_size, output_dtype, precision;
} quantize_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_IN(quantize_attrs, axis, 1, OX_AXIS_RANGE),
    OX_ATTR_INT(quantize_attrs, saturate, 1),
    OX_ATTR_INT_IN(quantize_attrs, block_size, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT(quantize_attrs, output_dtype, 0),
    OX_ATTR_INT(quantize_attrs, precision, 0),
};

enum {
  T_REAL = OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_T_FLOAT16S | OX_BIT(OX_I32),
  T_SCALE = T_REAL | OX_BIT(OX_F8E8M0),
  T_QUANTIZED = OX_BIT(OX_U8) | OX_BIT(OX_I8) | OX_BIT(OX_U16) | OX_BIT(OX_I16) | OX_T_SUBBYTE | OX_T_FLOAT6 |
                (OX_T_FLOAT8 & ~OX_BIT(OX_F8E8M0))
};

static ox_status *infer(ox_infer_ctx *c) {
  const quantize_attrs *a = c->attrs;
  uint32_t to = OX_U8;
  if (a->output_dtype) {
    if (a->output_dtype < 0 || a->output_dtype >= OX_DTYPE_COUNT || !(OX_BIT(a->output_dtype) & T_QUANTIZED))
      return ox_fail(OX_INVALID_MODEL, "attribute 'output_dtype': %lld is not a quantized type",
                     (long long)a->output_dtype);
    to = (uint32_t)a->output_dtype;
  }
  if (ox_infer_has(c, 2)) {
    if (a->output_dtype && c->in[2]->dtype && c->in[2]->dtype != to)
      return ox_fail(OX_INVALID_MODEL, "attribute 'output_dtype' says %s, the zero point is %s", ox_dtype_name(to),
                     ox_dtype_name(c->in[2]->dtype));
    to = c->in[2]->dtype;
  }
  OX_TRY(ox_scale_pair_check(c, a->axis, a->block_size));
  ox_infer_out(c, 0, to, &c->in[0]->shape);
  return NULL;
}

typedef struct {
  ox_scale_pair pair;
  uint32_t precision; /* of the quotient */
  float low, high;    /* of an integer target */
  bool integer;
} quantize_prep;

static void limits_of(uint32_t dtype, float *low, float *high) {
  unsigned bits = ox_dtype_bits(dtype);
  bool is_signed = ox_dtype_is_signed(dtype);
  *low = is_signed ? -(float)(1u << (bits - 1)) : 0.0f;
  *high = is_signed ? (float)((1u << (bits - 1)) - 1) : (float)((1u << bits) - 1);
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const quantize_attrs *a = c->attrs;
  quantize_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  ox_scale_pair_init(&p->pair, c, a->axis, a->block_size);
  /* from version 23 on the quotient has the scale's precision; before, all runtimes divided in float */
  p->precision = c->op_version < 23 ? OX_F32 : c->in[1]->dtype;
  if (a->precision > 0 && a->precision < OX_DTYPE_COUNT) p->precision = (uint32_t)a->precision;
  p->integer = !ox_dtype_is_float(c->out[0]->dtype);
  if (p->integer) limits_of(c->out[0]->dtype, &p->low, &p->high);
  c->prep = p;
  return ox_plan_elements(c, OX_TILE_MATH);
}

/* What one block needs: scales and zero points beside each element. */
static void spread(const ox_convert *cv, const ox_tensor *t, const ox_scales *s, int64_t at, size_t n, float *out) {
  for (size_t i = 0; i < n;) {
    ox_segment g = ox_scales_at(s, at + (int64_t)i);
    size_t m = (size_t)OX_MIN(g.n, (int64_t)(n - i));
    cv->load_f32[t->dtype](t->data, (size_t)g.off, g.step ? m : 1, out + i);
    if (!g.step)
      for (size_t k = 1; k < m; k++) out[i + k] = out[i];
    i += m;
  }
}

/* Loops over pieces of known length, which compilers turn into vectors. */
enum { PIECE = 16 };

static void divide(float *restrict x, const float *restrict s, size_t n) {
  for (; n >= PIECE; n -= PIECE, x += PIECE, s += PIECE)
    for (int i = 0; i < PIECE; i++) x[i] /= s[i];
  for (size_t i = 0; i < n; i++) x[i] /= s[i];
}

/* rint(x) + zero within the bounds. Bounds and zero points are far below |far|, where adding |round| rounds; NaN
 * becomes the low end. */
static inline float settled(float x, float zero, float low, float high) {
  const float far = 0x1p20f, round = 0x1.8p23f;
  float q = x > -far ? x : -far;
  q = q < far ? q : far;
  q = (q + round) - round + zero;
  q = q > low ? q : low;
  return q < high ? q : high;
}

static void settle_all(float *restrict x, const float *restrict zero, size_t n, float low, float high) {
  for (; n >= PIECE; n -= PIECE, x += PIECE, zero += PIECE)
    for (int i = 0; i < PIECE; i++) x[i] = settled(x[i], zero[i], low, high);
  for (size_t i = 0; i < n; i++) x[i] = settled(x[i], zero[i], low, high);
}

static bool is_half(uint32_t dtype) { return dtype == OX_U4 || dtype == OX_I4; }

/* Whole numbers of 4 bits, two to a byte, the low half first. |n| of them, the last padded with zero. */
static void put_halves(const float *restrict x, uint8_t *restrict y, size_t n) {
  uint8_t low[PIECE], high[PIECE];
  for (; n >= 2 * PIECE; n -= 2 * PIECE, x += 2 * PIECE, y += PIECE) {
    for (int i = 0; i < PIECE; i++) low[i] = (uint8_t)((int)x[2 * i] & 15), high[i] = (uint8_t)((int)x[2 * i + 1] & 15);
    for (int i = 0; i < PIECE; i++) y[i] = (uint8_t)(low[i] | high[i] << 4);
  }
  for (size_t i = 0; i < n; i += 2) {
    int next = i + 1 < n ? (int)x[i + 1] & 15 : 0;
    y[i / 2] = (uint8_t)(((int)x[i] & 15) | next << 4);
  }
}

static void block_any(const ox_kernel_ctx *c, const ox_convert *cv, int64_t at, size_t n) {
  const quantize_attrs *a = c->attrs;
  const quantize_prep *p = c->prep;
  float x[OX_CONVERT_BLOCK], s[OX_CONVERT_BLOCK], z[OX_CONVERT_BLOCK] = {0};
  uint16_t half[OX_CONVERT_BLOCK];
  cv->load_f32[c->in[0]->dtype](c->in[0]->data, (size_t)at, n, x);
  spread(cv, c->in[1], &p->pair.scales, at, n, s);
  if (ox_ctx_has(c, 2)) spread(cv, c->in[2], &p->pair.zeros, at, n, z);
  divide(x, s, n);
  if (OX_BIT(p->precision) & OX_T_FLOAT16S) { /* the quotient itself is rounded to 16 bits */
    cv->store_f32[p->precision](x, half, 0, n, NULL);
    cv->load_f32[p->precision](half, 0, n, x);
  }
  if (p->integer)
    settle_all(x, z, n, p->low, p->high);
  else
    for (size_t i = 0; i < n; i++) x[i] += z[i];
  if (is_half(c->out[0]->dtype)) {
    put_halves(x, (uint8_t *)c->out[0]->data + at / 2, n);
    return;
  }
  cv->store_f32[c->out[0]->dtype](x, c->out[0]->data, (size_t)at, n, &(ox_narrow_how){a->saturate != 0, 0});
}

/* A block of bytes bounded to 4 bits, two to a byte, the low half first. All loops are of known length. */
enum { PAIRS = OX_CONVERT_BLOCK / 2 };

static void join_halves(uint16_t *restrict pairs, bool is_signed, uint8_t *restrict y) {
  uint8_t *u = (uint8_t *)pairs;
  int8_t *v = (int8_t *)pairs;
  if (is_signed)
    for (int i = 0; i < 2 * PAIRS; i++) v[i] = v[i] < -8 ? -8 : v[i] > 7 ? 7 : v[i];
  else
    for (int i = 0; i < 2 * PAIRS; i++) u[i] = u[i] > 15 ? 15 : u[i];
  for (int i = 0; i < PAIRS; i++) y[i] = (uint8_t)((pairs[i] & 15) | (pairs[i] >> 4 & 0xf0));
}

/* Floats with one scale and zero point to a segment into integers of 4 bits: those of 8, bounded. */
static void block_halves(const ox_kernel_ctx *c, const ox_convert *cv, int64_t at, size_t n) {
  const ox_quantize_table *q = ox_quantize_select(c->isa);
  const ox_scales *s = &((const quantize_prep *)c->prep)->pair.scales;
  const float *x = (const float *)c->in[0]->data + at, *scales = c->in[1]->data;
  bool is_signed = c->out[0]->dtype == OX_I4;
  uint16_t pairs[PAIRS] = {0};
  uint8_t joined[PAIRS], *u = (uint8_t *)pairs;
  ox_segment g;
  for (size_t i = 0, m; i < n; i += m) {
    int64_t zero = 0;
    g = ox_scales_at(s, at + (int64_t)i), m = (size_t)OX_MIN(g.n, (int64_t)(n - i));
    if (ox_ctx_has(c, 2)) cv->load_i64[c->in[2]->dtype](c->in[2]->data, (size_t)g.off, 1, &zero);
    if (is_signed)
      q->f32_i8(x + i, (int8_t *)u + i, m, scales[g.off], (int)zero);
    else
      q->f32_u8(x + i, u + i, m, scales[g.off], (int)zero);
  }
  join_halves(pairs, is_signed, joined);
  memcpy((char *)c->out[0]->data + at / 2, joined, (n + 1) / 2);
}

/* n floats of one scale and zero point into elements [at, at + n) of Y. */
static void segment(const ox_kernel_ctx *c, int64_t at, size_t n, int64_t scale_at) {
  const ox_quantize_table *q = ox_quantize_select(c->isa);
  const float *x = (const float *)c->in[0]->data + at, scale = ((const float *)c->in[1]->data)[scale_at];
  const void *zeros = ox_ctx_has(c, 2) ? c->in[2]->data : NULL;
  void *y = c->out[0]->data;
#define TO(type, name) q->f32_##name(x, (type *)y + at, n, scale, zeros ? ((const type *)zeros)[scale_at] : 0)
  switch (c->out[0]->dtype) {
    case OX_U8:
      TO(uint8_t, u8);
      break;
    case OX_I8:
      TO(int8_t, i8);
      break;
    case OX_U16:
      TO(ox_u16u, u16);
      break;
    default:
      TO(ox_i16u, i16);
  }
#undef TO
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const quantize_prep *p = c->prep;
  bool floats = c->in[0]->dtype == OX_F32 && c->in[1]->dtype == OX_F32 && !(OX_BIT(p->precision) & OX_T_FLOAT16S);
  bool halves =
      floats && is_half(c->out[0]->dtype) && ox_shape_count(&c->in[0]->shape) && ox_scale_pair_is_even(&p->pair);
  const ox_scaled_run r = {.pair = &p->pair,
                           .fast = floats && (OX_BIT(c->out[0]->dtype) & OX_T_QUANTIZED_FAST),
                           .segment = segment,
                           .block = halves ? block_halves : block_any};
  ox_scaled_run_tiles(&r, c, tiles);
  return NULL;
}

/* ---- DynamicQuantizeLinear: the range (stages 0 and 1), then quantize with it ---- */
static ox_status *infer_dynamic(ox_infer_ctx *c) {
  ox_shape scalar = ox_shape_scalar();
  ox_infer_out(c, 0, OX_U8, &c->in[0]->shape);
  ox_infer_out(c, 1, OX_F32, &scalar);
  ox_infer_out(c, 2, OX_U8, &scalar);
  return NULL;
}

typedef struct {
  float scale;
  uint8_t zero;
} dynamic_params;

static ox_status *prepare_dynamic(ox_kernel_ctx *c) {
  int64_t tiles = ox_tile_count(ox_shape_count(&c->in[0]->shape), OX_TILE_CHEAP);
  c->n_stages = 3;
  c->n_tiles[0] = tiles, c->n_tiles[1] = 1, c->n_tiles[2] = tiles;
  c->shared_bytes = sizeof(dynamic_params) + (size_t)tiles * 2 * sizeof(float);
  return NULL;
}

static void settle(const ox_kernel_ctx *c, const float *ranges) {
  float low = 0, high = 0;
  for (int64_t t = 0; t < c->n_tiles[0]; t++) low = OX_MIN(low, ranges[2 * t]), high = OX_MAX(high, ranges[2 * t + 1]);
  dynamic_params *p = c->shared;
  p->scale = ox_dynamic_scale(low, high, &p->zero);
  if (ox_ctx_wants(c, 1)) *(float *)c->out[1]->data = p->scale;
  if (ox_ctx_wants(c, 2)) *(uint8_t *)c->out[2]->data = p->zero;
}

static ox_status *run_dynamic(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const ox_quantize_table *q = ox_quantize_select(c->isa);
  const float *x = c->in[0]->data;
  float *ranges = (float *)((char *)c->shared + sizeof(dynamic_params));
  int64_t begin, end, count = ox_shape_count(&c->in[0]->shape);
  if (stage == 1) {
    settle(c, ranges);
    return NULL;
  }
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    ox_tile_span((ox_range){t, t + 1}, OX_TILE_CHEAP, count, &begin, &end);
    if (stage == 0) {
      ranges[2 * t] = ranges[2 * t + 1] = 0;
      q->range(x + begin, (size_t)(end - begin), &ranges[2 * t], &ranges[2 * t + 1]);
    } else if (ox_ctx_wants(c, 0)) {
      const dynamic_params *p = c->shared;
      q->f32_u8(x + begin, (uint8_t *)c->out[0]->data + begin, (size_t)(end - begin), p->scale, p->zero);
    }
  }
  return NULL;
}

#define QUANTIZE(dom, ver, letters)                                                                              \
  {                                                                                                              \
    OX_SCHEMA(.name = "QuantizeLinear", .domain = dom, .since = ver, .types = {T_REAL, T_SCALE, T_QUANTIZED},    \
              .vars = letters, .min_in = 2, .max_in = 3, .attrs_bytes = sizeof(quantize_attrs), OX_ATTRS(attrs), \
              .infer = infer),                                                                                   \
        OX_KERNEL(.prepare = prepare, .run = run)                                                                \
  }

static const ox_op ops[] = {
    QUANTIZE(NULL, 10, NULL),
    QUANTIZE("com.microsoft", 1, "TT"),
    {OX_SCHEMA(.name = "DynamicQuantizeLinear", .since = 11, .types = {OX_BIT(OX_F32)}, .min_in = 1, .max_in = 1,
               .min_out = 1, .max_out = 3, .infer = infer_dynamic),
     OX_KERNEL(.prepare = prepare_dynamic, .run = run_dynamic)},
};
const ox_op_set ox_ops_quantize = {ops, OX_COUNT(ops)};
