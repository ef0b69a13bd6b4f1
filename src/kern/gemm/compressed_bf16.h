/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_bf16.h - a group of float32 weights that are all bfloat16: 32-bit words, whose low halves are
 * one vector, high halves the next. Include simd/f32_<isa>.h first, compressed_body.h afterwards. */
#include <stdbool.h>

#define COMPRESSED_BITS 16
#define COMPRESSED_MOST_BASE 0

enum { WORDS = 4, LOW_HALF = 0xffff };

OX_INLINE bool is_in_range(uint32_t bits, uint32_t base) {
  (void)base;
  return (bits & LOW_HALF) == 0;
}

OX_INLINE bool compress_group(const float *rows, uint8_t base, uint8_t *to) {
  vi32 lost = vi32_splat(base);
  OX_UNROLL for (int v = 0; v < WORDS; v++) {
    vi32 low = vf32_bits(vf32_load(rows + 2 * v * VF32_LANES));
    vi32 high = vf32_bits(vf32_load(rows + (2 * v + 1) * VF32_LANES));
    lost = vi32_or(lost, vi32_and(vi32_or(low, high), vi32_splat(LOW_HALF)));
    vi32 word = vi32_or(vi32_shr(low, 16), vi32_and(high, vi32_splat(~LOW_HALF)));
    vi32_store((int32_t *)(void *)(to + v * 4 * VF32_LANES), word);
  }
  return !vm32_any(vm32_not(vi32_eq(lost, vi32_zero())));
}

OX_INLINE void expand_group(const uint8_t *p, uint8_t base, vf32 *w) {
  (void)base;
  OX_UNROLL for (int v = 0; v < WORDS; v++) {
    vi32 x = vi32_load((const int32_t *)(const void *)(p + v * 4 * VF32_LANES));
    w[2 * v] = vi32_as_f32(vi32_shl(x, 16)), w[2 * v + 1] = vi32_as_f32(vi32_and(x, vi32_splat(~LOW_HALF)));
  }
}
