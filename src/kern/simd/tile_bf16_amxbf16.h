/* SPDX-License-Identifier: Apache-2.0
 * simd/tile_bf16_amxbf16.h - matrix tiles of bfloat16 on AMX; the contract is in tile_bf16_scalar.h. */
#ifndef OX_SIMD_TILE_BF16_AMXBF16_H
#define OX_SIMD_TILE_BF16_AMXBF16_H

#include "kern/simd/f32_avx512.h"

/* Palette 1: eight tiles of 16 rows of 64 bytes. Static: the intrinsic tells the compiler of its first bytes only, and
 * stores to a copy on the stack would be dropped as dead. */
static const struct vt_config_ {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} vt_config_ = {.palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

#define VT_TILES (void)0
#define vt_zero(n) _tile_zero(n)
#define vt_load(n, p, stride) _tile_loadd(n, p, stride)
#define vt_dot(c, a, b) _tile_dpbf16ps(c, a, b)
#define vt_store(n, p, stride) _tile_stored(n, p, stride)

OX_INLINE void vt_begin(void) { _tile_loadconfig(&vt_config_); }
OX_INLINE void vt_end(void) { _tile_release(); }
OX_INLINE vf32 vt_round(vf32 x) { return f32_of_bf16_((__m256i)_mm512_cvtneps_pbh(x)); }
OX_INLINE void vt_put(uint16_t *p, vf32 x) {
  _mm256_storeu_si256((void *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(x), 16)));
}

#endif
