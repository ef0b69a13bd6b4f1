/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary_body.h - the two forms. Pairs of 16-bit floats become floats some at a time. Products and sums
 * are rounded one by one, as everywhere. */
#include <string.h>

#include "kern/attention/rotary.h"
#include "onyx/ep.h"

enum { L = VF32_LANES, SOME = 128 };

/* The elements p and q of pairs, by the angles whose cosines and sines are c and s. */
OX_INLINE vf32 turned_first(vf32 p, vf32 q, vf32 c, vf32 s) { return vf32_sub(vf32_mul(p, c), vf32_mul(q, s)); }
OX_INLINE vf32 turned_second(vf32 p, vf32 q, vf32 c, vf32 s) { return vf32_add(vf32_mul(p, s), vf32_mul(q, c)); }

#define TURN_HALVES(tag, ctype, load, store)                                                               \
  static void halves_##tag(const ctype *a, const ctype *cs, const ctype *sn, size_t n, ctype *y) {         \
    const ctype *b = a + n;                                                                                \
    ctype *z = y + n;                                                                                      \
    size_t i = 0;                                                                                          \
    for (; i + L <= n; i += L) {                                                                           \
      vf32 p = load(a + i), q = load(b + i), c = load(cs + i), s = load(sn + i);                           \
      store(y + i, turned_first(p, q, c, s)), store(z + i, turned_second(p, q, c, s));                     \
    }                                                                                                      \
    if (i == n) return;                                                                                    \
    size_t k = n - i;                                                                                      \
    vf32 p = load##_n(a + i, k), q = load##_n(b + i, k), c = load##_n(cs + i, k), s = load##_n(sn + i, k); \
    store##_n(y + i, turned_first(p, q, c, s), k), store##_n(z + i, turned_second(p, q, c, s), k);         \
  }
TURN_HALVES(f32, float, vf32_load, vf32_store)
TURN_HALVES(f16, uint16_t, vf32_load_f16, vf32_store_f16)
TURN_HALVES(bf16, uint16_t, vf32_load_bf16, vf32_store_bf16)

static void pairs_f32(const float *x, const float *cs, const float *sn, size_t n, float *y) {
  OX_IVDEP for (size_t i = 0; i < n; i++) {
    float p = x[2 * i], q = x[2 * i + 1];
    y[2 * i] = p * cs[i] - q * sn[i];
    y[2 * i + 1] = p * sn[i] + q * cs[i];
  }
}

/* float16 and bfloat16 differ only in the two conversions. */
#define PAIRS_NARROW(name)                                                                                        \
  static void widen_##name(const uint16_t *x, size_t n, float *y) {                                               \
    for (size_t i = 0; i < n; i += L) {                                                                           \
      size_t k = vf32_lanes_at(i, n);                                                                             \
      vf32_store_n(y + i, vf32_load_##name##_n(x + i, k), k);                                                     \
    }                                                                                                             \
  }                                                                                                               \
  static void narrow_##name(const float *x, size_t n, uint16_t *y) {                                              \
    for (size_t i = 0; i < n; i += L) {                                                                           \
      size_t k = vf32_lanes_at(i, n);                                                                             \
      vf32_store_##name##_n(y + i, vf32_load_n(x + i, k), k);                                                     \
    }                                                                                                             \
  }                                                                                                               \
  static void pairs_##name(const uint16_t *x, const uint16_t *cs, const uint16_t *sn, size_t half, uint16_t *y) { \
    float v[2 * SOME], c[SOME], s[SOME];                                                                          \
    for (size_t i = 0; i < half; i += SOME) {                                                                     \
      size_t n = half - i < SOME ? half - i : SOME;                                                               \
      widen_##name(x + 2 * i, 2 * n, v), widen_##name(cs + i, n, c), widen_##name(sn + i, n, s);                  \
      pairs_f32(v, c, s, n, v);                                                                                   \
      narrow_##name(v, 2 * n, y + 2 * i);                                                                         \
    }                                                                                                             \
  }
PAIRS_NARROW(f16)
PAIRS_NARROW(bf16)

static void row(uint32_t dtype, const void *x, const void *cos, const void *sin, int64_t half, int64_t d,
                bool interleaved, void *y) {
  size_t n = (size_t)half, item = dtype == OX_F32 ? sizeof(float) : sizeof(uint16_t);
  if (dtype == OX_F32)
    (interleaved ? pairs_f32 : halves_f32)(x, cos, sin, n, y);
  else if (dtype == OX_F16)
    (interleaved ? pairs_f16 : halves_f16)(x, cos, sin, n, y);
  else
    (interleaved ? pairs_bf16 : halves_bf16)(x, cos, sin, n, y);
  if (y != x && 2 * half < d)
    memcpy((char *)y + 2 * n * item, (const char *)x + 2 * n * item, ((size_t)d - 2 * n) * item);
}

const ox_rotary ROTARY_NAME = {ROTARY_NEEDS, ROTARY_ISA, row};
