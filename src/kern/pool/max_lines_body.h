/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_lines_body.h - maxima of lines of bytes over the SIMD vocabulary. The top bit of signed bytes is
 * flipped, so that they compare as unsigned ones. Parameters: LINES_ISA, LINES_NEEDS; include simd/f32_<isa>.h and
 * simd/bytes_<isa>.h first. */
#include <string.h>

#include "kern/pool/max_lines.h"

OX_INLINE vi32 load(const uint8_t *p) { return vi32_load((const int32_t *)(const void *)p); }

OX_INLINE void column(uint8_t *y, const uint8_t *x, ptrdiff_t step, int64_t taps, vi32 flip, size_t n) {
  vi32 most = vi32_zero();
  for (int64_t t = 0; t < taps; t++) most = vi8_max_u8(most, vi32_xor(load(x + t * step), flip));
  vi8_store_n(y, vi32_xor(most, flip), n);
}

static void lines(uint8_t *y, const uint8_t *x, ptrdiff_t step, int64_t taps, size_t n, bool is_signed) {
  const uint8_t mask = is_signed ? 128 : 0;
  vi32 flip = vi8_splat(mask);
  size_t i = 0;
  for (; i + VI8_LANES <= n; i += VI8_LANES) column(y + i, x + i, step, taps, flip, VI8_LANES);
  if (i == n) return;
  if (n >= VI8_LANES) { /* a last vector that overlaps the one before */
    i = n - VI8_LANES;
    column(y + i, x + i, step, taps, flip, VI8_LANES);
    return;
  }
  for (; i < n; i++) {
    uint8_t most = 0;
    for (int64_t t = 0; t < taps; t++) most = OX_MAX(most, (uint8_t)(x[t * step + (ptrdiff_t)i] ^ mask));
    y[i] = most ^ mask;
  }
}

extern const ox_max_lines OX_PASTE(ox_max_lines__, LINES_ISA);
const ox_max_lines OX_PASTE(ox_max_lines__, LINES_ISA) = {LINES_NEEDS, "max_lines_" OX_QUOTE(LINES_ISA), lines};
