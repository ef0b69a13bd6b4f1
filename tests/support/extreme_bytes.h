/* SPDX-License-Identifier: Apache-2.0
 * support/extreme_bytes.h - bytes that show where instructions saturate; the same ones for the same seed. */
#ifndef OX_TESTS_SUPPORT_EXTREME_BYTES_H
#define OX_TESTS_SUPPORT_EXTREME_BYTES_H

#include <stdint.h>

/* Extremes are frequent. */
static inline uint8_t extreme_byte(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  uint32_t r = *seed >> 8;
  return (uint8_t)(r % 4 == 0 ? 255 : r % 4 == 1 ? 128 : r % 4 == 2 ? 127 : r >> 8);
}

/* Signed weights whose neighbours' absolute values add up to 128 at most, but for one in a thousand: bounds of what
 * pairs in 16 bits can hold. */
static inline uint8_t mild_byte(uint32_t *seed) {
  static const int8_t of[8] = {64, -64, 63, -63, 1, 0, 64, -64}, rare[4] = {65, -65, 127, -128};
  extreme_byte(seed);
  return (uint8_t)(*seed >> 8 & 1023 ? of[*seed >> 20 & 7] : rare[*seed >> 20 & 3]);
}

#endif
