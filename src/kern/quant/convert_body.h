/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/convert_body.h - plain loops that the compiler vectorises at the includer's instruction set. */
#include "base/macros.h"
#include "kern/quant/convert.h"

/* ---- loads: sources may be unaligned ---- */
#define ANYWHERE(ctype) __typeof__(ctype __attribute__((aligned(1), may_alias)))
#define LOADS(name, ctype, to_f64)                                                 \
  static void load_f32_##name(const void *src, size_t at, size_t n, float *dst) {  \
    const ANYWHERE(ctype) *s = (const ANYWHERE(ctype) *)src + at;                  \
    for (size_t i = 0; i < n; i++) dst[i] = (float)s[i];                           \
  }                                                                                \
  static void load_f64_##name(const void *src, size_t at, size_t n, double *dst) { \
    const ANYWHERE(ctype) *s = (const ANYWHERE(ctype) *)src + at;                  \
    for (size_t i = 0; i < n; i++) dst[i] = to_f64(s[i]);                          \
  }
#define LOAD_I64(name, ctype)                                                       \
  static void load_i64_##name(const void *src, size_t at, size_t n, int64_t *dst) { \
    const ANYWHERE(ctype) *s = (const ANYWHERE(ctype) *)src + at;                   \
    for (size_t i = 0; i < n; i++) dst[i] = (int64_t)s[i];                          \
  }
#define INT_LOADS(name, ctype) \
  LOADS(name, ctype, (double)) \
  LOAD_I64(name, ctype)
LOADS(f32, float, (double))
LOADS(f64, double, (double))
INT_LOADS(u8, uint8_t)
INT_LOADS(i8, int8_t)
INT_LOADS(u16, uint16_t)
INT_LOADS(i16, int16_t)
INT_LOADS(u32, uint32_t)
INT_LOADS(i32, int32_t)
INT_LOADS(u64, uint64_t)
LOADS(i64, int64_t, ox_i64_to_f64)
LOAD_I64(i64, int64_t)

/* Of those that are |big| the low 8 bits go; if one of them was set, so is the lowest that stays. */
#define ODD_LOADS(name, ctype, big)                                               \
  static void load_odd_##name(const void *src, size_t at, size_t n, float *dst) { \
    const ANYWHERE(ctype) *s = (const ANYWHERE(ctype) *)src + at;                 \
    for (size_t i = 0; i < n; i++) {                                              \
      uint32_t v = (uint32_t)s[i], odd = (v & ~255u) | (v & 255 ? 256u : 0);      \
      dst[i] = (float)(ctype)((big) ? odd : v);                                   \
    }                                                                             \
  }
ODD_LOADS(u32, uint32_t, v >> 24 != 0)
ODD_LOADS(i32, int32_t, v + (1u << 24) >= 1u << 25)

/* formats whose elements are converted to float one at a time */
#define WIDE_LOADS(name, ctype, widen)                                             \
  static void load_f32_##name(const void *src, size_t at, size_t n, float *dst) {  \
    const ctype *s = (const ctype *)src + at;                                      \
    for (size_t i = 0; i < n; i++) dst[i] = widen(s[i]);                           \
  }                                                                                \
  static void load_f64_##name(const void *src, size_t at, size_t n, double *dst) { \
    const ctype *s = (const ctype *)src + at;                                      \
    for (size_t i = 0; i < n; i++) dst[i] = (double)widen(s[i]);                   \
  }
#define WIDEN_E4M3FN(b) ox_widen_small(b, OX_E4M3FN)
#define WIDEN_E4M3FNUZ(b) ox_widen_small(b, OX_E4M3FNUZ)
#define WIDEN_E5M2(b) ox_widen_small(b, OX_E5M2)
#define WIDEN_E5M2FNUZ(b) ox_widen_small(b, OX_E5M2FNUZ)
/* the 16-bit floats have instructions of their own */
#define VECTOR_LOADS(name, widen)                                                              \
  static void load_f32_##name(const void *src, size_t at, size_t n, float *dst) {              \
    const uint16_t *s = (const uint16_t *)src + at;                                            \
    size_t i = 0;                                                                              \
    for (; i + VF32_LANES <= n; i += VF32_LANES) vf32_store(dst + i, vf32_load_##name(s + i)); \
    if (i < n) vf32_store_n(dst + i, vf32_load_##name##_n(s + i, n - i), n - i);               \
  }                                                                                            \
  static void load_f64_##name(const void *src, size_t at, size_t n, double *dst) {             \
    const ANYWHERE(uint16_t) *s = (const ANYWHERE(uint16_t) *)src + at;                        \
    for (size_t i = 0; i < n; i++) dst[i] = (double)widen(s[i]);                               \
  }
VECTOR_LOADS(f16, ox_widen_f16)
VECTOR_LOADS(bf16, ox_widen_bf16)
WIDE_LOADS(e4m3fn, uint8_t, WIDEN_E4M3FN)
WIDE_LOADS(e4m3fnuz, uint8_t, WIDEN_E4M3FNUZ)
WIDE_LOADS(e5m2, uint8_t, WIDEN_E5M2)
WIDE_LOADS(e5m2fnuz, uint8_t, WIDEN_E5M2FNUZ)
WIDE_LOADS(e8m0, uint8_t, ox_widen_e8m0)

/* packed formats, low bits first */
#define PACKED_LOAD(work, name, bits, get)                                                   \
  static void load_##work##_##name(const void *src, size_t at, size_t n, WORK_##work *dst) { \
    const uint8_t *s = src;                                                                  \
    for (size_t i = 0; i < n; i++) {                                                         \
      size_t k = at + i;                                                                     \
      uint32_t v = s[k * (bits) / 8] >> (k * (bits) % 8) & ((1u << (bits)) - 1);             \
      dst[i] = (WORK_##work)(get);                                                           \
    }                                                                                        \
  }
#define WORK_f32 float
#define WORK_f64 double
#define WORK_i64 int64_t
#define PACKED_LOADS(name, bits, get) \
  PACKED_LOAD(f32, name, bits, get)   \
  PACKED_LOAD(f64, name, bits, get)   \
  PACKED_LOAD(i64, name, bits, get)
PACKED_LOADS(u4, 4, (int)v)
PACKED_LOADS(i4, 4, (int)(v ^ 8) - 8)
PACKED_LOADS(u2, 2, (int)v)
PACKED_LOADS(i2, 2, (int)(v ^ 2) - 2)
PACKED_LOAD(f32, f4, 4, ox_widen_small((uint8_t)v, OX_E2M1))
PACKED_LOAD(f64, f4, 4, ox_widen_small((uint8_t)v, OX_E2M1))

/* 6 bits: elements straddle bytes, four of them fill three */
#define LOAD_6BIT(work, name, format)                                                        \
  static void load_##work##_##name(const void *src, size_t at, size_t n, WORK_##work *dst) { \
    const uint8_t *s = src;                                                                  \
    for (size_t i = 0; i < n; i++) {                                                         \
      size_t bit = (at + i) * 6;                                                             \
      unsigned v = s[bit / 8] >> bit % 8;                                                    \
      if (bit % 8 > 2) v |= (unsigned)s[bit / 8 + 1] << (8 - bit % 8);                       \
      dst[i] = (WORK_##work)ox_widen_small((uint8_t)(v & 63), format);                       \
    }                                                                                        \
  }
LOAD_6BIT(f32, e2m3, OX_E2M3)
LOAD_6BIT(f64, e2m3, OX_E2M3)
LOAD_6BIT(f32, e3m2, OX_E3M2)
LOAD_6BIT(f64, e3m2, OX_E3M2)

/* ---- stores ---- */
#define STORE(work, name, ctype, conv)                                                      \
  static void store_##work##_##name(const WORK_##work *src, void *dst, size_t at, size_t n, \
                                    const ox_narrow_how *how) {                             \
    ctype *d = (ctype *)dst + at;                                                           \
    (void)how;                                                                              \
    for (size_t i = 0; i < n; i++) d[i] = (ctype)(conv);                                    \
  }
#define INT_STORES(name, ctype, from_f32, from_f64) \
  STORE(f32, name, ctype, from_f32(src[i]))         \
  STORE(f64, name, ctype, from_f64(src[i]))         \
  STORE(i64, name, ctype, src[i])
/* Before AVX-512 vectors convert floats to 32-bit integers only. Most numbers are as small; the others of a block are
 * converted one by one. */
#define STORE_WIDE(work, name, ctype, exact)                                                \
  static void store_##work##_##name(const WORK_##work *src, void *dst, size_t at, size_t n, \
                                    const ox_narrow_how *how) {                             \
    enum { SOME = 256 };                                                                    \
    ctype *d = (ctype *)dst + at;                                                           \
    (void)how;                                                                              \
    for (size_t i = 0, end; i < n; i = end) {                                               \
      unsigned large = 0;                                                                   \
      end = n - i < SOME ? n : i + SOME;                                                    \
      for (size_t k = i; k < end; k++) large |= !(src[k] >= -0x1p31f && src[k] < 0x1p31f);  \
      if (large)                                                                            \
        for (size_t k = i; k < end; k++) d[k] = (ctype)exact(src[k]);                       \
      else                                                                                  \
        for (size_t k = i; k < end; k++) d[k] = (ctype)(int32_t)src[k];                     \
    }                                                                                       \
  }
#define WIDE_INT_STORES(name, ctype, from_f32, from_f64) \
  STORE_WIDE(f32, name, ctype, from_f32)                 \
  STORE_WIDE(f64, name, ctype, from_f64)                 \
  STORE(i64, name, ctype, src[i])
#define F32_TO_U64(f) ox_f64_to_u64((double)(f))
INT_STORES(u8, uint8_t, ox_f32_to_i32, ox_f64_to_i32)
INT_STORES(i8, int8_t, ox_f32_to_i32, ox_f64_to_i32)
INT_STORES(u16, uint16_t, ox_f32_to_i32, ox_f64_to_i32)
INT_STORES(i16, int16_t, ox_f32_to_i32, ox_f64_to_i32)
INT_STORES(i32, int32_t, ox_f32_to_i32, ox_f64_to_i32)
WIDE_INT_STORES(u32, uint32_t, ox_f32_to_i64, ox_f64_to_i64)
WIDE_INT_STORES(i64, int64_t, ox_f32_to_i64, ox_f64_to_i64)
WIDE_INT_STORES(u64, uint64_t, F32_TO_U64, ox_f64_to_u64)
STORE(f32, boolean, uint8_t, src[i] != 0)
STORE(f64, boolean, uint8_t, src[i] != 0)
STORE(i64, boolean, uint8_t, src[i] != 0)
STORE(f32, f32, float, src[i])
STORE(f64, f32, float, src[i])
STORE(i64, f32, float, src[i])
STORE(f32, f64, double, src[i])
STORE(f64, f64, double, src[i])
STORE(i64, f64, double, src[i])

#define FLOAT_STORES(name, ctype, narrow)             \
  STORE(f32, name, ctype, narrow(src[i]))             \
  STORE(f64, name, ctype, narrow(ox_odd_f32(src[i]))) \
  STORE(i64, name, ctype, narrow(ox_odd_f32((double)src[i])))
#define NARROW_E4M3FN(f) ox_narrow_small(f, OX_E4M3FN, !how || how->saturate)
#define NARROW_E4M3FNUZ(f) ox_narrow_small(f, OX_E4M3FNUZ, !how || how->saturate)
#define NARROW_E5M2(f) ox_narrow_small(f, OX_E5M2, !how || how->saturate)
#define NARROW_E5M2FNUZ(f) ox_narrow_small(f, OX_E5M2FNUZ, !how || how->saturate)
#define NARROW_E8M0(f) ox_narrow_e8m0(f, how ? how->round : OX_E8M0_UP, !how || how->saturate)
#define VECTOR_STORES(name, narrow)                                                                           \
  static void store_f32_##name(const float *src, void *dst, size_t at, size_t n, const ox_narrow_how *how) {  \
    uint16_t *d = (uint16_t *)dst + at;                                                                       \
    size_t i = 0;                                                                                             \
    (void)how;                                                                                                \
    for (; i + VF32_LANES <= n; i += VF32_LANES) vf32_store_##name(d + i, vf32_load(src + i));                \
    if (i < n) vf32_store_##name##_n(d + i, vf32_load_n(src + i, n - i), n - i);                              \
  }                                                                                                           \
  static void store_f64_##name(const double *src, void *dst, size_t at, size_t n, const ox_narrow_how *how) { \
    enum { SOME = 64 };                                                                                       \
    for (size_t i = 0; i < n; i += SOME) {                                                                    \
      float odd[SOME];                                                                                        \
      size_t m = n - i < SOME ? n - i : SOME;                                                                 \
      for (size_t k = 0; k < m; k++) odd[k] = ox_odd_f32(src[i + k]);                                         \
      store_f32_##name(odd, dst, at + i, m, how);                                                             \
    }                                                                                                         \
  }                                                                                                           \
  STORE(i64, name, uint16_t, narrow(ox_odd_f32((double)src[i])))
VECTOR_STORES(f16, ox_narrow_f16)
VECTOR_STORES(bf16, ox_narrow_bf16)
FLOAT_STORES(e4m3fn, uint8_t, NARROW_E4M3FN)
FLOAT_STORES(e4m3fnuz, uint8_t, NARROW_E4M3FNUZ)
FLOAT_STORES(e5m2, uint8_t, NARROW_E5M2)
FLOAT_STORES(e5m2fnuz, uint8_t, NARROW_E5M2FNUZ)
FLOAT_STORES(e8m0, uint8_t, NARROW_E8M0)

#define PACKED_STORE(work, name, bits, conv)                                                                         \
  static void store_##work##_##name(const WORK_##work *src, void *dst, size_t at, size_t n,                          \
                                    const ox_narrow_how *how) {                                                      \
    uint8_t *d = (uint8_t *)dst + at * (bits) / 8;                                                                   \
    (void)how;                                                                                                       \
    for (size_t i = 0; i < n; d++) {                                                                                 \
      uint32_t byte = 0;                                                                                             \
      for (unsigned s = 0; s < 8 && i < n; s += (bits), i++) byte |= ((uint32_t)(conv) & ((1u << (bits)) - 1)) << s; \
      *d = (uint8_t)byte;                                                                                            \
    }                                                                                                                \
  }
#define PACKED_INT_STORES(name, bits)                  \
  PACKED_STORE(f32, name, bits, ox_f32_to_i32(src[i])) \
  PACKED_STORE(f64, name, bits, ox_f64_to_i32(src[i])) \
  PACKED_STORE(i64, name, bits, src[i])
PACKED_INT_STORES(b4, 4)
PACKED_INT_STORES(b2, 2)
PACKED_STORE(f32, f4, 4, ox_narrow_small(src[i], OX_E2M1, true))
PACKED_STORE(f64, f4, 4, ox_narrow_small(ox_odd_f32(src[i]), OX_E2M1, true))
PACKED_STORE(i64, f4, 4, ox_narrow_small(ox_odd_f32((double)src[i]), OX_E2M1, true))

#define STORE_6BIT(work, name, conv)                                                        \
  static void store_##work##_##name(const WORK_##work *src, void *dst, size_t at, size_t n, \
                                    const ox_narrow_how *how) {                             \
    uint8_t *d = (uint8_t *)dst + at * 6 / 8;                                               \
    unsigned held = 0, bits = 0;                                                            \
    (void)how;                                                                              \
    for (size_t i = 0; i < n; i++) {                                                        \
      held |= (unsigned)(conv) << bits;                                                     \
      for (bits += 6; bits >= 8; bits -= 8, held >>= 8) *d++ = (uint8_t)held;               \
    }                                                                                       \
    if (bits) *d = (uint8_t)held;                                                           \
  }
#define STORES_6BIT(name, format)                                          \
  STORE_6BIT(f32, name, ox_narrow_small(src[i], format, true))             \
  STORE_6BIT(f64, name, ox_narrow_small(ox_odd_f32(src[i]), format, true)) \
  STORE_6BIT(i64, name, ox_narrow_small(ox_odd_f32((double)src[i]), format, true))
STORES_6BIT(e2m3, OX_E2M3)
STORES_6BIT(e3m2, OX_E3M2)

/* ---- integers of another width ---- */
#define RESIZE(name, ctype, to)                                                       \
  static void resize_##name##_##to(const void *src, void *dst, size_t at, size_t n) { \
    const ANYWHERE(ctype) *s = (const ANYWHERE(ctype) *)src + at;                     \
    uint##to##_t *d = (uint##to##_t *)dst + at;                                       \
    for (size_t i = 0; i < n; i++) d[i] = (uint##to##_t)s[i];                         \
  }
#define RESIZE_ALL(name, ctype, a, b, c) RESIZE(name, ctype, a) RESIZE(name, ctype, b) RESIZE(name, ctype, c)
RESIZE_ALL(u8, uint8_t, 16, 32, 64)
RESIZE_ALL(i8, int8_t, 16, 32, 64)
RESIZE_ALL(u16, uint16_t, 8, 32, 64)
RESIZE_ALL(i16, int16_t, 8, 32, 64)
RESIZE_ALL(u32, uint32_t, 8, 16, 64)
RESIZE_ALL(i32, int32_t, 8, 16, 64)
RESIZE_ALL(u64, uint64_t, 8, 16, 32)
#define TO_8(name) \
  { NULL, resize_##name##_16, resize_##name##_32, resize_##name##_64 }
#define TO_16(name) \
  { resize_##name##_8, NULL, resize_##name##_32, resize_##name##_64 }
#define TO_32(name) \
  { resize_##name##_8, resize_##name##_16, NULL, resize_##name##_64 }
#define TO_64(name) \
  { resize_##name##_8, resize_##name##_16, resize_##name##_32, NULL }

#define TRUTH(bits)                                                                 \
  static void truth_##bits(const void *src, void *dst, size_t at, size_t n) {       \
    const ANYWHERE(uint##bits##_t) *s = (const ANYWHERE(uint##bits##_t) *)src + at; \
    uint8_t *d = (uint8_t *)dst + at;                                               \
    for (size_t i = 0; i < n; i++) d[i] = s[i] != 0;                                \
  }
TRUTH(8)
TRUTH(16)
TRUTH(32)
TRUTH(64)

/* bool reads as uint8 */
#define BY_DTYPE_INT(p)                                                                                               \
  [OX_U8] = p##_u8, [OX_I8] = p##_i8, [OX_U16] = p##_u16, [OX_I16] = p##_i16, [OX_U32] = p##_u32, [OX_I32] = p##_i32, \
  [OX_U64] = p##_u64, [OX_I64] = p##_i64
#define BY_DTYPE_FLOAT(p)                                                                                         \
  [OX_F32] = p##_f32, [OX_F64] = p##_f64, [OX_F16] = p##_f16, [OX_BF16] = p##_bf16, [OX_F8E4M3FN] = p##_e4m3fn,   \
  [OX_F8E4M3FNUZ] = p##_e4m3fnuz, [OX_F8E5M2] = p##_e5m2, [OX_F8E5M2FNUZ] = p##_e5m2fnuz, [OX_F8E8M0] = p##_e8m0, \
  [OX_F4E2M1] = p##_f4, [OX_F6E2M3] = p##_e2m3, [OX_F6E3M2] = p##_e3m2
#define LOAD_PACKED(p) [OX_BOOL] = p##_u8, [OX_U4] = p##_u4, [OX_I4] = p##_i4, [OX_U2] = p##_u2, [OX_I2] = p##_i2
#define STORE_PACKED(p) [OX_BOOL] = p##_boolean, [OX_U4] = p##_b4, [OX_I4] = p##_b4, [OX_U2] = p##_b2, [OX_I2] = p##_b2

const ox_convert CONVERT_NAME = {
    .needs = CONVERT_NEEDS,
    .load_f32 = {BY_DTYPE_INT(load_f32), BY_DTYPE_FLOAT(load_f32), LOAD_PACKED(load_f32)},
    .load_f64 = {BY_DTYPE_INT(load_f64), BY_DTYPE_FLOAT(load_f64), LOAD_PACKED(load_f64)},
    .load_i64 = {BY_DTYPE_INT(load_i64), LOAD_PACKED(load_i64)},
    .load_odd = {[OX_U32] = load_odd_u32, [OX_I32] = load_odd_i32},
    .store_f32 = {BY_DTYPE_INT(store_f32), BY_DTYPE_FLOAT(store_f32), STORE_PACKED(store_f32)},
    .store_f64 = {BY_DTYPE_INT(store_f64), BY_DTYPE_FLOAT(store_f64), STORE_PACKED(store_f64)},
    .store_i64 = {BY_DTYPE_INT(store_i64), BY_DTYPE_FLOAT(store_i64), STORE_PACKED(store_i64)},
    .resize_int = {[OX_U8] = TO_8(u8),
                   [OX_BOOL] = TO_8(u8),
                   [OX_I8] = TO_8(i8),
                   [OX_U16] = TO_16(u16),
                   [OX_I16] = TO_16(i16),
                   [OX_U32] = TO_32(u32),
                   [OX_I32] = TO_32(i32),
                   [OX_U64] = TO_64(u64),
                   [OX_I64] = TO_64(u64)},
    .truth = {truth_8, truth_16, truth_32, truth_64},
};
