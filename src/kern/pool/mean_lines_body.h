/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/mean_lines_body.h - sums of lines and their rounding, as loops that compilers vectorize. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "kern/pool/mean_lines.h"

enum { LINE = 64 };

/* |n| columns, a constant where the compiler is to keep their sums in registers. */
static inline void sums_down(int32_t *restrict y, const uint8_t *restrict x, ptrdiff_t step, int64_t taps, size_t n,
                             uint8_t flip) {
  int32_t sums[LINE] = {0};
  for (int64_t t = 0; t < taps; t++, x += step)
    for (size_t i = 0; i < n; i++) sums[i] += x[i] ^ flip;
  memcpy(y, sums, n * sizeof *y);
}

static void down(int32_t *restrict y, const uint8_t *restrict x, ptrdiff_t step, int64_t taps, size_t n, uint8_t flip) {
  for (; n >= LINE; n -= LINE, y += LINE, x += LINE) sums_down(y, x, step, taps, LINE, flip);
  for (; n >= 16; n -= 16, y += 16, x += 16) sums_down(y, x, step, taps, 16, flip);
  sums_down(y, x, step, taps, n, flip);
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

/* By lines of 64, whose 16 bits hold the sums of so many. */
static int32_t all(const uint8_t *restrict x, size_t n, uint8_t flip) {
  enum { LINES = 256, PIECE = 16 };
  int32_t sum = 0;
  while (n >= LINE) {
    uint16_t sums[LINE] = {0};
    for (size_t i = OX_MIN(n / LINE, (size_t)LINES); i > 0; i--, x += LINE, n -= LINE)
      for (int k = 0; k < LINE; k++) sums[k] = (uint16_t)(sums[k] + (x[k] ^ flip));
    for (int k = 0; k < LINE; k++) sum += sums[k];
  }
  for (; n >= PIECE; n -= PIECE, x += PIECE)
    for (int k = 0; k < PIECE; k++) sum += x[k] ^ flip;
  for (size_t i = 0; i < n; i++) sum += x[i] ^ flip;
  return sum;
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
const ox_mean_lines OX_PASTE(ox_mean_lines__, LINES_ISA) = {
    LINES_NEEDS, "mean_lines_" OX_QUOTE(LINES_ISA), down, along, all, rounded};
