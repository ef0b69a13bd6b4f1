/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize_body.h - 8-bit quantization over the vocabulary. */
#include <math.h>

#include "base/macros.h"
#include "kern/quant/quantize.h"

/* Clamped while still float, so that the conversion cannot overflow; max takes its second argument for NaN, so the
 * bound stands there. */
static inline vi32 clamped(vf32 q, vf32 least, vf32 most, vi32 zero) {
  return vi32_add(vf32_to_i32(vf32_min(vf32_max(q, least), most)), zero);
}

typedef struct {
  vf32 scale, inverse, least, most;
  vi32 zero;
} lanes;

/* rint(x / scale). The product with 1 / scale is within 1.5 units in the last place of the quotient, so it rounds alike
 * unless it lies near the middle of two integers; then, and if 1 / scale is not a normal number, it is divided. Beyond
 * 512 the result is clamped anyway. */
static inline vf32 quotient(vf32 x, const lanes *l) {
  vf32 q = vf32_mul(x, l->inverse), r = vf32_round(q), off = vf32_abs(vf32_sub(q, r));
  if (OX_LIKELY(vm32_all(vf32_lt(off, vf32_splat(0.4999f))))) return r;
  return vf32_round(vf32_div(x, l->scale));
}

#define QUANTIZE(tag, ctype, low, high)                                                                              \
  static void f32_##tag(const float *x, ctype *y, size_t n, float scale, int zero) {                                 \
    float size = scale < 0 ? -scale : scale;                                                                         \
    lanes l = {vf32_splat(scale), vf32_splat(size > 0x1p-120f && size < 0x1p120f ? 1 / scale : NAN),                 \
               vf32_splat((float)((low)-zero)), vf32_splat((float)((high)-zero)), vi32_splat(zero)};                 \
    size_t i = 0;                                                                                                    \
    for (; i + VF32_LANES <= n; i += VF32_LANES)                                                                     \
      vi32_store_##tag(y + i, clamped(quotient(vf32_load(x + i), &l), l.least, l.most, l.zero));                     \
    if (i < n)                                                                                                       \
      vi32_store_##tag##_n(y + i, clamped(quotient(vf32_load_n(x + i, n - i), &l), l.least, l.most, l.zero), n - i); \
  }
QUANTIZE(u8, uint8_t, 0, 255)
QUANTIZE(i8, int8_t, -128, 127)

#define DEQUANTIZE(tag, ctype)                                                                                       \
  static void tag##_f32(const ctype *x, float *y, size_t n, float scale, int zero) {                                 \
    vf32 s = vf32_splat(scale);                                                                                      \
    vi32 z = vi32_splat(zero);                                                                                       \
    size_t i = 0;                                                                                                    \
    for (; i + VF32_LANES <= n; i += VF32_LANES)                                                                     \
      vf32_store(y + i, vf32_mul(vi32_to_f32(vi32_sub(vi32_load_##tag(x + i), z)), s));                              \
    if (i < n) vf32_store_n(y + i, vf32_mul(vi32_to_f32(vi32_sub(vi32_load_##tag##_n(x + i, n - i), z)), s), n - i); \
  }
DEQUANTIZE(u8, uint8_t)
DEQUANTIZE(i8, int8_t)

static void range(const float *x, size_t n, float *low, float *high) {
  vf32 lo = vf32_splat(*low), hi = vf32_splat(*high);
  size_t i = 0;
  for (; i + VF32_LANES <= n; i += VF32_LANES) {
    vf32 v = vf32_load(x + i);
    lo = vf32_min(v, lo), hi = vf32_max(v, hi);
  }
  *low = vf32_hmin(lo), *high = vf32_hmax(hi);
  for (; i < n; i++) {
    if (x[i] < *low) *low = x[i];
    if (x[i] > *high) *high = x[i];
  }
}

const ox_quantize_table QUANTIZE_NAME = {QUANTIZE_NEEDS, QUANTIZE_ISA, f32_u8, f32_i8, u8_f32, i8_f32, range};
