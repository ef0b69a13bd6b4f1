/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_int.c - the functions that the standard also defines on integers. Wrap-around, never undefined. */
#include <math.h>

#include "kern/quant/narrow.h"
#include "kern/unary/unary.h"

#define LOOP(name, ctype, expr)                                              \
  static void name(const void *in, void *out, size_t n, const void *param) { \
    const ctype *xs = in;                                                    \
    ctype *ys = out;                                                         \
    (void)param;                                                             \
    for (size_t i = 0; i < n; i++) {                                         \
      ctype x = xs[i];                                                       \
      ys[i] = (ctype)(expr);                                                 \
    }                                                                        \
  }
#define P(k) ((const double *)param)[k]
#define LOW(ctype) ((const ctype *)param)[0]
#define HIGH(ctype) ((const ctype *)param)[1]
#define SHRUNK(wide) (double)x<-P(1) ? wide((double)x + P(0)) : (double)x> P(1) ? wide((double)x - P(0)) : 0

/* erf is cast to the integer type: 0 wherever its float value stays below 1. */
#define SIGNED(tag, ctype, utype)                                    \
  LOOP(abs_##tag, ctype, x < 0 ? (ctype)(utype)(0 - (utype)x) : x)   \
  LOOP(neg_##tag, ctype, (utype)(0 - (utype)x))                      \
  LOOP(sign_##tag, ctype, (x > 0) - (x < 0))                         \
  LOOP(relu_##tag, ctype, x > 0 ? x : 0)                             \
  LOOP(erf_##tag, ctype, erff((float)x))                             \
  LOOP(shrink_##tag, ctype, SHRUNK(ox_f64_to_i64))                   \
  LOOP(clip_##tag, ctype,                                            \
       (x < LOW(ctype) ? LOW(ctype) : x) > HIGH(ctype) ? HIGH(ctype) \
       : x < LOW(ctype)                                ? LOW(ctype)  \
                                                       : x)
#define UNSIGNED(tag, ctype)                                         \
  LOOP(abs_##tag, ctype, x)                                          \
  LOOP(sign_##tag, ctype, x > 0)                                     \
  LOOP(erf_##tag, ctype, erff((float)x))                             \
  LOOP(shrink_##tag, ctype, SHRUNK(ox_f64_to_u64))                   \
  LOOP(clip_##tag, ctype,                                            \
       (x < LOW(ctype) ? LOW(ctype) : x) > HIGH(ctype) ? HIGH(ctype) \
       : x < LOW(ctype)                                ? LOW(ctype)  \
                                                       : x)
SIGNED(i8, int8_t, uint8_t)
SIGNED(i16, int16_t, uint16_t)
SIGNED(i32, int32_t, uint32_t)
SIGNED(i64, int64_t, uint64_t)
UNSIGNED(u8, uint8_t)
UNSIGNED(u16, uint16_t)
UNSIGNED(u32, uint32_t)
UNSIGNED(u64, uint64_t)

#define BOTH(op) \
  {op##_u8, op##_u16, op##_u32, op##_u64}, { op##_i8, op##_i16, op##_i32, op##_i64 }
#define ONLY_SIGNED(op) \
  {NULL}, { op##_i8, op##_i16, op##_i32, op##_i64 }
static ox_unary_int_fn *const table[OX_UN_COUNT][2][4] = {
    [OX_UN_ABS] = {BOTH(abs)},          [OX_UN_NEG] = {ONLY_SIGNED(neg)}, [OX_UN_SIGN] = {BOTH(sign)},
    [OX_UN_RELU] = {ONLY_SIGNED(relu)}, [OX_UN_ERF] = {BOTH(erf)},        [OX_UN_SHRINK] = {BOTH(shrink)},
    [OX_UN_CLIP] = {BOTH(clip)},
};

ox_unary_int_fn *ox_unary_int(ox_unary op, unsigned bytes, int is_signed) {
  unsigned log2 = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  return table[op][is_signed != 0][log2];
}

void ox_bitwise_not(const void *x, void *y, size_t n) {
  const uint8_t *s = x;
  uint8_t *d = y;
  for (size_t i = 0; i < n; i++) d[i] = (uint8_t)~s[i];
}

void ox_logical_not(const void *x, void *y, size_t n) {
  const uint8_t *s = x;
  uint8_t *d = y;
  for (size_t i = 0; i < n; i++) d[i] = !s[i];
}
