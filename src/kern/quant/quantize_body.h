/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize_body.h - quantization to 8 and 16 bits over the vocabulary. */
#include "kern/quant/byte_sum.h"
#include "kern/quant/quotient.h"

/* Clamped as floats, so that the conversion cannot overflow. vf32_max returns its second argument for NaN, so NaN
 * becomes the lower bound. */
static inline vi32 clamped(vf32 q, vf32 least, vf32 most, vi32 zero) {
  return vi32_add(vf32_to_i32(vf32_min(vf32_max(q, least), most)), zero);
}

typedef struct {
  ox_divisor by;
  vf32 least, most;
  vi32 zero;
} lanes;

/* 16-bit integers use the vocabulary's bfloat16 loads, which put them into the upper halves of lanes, and stores. */
OX_INLINE vi32 load_u16(const uint16_t *x) { return vi32_shr(vf32_bits(vf32_load_bf16(x)), 16); }
OX_INLINE vi32 load_u16_n(const uint16_t *x, size_t n) { return vi32_shr(vf32_bits(vf32_load_bf16_n(x, n)), 16); }
OX_INLINE vi32 load_i16(const int16_t *x) { return vi32_sar(vf32_bits(vf32_load_bf16((const uint16_t *)x)), 16); }
OX_INLINE vi32 load_i16_n(const int16_t *x, size_t n) {
  return vi32_sar(vf32_bits(vf32_load_bf16_n((const uint16_t *)x, n)), 16);
}
OX_INLINE void store_i16(int16_t *y, vi32 v) { vi32_store_low16((uint16_t *)y, v); }
OX_INLINE void store_i16_n(int16_t *y, vi32 v, size_t n) { vi32_store_low16_n((uint16_t *)y, v, n); }

#define QUANTIZE(tag, ctype, low, high, store, quotient)                                                   \
  static void f32_##tag(const float *x, ctype *y, size_t n, float scale, int zero) {                       \
    lanes l = {ox_divisor_of(scale), vf32_splat((float)((low)-zero)), vf32_splat((float)((high)-zero)),    \
               vi32_splat(zero)};                                                                          \
    size_t i = 0;                                                                                          \
    for (; i + VF32_LANES <= n; i += VF32_LANES)                                                           \
      store(y + i, clamped(quotient(vf32_load(x + i), &l.by), l.least, l.most, l.zero));                   \
    if (i == n) return;                                                                                    \
    store##_n(y + i, clamped(quotient(vf32_load_n(x + i, n - i), &l.by), l.least, l.most, l.zero), n - i); \
  }
QUANTIZE(u8, uint8_t, 0, 255, vi32_store_u8, ox_quotient)
QUANTIZE(i8, int8_t, -128, 127, vi32_store_i8, ox_quotient)
QUANTIZE(u16, uint16_t, 0, 65535, vi32_store_low16, ox_quotient_16)
QUANTIZE(i16, int16_t, -32768, 32767, store_i16, ox_quotient_16)

#define DEQUANTIZE(tag, ctype, load)                                                                      \
  static void tag##_f32(const ctype *x, float *y, size_t n, float scale, int zero) {                      \
    vf32 s = vf32_splat(scale);                                                                           \
    vi32 z = vi32_splat(zero);                                                                            \
    size_t i = 0;                                                                                         \
    for (; i + VF32_LANES <= n; i += VF32_LANES)                                                          \
      vf32_store(y + i, vf32_mul(vi32_to_f32(vi32_sub(load(x + i), z)), s));                              \
    if (i < n) vf32_store_n(y + i, vf32_mul(vi32_to_f32(vi32_sub(load##_n(x + i, n - i), z)), s), n - i); \
  }
DEQUANTIZE(u8, uint8_t, vi32_load_u8)
DEQUANTIZE(i8, int8_t, vi32_load_i8)
DEQUANTIZE(u16, uint16_t, load_u16)
DEQUANTIZE(i16, int16_t, load_i16)

static void i32_f32(const int32_t *x, float *y, size_t n, float scale) {
  vf32 s = vf32_splat(scale);
  size_t i = 0;
  for (; i + VF32_LANES <= n; i += VF32_LANES) vf32_store(y + i, vf32_mul(vi32_to_f32(vi32_load(x + i)), s));
  if (i < n) vf32_store_n(y + i, vf32_mul(vi32_to_f32(vi32_load_n(x + i, n - i)), s), n - i);
}

OX_INLINE vf32 sum_of(vi32 a, vi32 b, const ox_byte_sum_lanes *l) {
  return ox_byte_sum_at(vi32_to_f32(a), vi32_to_f32(b), l);
}

typedef struct product_lanes {
  vf32 ratio, zero;
  vi32 a_zero, b_zero;
} product_lanes;

OX_INLINE product_lanes product_lanes_of(const ox_byte_product *p) {
  return (product_lanes){vf32_splat(p->ratio), vf32_splat(p->zero), vi32_splat(p->a_zero), vi32_splat(p->b_zero)};
}

OX_INLINE vf32 product_of(vi32 a, vi32 b, const product_lanes *l) {
  vf32 u = vi32_to_f32(vi32_sub(a, l->a_zero)), v = vi32_to_f32(vi32_sub(b, l->b_zero));
  return vf32_add(vf32_mul(vf32_mul(u, v), l->ratio), l->zero);
}

/* Four vectors of integers within the range of bytes. */
OX_INLINE void store_bytes_u8(uint8_t *y, const vi32 *v) {
  vi32_store((int32_t *)(void *)y, vi8_pack22(v, vi16_splat(0)));
}
OX_INLINE void store_bytes_i8(int8_t *y, const vi32 *v) {
  vi32_store((int32_t *)(void *)y, vi32_xor(vi8_pack22(v, vi16_splat(128)), vi8_splat(128)));
}

#define PAIRS(fn, tag, ctype, low, high, fact, lanes, of)                                     \
  static void fn##_##tag(const ctype *a, const ctype *b, ctype *y, size_t n, const fact *f) { \
    enum { L = VF32_LANES };                                                                  \
    lanes l = lanes##_of(f);                                                                  \
    vf32 least = vf32_splat(low), most = vf32_splat(high);                                    \
    size_t i = 0;                                                                             \
    for (; i + VI8_LANES <= n; i += VI8_LANES) {                                              \
      vi32 v[4];                                                                              \
      OX_UNROLL for (int k = 0; k < 4; k++) {                                                 \
        vf32 w = of(vi32_load_##tag(a + i + k * L), vi32_load_##tag(b + i + k * L), &l);      \
        v[k] = clamped(w, least, most, vi32_zero());                                          \
      }                                                                                       \
      store_bytes_##tag(y + i, v);                                                            \
    }                                                                                         \
    for (; i < n; i += L) {                                                                   \
      size_t m = vf32_lanes_at(i, n);                                                         \
      vf32 w = of(vi32_load_##tag##_n(a + i, m), vi32_load_##tag##_n(b + i, m), &l);          \
      vi32_store_##tag##_n(y + i, clamped(w, least, most, vi32_zero()), m);                   \
    }                                                                                         \
  }
#define PAIRS_OF(fn, fact, lanes, of)                   \
  PAIRS(fn, u8, uint8_t, 0.0f, 255.0f, fact, lanes, of) \
  PAIRS(fn, i8, int8_t, -128.0f, 127.0f, fact, lanes, of)
PAIRS_OF(add, ox_byte_sum, ox_byte_sum_lanes, sum_of)
PAIRS_OF(mul, ox_byte_product, product_lanes, product_of)

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

static void map(const uint8_t *table, const uint8_t *x, uint8_t *y, size_t n) {
  enum { L = VI8_LANES };
  vi8_table t = vi8_table_of(table);
  size_t i = 0;
  for (; i + L <= n; i += L) {
    vi32 v = vi8_lookup(&t, vi32_load((const int32_t *)(const void *)(x + i)));
    vi32_store((int32_t *)(void *)(y + i), v);
  }
  for (; i < n; i++) y[i] = table[x[i]];
}

const ox_quantize_table QUANTIZE_NAME = {QUANTIZE_NEEDS, QUANTIZE_ISA, f32_u8,  f32_i8,  f32_u16, f32_i16,
                                         u8_f32,         i8_f32,       u16_f32, i16_f32, i32_f32, add_u8,
                                         add_i8,         mul_u8,       mul_i8,  range,   map};
