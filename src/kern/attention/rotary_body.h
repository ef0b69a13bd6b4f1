/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary_body.h - plain loops over floats, which the compiler vectorises; 16-bit floats go through some
 * at a time. Products and sums are rounded one by one, as everywhere. */
#include <string.h>

#include "kern/attention/rotary.h"
#include "onyx/ep.h"

enum { L = VF32_LANES, SOME = 128 };

static void turn_halves(const float *a, const float *b, const float *cs, const float *sn, size_t n, float *ya,
                        float *yb) {
  OX_IVDEP for (size_t i = 0; i < n; i++) {
    float p = a[i], q = b[i];
    ya[i] = p * cs[i] - q * sn[i];
    yb[i] = p * sn[i] + q * cs[i];
  }
}

static void turn_pairs(const float *x, const float *cs, const float *sn, size_t n, float *y) {
  OX_IVDEP for (size_t i = 0; i < n; i++) {
    float p = x[2 * i], q = x[2 * i + 1];
    y[2 * i] = p * cs[i] - q * sn[i];
    y[2 * i + 1] = p * sn[i] + q * cs[i];
  }
}

static void row_f32(const float *x, const float *cs, const float *sn, size_t half, bool pairs, float *y) {
  if (pairs)
    turn_pairs(x, cs, sn, half, y);
  else
    turn_halves(x, x + half, cs, sn, half, y, y + half);
}

/* float16 and bfloat16 differ only in the two conversions. */
#define ROTARY_NARROW(name)                                                                                           \
  static void widen_##name(const uint16_t *x, size_t n, float *y) {                                                   \
    for (size_t i = 0; i < n; i += L) {                                                                               \
      size_t k = vf32_lanes_at(i, n);                                                                                 \
      vf32_store_n(y + i, vf32_load_##name##_n(x + i, k), k);                                                         \
    }                                                                                                                 \
  }                                                                                                                   \
  static void narrow_##name(const float *x, size_t n, uint16_t *y) {                                                  \
    for (size_t i = 0; i < n; i += L) {                                                                               \
      size_t k = vf32_lanes_at(i, n);                                                                                 \
      vf32_store_##name##_n(y + i, vf32_load_n(x + i, k), k);                                                         \
    }                                                                                                                 \
  }                                                                                                                   \
  static void row_##name(const uint16_t *x, const uint16_t *cs, const uint16_t *sn, size_t half, bool pairs,          \
                         uint16_t *y) {                                                                               \
    float v[2 * SOME], c[SOME], s[SOME];                                                                              \
    for (size_t i = 0; i < half; i += SOME) {                                                                         \
      size_t n = half - i < SOME ? half - i : SOME, first = pairs ? 2 * i : i, second = pairs ? first + n : i + half; \
      widen_##name(x + first, n, v), widen_##name(x + second, n, v + n);                                              \
      widen_##name(cs + i, n, c), widen_##name(sn + i, n, s);                                                         \
      row_f32(v, c, s, n, pairs, v);                                                                                  \
      narrow_##name(v, n, y + first), narrow_##name(v + n, n, y + second);                                            \
    }                                                                                                                 \
  }
ROTARY_NARROW(f16)
ROTARY_NARROW(bf16)

static void row(uint32_t dtype, const void *x, const void *cos, const void *sin, int64_t half, int64_t d,
                bool interleaved, void *y) {
  size_t n = (size_t)half, item = dtype == OX_F32 ? sizeof(float) : sizeof(uint16_t);
  if (dtype == OX_F32)
    row_f32(x, cos, sin, n, interleaved, y);
  else if (dtype == OX_F16)
    row_f16(x, cos, sin, n, interleaved, y);
  else
    row_bf16(x, cos, sin, n, interleaved, y);
  if (y != x) memcpy((char *)y + 2 * n * item, (const char *)x + 2 * n * item, ((size_t)d - 2 * n) * item);
}

const ox_rotary ROTARY_NAME = {ROTARY_NEEDS, ROTARY_ISA, row};
