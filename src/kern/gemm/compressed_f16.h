/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_f16.h - a group of float32 weights that are all float16: vector after vector. Include
 * simd/f32_<isa>.h first, compressed_body.h afterwards. */
#include <stdbool.h>

#define COMPRESSED_BITS 16
#define COMPRESSED_MOST_BASE 0

enum { GROUP_VECTORS = 8 };

/* Rounds to float16; which elements are others then. */
OX_INLINE vm32 narrow(vf32 x, uint16_t *half) {
  vf32_store_f16(half, x);
  return vm32_not(vi32_eq(vf32_bits(vf32_load_f16(half)), vf32_bits(x)));
}

OX_INLINE bool is_in_range(uint32_t bits, uint32_t base) {
  uint16_t half[VF32_LANES];
  (void)base;
  return !vm32_any(narrow(vi32_as_f32(vi32_splat((int32_t)bits)), half));
}

OX_INLINE bool compress_group(const float *rows, uint8_t base, uint8_t *to) {
  vm32 lost = vi32_lt(vi32_zero(), vi32_zero());
  (void)base;
  OX_UNROLL for (int v = 0; v < GROUP_VECTORS; v++) {
    uint16_t *half = (uint16_t *)(void *)(to + v * 2 * VF32_LANES);
    lost = vm32_or(lost, narrow(vf32_load(rows + v * VF32_LANES), half));
  }
  return !vm32_any(lost);
}

OX_INLINE void expand_group(const uint8_t *p, uint8_t base, vf32 *w) {
  (void)base;
  OX_UNROLL for (int v = 0; v < GROUP_VECTORS; v++) w[v] =
      vf32_load_f16((const uint16_t *)(const void *)(p + v * 2 * VF32_LANES));
}
