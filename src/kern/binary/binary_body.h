/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/binary_body.h - one loop per function and type, which the compiler vectorises at the includer's
 * instruction set. y may be exactly a or b, never a shifted overlap. */
#include <math.h>
#include <stdint.h>

#include "base/macros.h"
#include "kern/binary/binary.h"

#define LOOP(name, ctype, rtype, expr)                                                    \
  static void name(const void *pa, const void *pb, void *py, size_t n, unsigned scalar) { \
    const ctype *as = pa, *bs = pb;                                                       \
    rtype *y = py;                                                                        \
    if (scalar == OX_BIN_B_SCALAR) {                                                      \
      ctype b = bs[0];                                                                    \
      OX_IVDEP for (size_t i = 0; i < n; i++) {                                           \
        ctype a = as[i];                                                                  \
        y[i] = (rtype)(expr);                                                             \
      }                                                                                   \
    } else if (scalar == OX_BIN_A_SCALAR) {                                               \
      ctype a = as[0];                                                                    \
      OX_IVDEP for (size_t i = 0; i < n; i++) {                                           \
        ctype b = bs[i];                                                                  \
        y[i] = (rtype)(expr);                                                             \
      }                                                                                   \
    } else if (scalar) {                                                                  \
      ctype a = as[0], b = bs[0];                                                         \
      for (size_t i = 0; i < n; i++) y[i] = (rtype)(expr);                                \
    } else {                                                                              \
      OX_IVDEP for (size_t i = 0; i < n; i++) {                                           \
        ctype a = as[i], b = bs[i];                                                       \
        y[i] = (rtype)(expr);                                                             \
      }                                                                                   \
    }                                                                                     \
  }

#define COMPARES(tag, ctype)             \
  LOOP(eq_##tag, ctype, uint8_t, a == b) \
  LOOP(lt_##tag, ctype, uint8_t, a < b)  \
  LOOP(gt_##tag, ctype, uint8_t, a > b)  \
  LOOP(le_##tag, ctype, uint8_t, a <= b) \
  LOOP(ge_##tag, ctype, uint8_t, a >= b)

/* ---- floats ---- */
/* the remainder with the divisor's sign, as Python's % */
static double mod_double(double a, double b) {
  double r = fmod(a, b);
  if (r == 0) return copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

/* The remainder of floats, exact: a quotient below 2^28 that is no whole number is so far from one that its rounding in
 * double does not reach it, and its whole part times b has 52 bits. */
static float fmod_float(float a, float b) {
  double x = (double)a, y = (double)b, q = trunc(x / y), r = x - q * y;
  if (!(fabs(q) < 0x1p28) || r != r) return fmodf(a, b); /* and of infinities */
  return (float)copysign(r, x);
}
#define fmod_double fmod

/* NaN passes on. A standing operand that is a number goes first: a comparison that fails leaves the other one. */
#define EXTREME(name, ctype, any, number_first)                                           \
  static void name(const void *pa, const void *pb, void *py, size_t n, unsigned scalar) { \
    ctype a = *(const ctype *)pa, b = *(const ctype *)pb;                                 \
    if (scalar == OX_BIN_A_SCALAR && a == a)                                              \
      number_first(pa, pb, py, n, OX_BIN_A_SCALAR);                                       \
    else if (scalar == OX_BIN_B_SCALAR && b == b)                                         \
      number_first(pb, pa, py, n, OX_BIN_A_SCALAR);                                       \
    else                                                                                  \
      any(pa, pb, py, n, scalar);                                                         \
  }

#define FLOATS(tag, ctype, fn)                                                                                        \
  LOOP(add_##tag, ctype, ctype, a + b)                                                                                \
  LOOP(sub_##tag, ctype, ctype, a - b)                                                                                \
  LOOP(mul_##tag, ctype, ctype, a *b)                                                                                 \
  LOOP(div_##tag, ctype, ctype, a / b)                                                                                \
  LOOP(least_##tag, ctype, ctype, a != a ? a : a < b ? a : b)                                                         \
  LOOP(least_of_##tag, ctype, ctype, a < b ? a : b)                                                                   \
  LOOP(most_##tag, ctype, ctype, a != a ? a : a > b ? a : b)                                                          \
  LOOP(most_of_##tag, ctype, ctype, a > b ? a : b)                                                                    \
  LOOP(prelu_##tag, ctype, ctype, a < 0 ? a * b : a)                                                                  \
  LOOP(mod_##tag, ctype, ctype, mod_double((double)a, (double)b))                                                     \
  LOOP(fmod_##tag, ctype, ctype, fmod_##ctype(a, b))                                                                  \
  LOOP(powgen_##tag, ctype, ctype, pow##fn(a, b))                                                                     \
  COMPARES(tag, ctype)                                                                                                \
  EXTREME(min_##tag, ctype, least_##tag, least_of_##tag)                                                              \
  EXTREME(max_##tag, ctype, most_##tag, most_of_##tag)                                                                \
  /* exponents common in models have loops of their own */                                                            \
  static void pow_##tag(const void *pa, const void *pb, void *py, size_t n, unsigned scalar) {                        \
    const ctype *a = pa, *b = pb;                                                                                     \
    ctype *y = py;                                                                                                    \
    if (scalar == OX_BIN_B_SCALAR && *b == 2) {                                                                       \
      OX_IVDEP for (size_t i = 0; i < n; i++) y[i] = a[i] * a[i];                                                     \
    } else if (scalar == OX_BIN_B_SCALAR && *b == (ctype)0.5) {                                                       \
      /* unlike sqrt: pow(-inf) is inf, pow(-0) is 0 */                                                               \
      OX_IVDEP for (size_t i = 0; i < n; i++) y[i] = a[i] == -(ctype)INFINITY ? (ctype)INFINITY : sqrt##fn(a[i]) + 0; \
    } else if (scalar == OX_BIN_B_SCALAR && *b == 3) {                                                                \
      OX_IVDEP for (size_t i = 0; i < n; i++) y[i] = a[i] * a[i] * a[i];                                              \
    } else {                                                                                                          \
      powgen_##tag(pa, pb, py, n, scalar);                                                                            \
    }                                                                                                                 \
  }
FLOATS(f32, float, f)
FLOATS(f64, double, )

/* ---- integers ---- */
/* C promotes narrow types to int and leaves signed overflow undefined: add, sub and mul go through uint64. */
#define W(x) ((uint64_t)(x))
#define INTS(tag, ctype, utype, bits)                                                  \
  LOOP(add_##tag, ctype, ctype, (utype)((utype)a + (utype)b))                          \
  LOOP(sub_##tag, ctype, ctype, (utype)((utype)a - (utype)b))                          \
  LOOP(mul_##tag, ctype, ctype, (utype)(1u * (utype)a * (utype)b))                     \
  LOOP(min_##tag, ctype, ctype, a < b ? a : b)                                         \
  LOOP(max_##tag, ctype, ctype, a > b ? a : b)                                         \
  LOOP(and_##tag, ctype, ctype, a &b)                                                  \
  LOOP(or_##tag, ctype, ctype, a | b)                                                  \
  LOOP(xor_##tag, ctype, ctype, a ^ b)                                                 \
  LOOP(shl_##tag, ctype, ctype, W(b) < bits ? (utype)(W((utype)a) << (W(b) & 63)) : 0) \
  COMPARES(tag, ctype)

/* Whole quotients, 0 of a zero divisor. Those of 32 bits are divided in double, which vectors can: a quotient that is
 * no whole number is at least 1 / b from one, and its rounding is less. */
#define QUOTIENT_WIDE(a, b) ((b) == 0 ? 0 : (a) / (b))
static inline uint32_t quotient_u32(uint32_t a, uint32_t b) {
  double q = (double)a / (double)(b ? b : 1);
  return b ? (uint32_t)q : 0;
}
static inline int32_t quotient_i32(int32_t a, int32_t b) {
  double q = (double)a / (double)(b ? b : 1);
  return b ? (int32_t)(q < 0x1p31 ? q : -0x1p31) : 0; /* MIN / -1 wraps */
}
#define SIGNED_WIDE(ctype, utype, a, b) ((b) == 0 ? 0 : (b) == -1 ? (ctype)(utype)(0 - (utype)(a)) : (a) / (b))
#define quotient_u8 QUOTIENT_WIDE
#define quotient_u16 QUOTIENT_WIDE
#define quotient_u64 QUOTIENT_WIDE
#define quotient_i8(a, b) SIGNED_WIDE(int8_t, uint8_t, a, b)
#define quotient_i16(a, b) SIGNED_WIDE(int16_t, uint16_t, a, b)
#define quotient_i64(a, b) SIGNED_WIDE(int64_t, uint64_t, a, b)
/* What is left of a; 0 of a zero divisor. */
#define rest_wide(a, b) ((b) == 0 ? 0 : (a) % (b))
#define signed_rest_wide(a, b) ((b) == 0 || (b) == -1 ? 0 : (a) % (b))
static inline uint32_t rest_u32(uint32_t a, uint32_t b) { return b ? a - quotient_u32(a, b) * b : 0; }
static inline int32_t rest_i32(int32_t a, int32_t b) {
  return b ? (int32_t)((uint32_t)a - (uint32_t)quotient_i32(a, b) * (uint32_t)b) : 0;
}
#define rest_u8 rest_wide
#define rest_u16 rest_wide
#define rest_u64 rest_wide
#define rest_i8 signed_rest_wide
#define rest_i16 signed_rest_wide
#define rest_i64 signed_rest_wide

#define UNSIGNED(tag, ctype, bits)                    \
  INTS(tag, ctype, ctype, bits)                       \
  LOOP(div_##tag, ctype, ctype, quotient_##tag(a, b)) \
  LOOP(mod_##tag, ctype, ctype, rest_##tag(a, b))     \
  LOOP(prelu_##tag, ctype, ctype, b == b ? a : 0)     \
  LOOP(shr_##tag, ctype, ctype, W(b) < bits ? a >> (W(b) & (bits - 1)) : 0)

#define SIGNED(tag, ctype, utype, bits)                                                 \
  INTS(tag, ctype, utype, bits)                                                         \
  LOOP(div_##tag, ctype, ctype, quotient_##tag(a, b))                                   \
  LOOP(fmod_##tag, ctype, ctype, rest_##tag(a, b))                                      \
  static inline ctype modulo_##tag(ctype a, ctype b) {                                  \
    ctype r = (ctype)rest_##tag(a, b);                                                  \
    return (ctype)(r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0));                      \
  }                                                                                     \
  LOOP(mod_##tag, ctype, ctype, modulo_##tag(a, b))                                     \
  LOOP(prelu_##tag, ctype, ctype, a < 0 ? (ctype)(utype)(1u * (utype)a * (utype)b) : a) \
  LOOP(shr_##tag, ctype, ctype, a >> (W(b) < bits ? W(b) : bits - 1))

UNSIGNED(u8, uint8_t, 8)
UNSIGNED(u16, uint16_t, 16)
UNSIGNED(u32, uint32_t, 32)
UNSIGNED(u64, uint64_t, 64)
SIGNED(i8, int8_t, uint8_t, 8)
SIGNED(i16, int16_t, uint16_t, 16)
SIGNED(i32, int32_t, uint32_t, 32)
SIGNED(i64, int64_t, uint64_t, 64)

/* any byte but 0 is true */
LOOP(and_bool, uint8_t, uint8_t, (a != 0) & (b != 0))
LOOP(or_bool, uint8_t, uint8_t, (a != 0) | (b != 0))
LOOP(xor_bool, uint8_t, uint8_t, (a != 0) ^ (b != 0))
LOOP(eq_bool, uint8_t, uint8_t, (a != 0) == (b != 0))

/* ---- choice ---- */
/* Arrays and scalars combine to four loops. Both sides are loaded, so that there is no branch to mispredict. */
#define CHOOSE(bits)                                                                                                \
  static void choose_##bits(const uint8_t *c, const void *pa, const void *pb, void *py, size_t n, int sa, int sb) { \
    const uint##bits##_t *a = pa, *b = pb;                                                                          \
    uint##bits##_t *y = py, u = a[0], v = b[0];                                                                     \
    if (sa && sb) {                                                                                                 \
      OX_IVDEP for (size_t i = 0; i < n; i++) {                                                                     \
        u = a[i], v = b[i];                                                                                         \
        y[i] = c[i] ? u : v;                                                                                        \
      }                                                                                                             \
    } else if (sa) {                                                                                                \
      OX_IVDEP for (size_t i = 0; i < n; i++) {                                                                     \
        u = a[i];                                                                                                   \
        y[i] = c[i] ? u : v;                                                                                        \
      }                                                                                                             \
    } else if (sb) {                                                                                                \
      OX_IVDEP for (size_t i = 0; i < n; i++) {                                                                     \
        v = b[i];                                                                                                   \
        y[i] = c[i] ? u : v;                                                                                        \
      }                                                                                                             \
    } else {                                                                                                        \
      OX_IVDEP for (size_t i = 0; i < n; i++) y[i] = c[i] ? u : v;                                                  \
    }                                                                                                               \
  }
CHOOSE(8)
CHOOSE(16)
CHOOSE(32)
CHOOSE(64)

#define EACH_UNSIGNED(op) [OX_U8] = op##_u8, [OX_U16] = op##_u16, [OX_U32] = op##_u32, [OX_U64] = op##_u64
#define EACH_SIGNED(op) [OX_I8] = op##_i8, [OX_I16] = op##_i16, [OX_I32] = op##_i32, [OX_I64] = op##_i64
#define EACH_INT(op) EACH_UNSIGNED(op), EACH_SIGNED(op)
#define EACH_FLOAT(op) [OX_F32] = op##_f32, [OX_F64] = op##_f64
#define EACH(op) EACH_INT(op), EACH_FLOAT(op)

const ox_binary_table BINARY_NAME = {
    .needs = BINARY_NEEDS,
    .name = BINARY_ISA,
    .choose = {choose_8, choose_16, choose_32, choose_64},
    .fn =
        {
            [OX_BIN_ADD] = {EACH(add)},
            [OX_BIN_SUB] = {EACH(sub)},
            [OX_BIN_MUL] = {EACH(mul)},
            [OX_BIN_DIV] = {EACH(div)},
            [OX_BIN_MIN] = {EACH(min)},
            [OX_BIN_MAX] = {EACH(max)},
            [OX_BIN_PRELU] = {EACH(prelu)},
            [OX_BIN_MOD] = {EACH(mod)},
            [OX_BIN_FMOD] = {EACH_UNSIGNED(mod), EACH_SIGNED(fmod), EACH_FLOAT(fmod)},
            [OX_BIN_POW] = {EACH_FLOAT(pow)},
            [OX_BIN_AND] = {EACH_INT(and), [OX_BOOL] = and_bool},
            [OX_BIN_OR] = {EACH_INT(or), [OX_BOOL] = or_bool},
            [OX_BIN_XOR] = {EACH_INT(xor), [OX_BOOL] = xor_bool},
            [OX_BIN_SHL] = {EACH_INT(shl)},
            [OX_BIN_SHR] = {EACH_INT(shr)},
            [OX_BIN_EQ] = {EACH(eq), [OX_BOOL] = eq_bool},
            [OX_BIN_LT] = {EACH(lt)},
            [OX_BIN_GT] = {EACH(gt)},
            [OX_BIN_LE] = {EACH(le)},
            [OX_BIN_GE] = {EACH(ge)},
        },
};
