/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/narrow.h - one element of a narrow format to and from float: bit moves and exact scaling, no tables, so
 * the same bits on every machine. static inline only: ISA files include it. */
#ifndef OX_KERN_QUANT_NARROW_H
#define OX_KERN_QUANT_NARROW_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t ox_bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

static inline float ox_float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

/* ---- 16 bits ---- */
/* No branches, so that loops over it vectorise. The multiplication renormalises subnormals exactly. */
static inline float ox_widen_f16(uint16_t h) {
  uint32_t mag = (uint32_t)(h & 0x7fff) << 13;
  float f = ox_float_of(mag) * 0x1p112f;
  uint32_t u = mag >= 0x0f800000 ? mag | 0x7f800000 : ox_bits_of(f); /* inf and NaN */
  return ox_float_of(u | (uint32_t)(h & 0x8000) << 16);
}

static inline uint16_t ox_narrow_f16(float f) {
  uint32_t u = ox_bits_of(f), sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
  uint32_t nan = 0x7e00 | (mag >> 13 & 0x3ff);
  uint32_t small = ox_bits_of(ox_float_of(mag) + 0.5f) - 0x3f000000; /* lines the last bit up with 2^-24 */
  uint32_t normal = (mag - 0x38000000 + 0xfff + (mag >> 13 & 1)) >> 13;
  uint32_t r = mag > 0x7f800000 ? nan : mag >= 0x477ff000 ? 0x7c00 : mag < 0x38800000 ? small : normal;
  return (uint16_t)(sign | r);
}

static inline float ox_widen_bf16(uint16_t h) { return ox_float_of((uint32_t)h << 16); }

static inline uint16_t ox_narrow_bf16(float f) {
  uint32_t u = ox_bits_of(f);
  uint32_t r = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? (u >> 16 | 0x40) : r);
}

/* Converts a double to a float such that rounding it once more to a narrower format is correct: truncated, with the
 * last bit set if anything was lost ("round to odd"). Needs two spare bits, which all formats up to f16 leave. */
static inline float ox_odd_f32(double d) {
  float f = (float)d;
  uint32_t lost = ((double)f != d) & (d == d), away = fabs((double)f) > fabs(d);
  return ox_float_of((ox_bits_of(f) - (lost & away)) | lost); /* towards zero; infinity becomes the largest float */
}

/* ---- 8, 6 and 4 bits ---- */
/* A small float: sign, exponent, |man| bits of mantissa. |max| is the largest finite code without sign. A magnitude
 * that rounds above it becomes |over|, or max when saturating. |unsigned_zero|: 0x80 is NaN, so there is no -0
 * ("fnuz"). */
typedef struct ox_small_float {
  uint8_t man, bias, max, over, nan, sign_shift;
  bool unsigned_zero;
} ox_small_float;

#define OX_E4M3FN ((ox_small_float){3, 7, 0x7e, 0x7f, 0x7f, 7, false})
#define OX_E4M3FNUZ ((ox_small_float){3, 8, 0x7f, 0x80, 0x80, 7, true})
#define OX_E5M2 ((ox_small_float){2, 15, 0x7b, 0x7c, 0x7f, 7, false})
#define OX_E5M2FNUZ ((ox_small_float){2, 16, 0x7f, 0x80, 0x80, 7, true})
#define OX_E2M3 \
  ((ox_small_float){3, 1, 0x1f, 0x1f, 0x20, 5, false}) /* the 4- and 6-bit kinds have no NaN: it becomes -0 */
#define OX_E3M2 ((ox_small_float){2, 3, 0x1f, 0x1f, 0x20, 5, false})
#define OX_E2M1 ((ox_small_float){1, 1, 0x7, 0x7, 0x8, 3, false}) /* no NaN: it becomes -0 */

static inline uint8_t ox_narrow_small(float f, ox_small_float t, bool saturate) {
  uint32_t u = ox_bits_of(f), mag = u & 0x7fffffff;
  uint32_t sign = u >> 31 << t.sign_shift;
  if (mag > 0x7f800000) return (uint8_t)(t.unsigned_zero ? t.nan : t.nan | sign);
  if (mag == 0x7f800000) {
    uint32_t r = saturate ? t.max : t.over;
    return (uint8_t)(r == 0x80 ? r : r | sign);
  }
  int e = (int)(mag >> 23) - 127, least = 1 - t.bias;
  if (e < least) e = least;
  /* in units of the last place of this exponent; exact, at most 2^(man + 1) after rounding */
  float q = rintf(ox_float_of(mag) * ox_float_of((uint32_t)(t.man - e + 127) << 23));
  uint32_t code = ((uint32_t)(e + t.bias - 1) << t.man) + (uint32_t)q;
  if (code > t.max) {
    code = saturate ? t.max : t.over;
    return (uint8_t)(code == 0x80 ? code : code | sign);
  }
  return (uint8_t)(t.unsigned_zero && code == 0 ? 0 : code | sign);
}

static inline float ox_widen_small(uint8_t b, ox_small_float t) {
  uint32_t sign = (uint32_t)b >> t.sign_shift & 1, mag = b & ((1u << t.sign_shift) - 1);
  if (t.unsigned_zero && b == 0x80) return ox_float_of(0x7fc00000);
  uint32_t e = mag >> t.man, m = mag & ((1u << t.man) - 1);
  float f;
  if (t.sign_shift == 7 && !t.unsigned_zero && mag > t.max)
    f = t.over != t.nan && m == 0 ? INFINITY : ox_float_of(0x7fc00000);
  else if (e == 0)
    f = (float)m * ox_float_of((uint32_t)(1 - t.bias - t.man + 127) << 23);
  else
    f = ox_float_of((e - t.bias + 127) << 23 | m << (23 - t.man));
  return sign ? ox_float_of(ox_bits_of(f) | 0x80000000u) : f;
}

/* float8e8m0: 2^(code - 127), 255 is NaN. */
typedef enum ox_e8m0_round { OX_E8M0_UP = 0, OX_E8M0_DOWN = 1, OX_E8M0_NEAREST = 2 } ox_e8m0_round;

static inline float ox_widen_e8m0(uint8_t b) {
  if (b == 255) return ox_float_of(0x7fc00000);
  return b ? ox_float_of((uint32_t)b << 23) : 0x1p-127f;
}

static inline uint8_t ox_narrow_e8m0(float f, ox_e8m0_round mode, bool saturate) {
  uint32_t mag = ox_bits_of(f) & 0x7fffffff;
  if (mag > 0x7f800000) return 255;
  if (mag == 0x7f800000) return saturate ? 254 : 255;
  if (mag == 0) return saturate ? 0 : 255;
  uint32_t e = mag >> 23, m = mag & 0x7fffff;
  if (e == 0) { /* subnormal: between 2^-149 and 2^-126; 2^-127 has m = 0x400000 */
    if (m < 0x400000) return saturate ? 0 : 255;
    e = 0, m = (m - 0x400000) << 1;
  }
  bool up = mode == OX_E8M0_UP ? m != 0 : mode == OX_E8M0_NEAREST && m >= 0x400000;
  e += up;
  return (uint8_t)(e < 255 ? e : saturate ? 254 : 255);
}

/* The double nearest to |v|, in steps that all instruction sets have for vectors: its halves become the last bits of
 * doubles, and only the sum of these two rounds. */
static inline double ox_i64_to_f64(int64_t v) {
  uint64_t low = ((uint64_t)v & 0xffffffff) | 0x4330000000000000u, high = (uint64_t)v >> 32 ^ 0x4530000080000000u;
  double l, h;
  memcpy(&l, &low, 8), memcpy(&h, &high, 8); /* 2^52 + the low half; 2^84 + 2^63 + the high one times 2^32 */
  return h - (0x1p84 + 0x1p63 + 0x1p52) + l;
}

/* ---- float to integer: out of range and NaN give the most negative value, as x86 does; never undefined ---- */
static inline int32_t ox_f32_to_i32(float f) { return f >= -0x1p31f && f < 0x1p31f ? (int32_t)f : INT32_MIN; }
static inline int64_t ox_f32_to_i64(float f) { return f >= -0x1p63f && f < 0x1p63f ? (int64_t)f : INT64_MIN; }
static inline int64_t ox_f64_to_i64(double d) { return d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : INT64_MIN; }
static inline int32_t ox_f64_to_i32(double d) { return d > -0x1.00000002p31 && d < 0x1p31 ? (int32_t)d : INT32_MIN; }
static inline uint64_t ox_f64_to_u64(double d) {
  return d >= 0x1p63 && d < 0x1p64 ? (uint64_t)d : (uint64_t)ox_f64_to_i64(d);
}

#endif
