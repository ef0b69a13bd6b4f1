/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/rotary.c - see rotary.h; computes in float. */
#include "kern/attention/rotary.h"

#include <string.h>

#include "base/macros.h"
#include "kern/simd/f32_scalar.h"
#include "onyx/ep.h"

static void row_f32(const float *x, const float *cs, const float *sn, int64_t half, int64_t d, bool pairs, float *y) {
  if (pairs) {
    for (int64_t i = 0; i < half; i++) {
      float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = a * cs[i] - b * sn[i];
      y[2 * i + 1] = a * sn[i] + b * cs[i];
    }
  } else {
    for (int64_t i = 0; i < half; i++) {
      float a = x[i], b = x[i + half];
      y[i] = a * cs[i] - b * sn[i];
      y[i + half] = a * sn[i] + b * cs[i];
    }
  }
  if (y != x) memcpy(y + 2 * half, x + 2 * half, (size_t)(d - 2 * half) * sizeof *y);
}

/* float16 and bfloat16 differ only in the two conversions. */
#define ROTARY_HALF(name, load, store)                                                                             \
  static void name(const uint16_t *x, const uint16_t *cs, const uint16_t *sn, int64_t half, int64_t d, bool pairs, \
                   uint16_t *y) {                                                                                  \
    int64_t step = pairs ? 2 : 1, other = pairs ? 1 : half;                                                        \
    for (int64_t i = 0; i < half; i++) {                                                                           \
      float a = load(x + step * i), b = load(x + step * i + other), c = load(cs + i), s = load(sn + i);            \
      store(y + step * i, a * c - b * s), store(y + step * i + other, a * s + b * c);                              \
    }                                                                                                              \
    if (y != x) memcpy(y + 2 * half, x + 2 * half, (size_t)(d - 2 * half) * sizeof *y);                            \
  }
ROTARY_HALF(row_f16, vf32_load_f16, vf32_store_f16)
ROTARY_HALF(row_bf16, vf32_load_bf16, vf32_store_bf16)

void ox_rotary_row(uint32_t dtype, const void *x, const void *cos, const void *sin, int64_t half, int64_t d,
                   bool interleaved, void *y) {
  if (dtype == OX_F32)
    row_f32(x, cos, sin, half, d, interleaved, y);
  else if (dtype == OX_F16)
    row_f16(x, cos, sin, half, d, interleaved, y);
  else
    row_bf16(x, cos, sin, half, d, interleaved, y);
}
