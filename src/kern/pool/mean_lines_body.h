/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/mean_lines_body.h - sums of lines and their rounding, as loops that compilers vectorize. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "kern/pool/mean_lines.h"

static void down(int32_t *restrict y, const uint8_t *restrict x, ptrdiff_t step, int64_t taps, size_t n, uint8_t flip) {
  if (taps == 0) memset(y, 0, n * sizeof *y);
  for (int64_t t = 0; t < taps; t++, x += step)
    if (t == 0)
      for (size_t i = 0; i < n; i++) y[i] = x[i] ^ flip;
    else
      for (size_t i = 0; i < n; i++) y[i] += x[i] ^ flip;
}

static void along(int32_t *restrict y, const int32_t *restrict x, ptrdiff_t step, int64_t taps, ptrdiff_t each,
                  size_t n) {
  memset(y, 0, n * sizeof *y);
  for (int64_t t = 0; t < taps; t++, x += step)
    if (each == 1)
      for (size_t i = 0; i < n; i++) y[i] += x[i];
    else
      for (size_t i = 0; i < n; i++) y[i] += x[(ptrdiff_t)i * each];
}

/* Computed in double and rounded once to float, as the other quantized operators do. */
static void rounded(uint8_t *restrict y, const int32_t *restrict x, size_t n, int32_t less, double factor, int32_t zero,
                    uint8_t flip) {
  float least = (float)-zero, most = (float)(255 - zero);
  for (size_t i = 0; i < n; i++) {
    float v = (float)((double)(x[i] - less) * factor);
    v = v > least ? v : least;
    v = v < most ? v : most;
    y[i] = (uint8_t)(((int32_t)rintf(v) + zero) ^ flip);
  }
}

extern const ox_mean_lines OX_PASTE(ox_mean_lines__, LINES_ISA);
const ox_mean_lines OX_PASTE(ox_mean_lines__, LINES_ISA) = {LINES_NEEDS, "mean_lines_" OX_QUOTE(LINES_ISA), down, along,
                                                            rounded};
