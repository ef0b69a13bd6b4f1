/* SPDX-License-Identifier: Apache-2.0
 * simd/tile_bf16_scalar.h - matrix tiles of bfloat16 in plain C: the contract, and the stand-in where there is no such
 * unit. VT_TILES declares the registers of a function. Tiles 0 to 3 hold 16 x 16 floats, 4 to 7 hold 16 rows of 64
 * bytes; numbers are literals. vt_dot(c, a, b): c[i][j] += sum over p of a[i][2p] b[p][2j] + a[i][2p+1] b[p][2j+1];
 * denormal inputs count as zero. vt_begin, vt_end: around all of it, once per thread and run of tiles.
 * vt_put(p, x): lanes that are bfloat16 already, as such. vt_round(x): float rounded to the nearest bfloat16, for |x|
 * below 0x1.ffp127 (denormals may become zero). */
#ifndef OX_SIMD_TILE_BF16_SCALAR_H
#define OX_SIMD_TILE_BF16_SCALAR_H

#include "kern/simd/f32_scalar.h"

typedef struct vt_tiles {
  float sum[4][16][16];
  uint16_t in[4][16][32];
} vt_tiles;

#define VT_TILES vt_tiles vt_
#define vt_zero(n) memset(vt_.sum[n], 0, sizeof vt_.sum[n])
#define vt_load(n, p, stride) vt_load_(vt_.in[(n)-4], p, stride)
#define vt_dot(c, a, b) vt_dot_(vt_.sum[c], vt_.in[(a)-4], vt_.in[(b)-4])
#define vt_store(n, p, stride) vt_store_(vt_.sum[n], p, stride)

OX_INLINE void vt_begin(void) {}
OX_INLINE void vt_end(void) {}
static inline void vt_load_(uint16_t (*t)[32], const void *p, size_t stride) {
  for (size_t i = 0; i < 16; i++) memcpy(t[i], (const char *)p + i * stride, 64);
}
static inline void vt_store_(float (*t)[16], void *p, size_t stride) {
  for (size_t i = 0; i < 16; i++) memcpy((char *)p + i * stride, t[i], 64);
}
OX_INLINE float vt_float_(uint16_t h) { return h & 0x7f80 ? vi32_as_f32(i32_of_((uint32_t)h << 16)) : 0.0f; }
static inline void vt_dot_(float (*c)[16], uint16_t (*a)[32], uint16_t (*b)[32]) {
  for (size_t i = 0; i < 16; i++)
    for (size_t p = 0; p < 16; p++) {
      float a0 = vt_float_(a[i][2 * p]), a1 = vt_float_(a[i][2 * p + 1]);
      for (size_t j = 0; j < 16; j++) c[i][j] += a0 * vt_float_(b[p][2 * j]) + a1 * vt_float_(b[p][2 * j + 1]);
    }
}
OX_INLINE vf32 vt_round(vf32 x) { return vi32_as_f32(i32_of_((uint32_t)f32_to_bf16_(x) << 16)); }
OX_INLINE void vt_put(uint16_t *p, vf32 x) { *p = (uint16_t)((uint32_t)vf32_bits(x) >> 16); }

#endif
