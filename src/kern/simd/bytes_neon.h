/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/bytes_neon.h - vectors of 16 bytes; the contract is in bytes_scalar.h. */
#ifndef OX_SIMD_BYTES_NEON_H
#define OX_SIMD_BYTES_NEON_H

#include <string.h>

#define VI8_LANES 16

OX_INLINE size_t vi8_at(size_t v, size_t j) { return v * 4 + j; }
OX_INLINE vi32 vi8_splat(uint8_t x) { return vreinterpretq_s32_u8(vdupq_n_u8(x)); }
OX_INLINE vi32 vi16_splat(int x) { return vreinterpretq_s32_s16(vdupq_n_s16((int16_t)x)); }
OX_INLINE void vi8_quads(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d, vi32 *q) {
  uint8x16_t x = vld1q_u8(a), y = vld1q_u8(b), z = vld1q_u8(c), w = vld1q_u8(d);
  uint16x8_t low = vreinterpretq_u16_u8(vzip1q_u8(x, y)), high = vreinterpretq_u16_u8(vzip2q_u8(x, y));
  uint16x8_t low2 = vreinterpretq_u16_u8(vzip1q_u8(z, w)), high2 = vreinterpretq_u16_u8(vzip2q_u8(z, w));
  q[0] = vreinterpretq_s32_u16(vzip1q_u16(low, low2)), q[1] = vreinterpretq_s32_u16(vzip2q_u16(low, low2));
  q[2] = vreinterpretq_s32_u16(vzip1q_u16(high, high2)), q[3] = vreinterpretq_s32_u16(vzip2q_u16(high, high2));
}
OX_INLINE vi32 vi8_max_u8(vi32 a, vi32 b) {
  return vreinterpretq_s32_u8(vmaxq_u8(vreinterpretq_u8_s32(a), vreinterpretq_u8_s32(b)));
}
OX_INLINE uint8x8_t bytes_half_(vi32 a, vi32 b, vi32 zero) {
  return vqmovun_s16(vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), vreinterpretq_s16_s32(zero)));
}
OX_INLINE vi32 vi8_pack4(const vi32 *v, vi32 zero) {
  return vreinterpretq_s32_u8(vcombine_u8(bytes_half_(v[0], v[1], zero), bytes_half_(v[2], v[3], zero)));
}
OX_INLINE vi32 vi8_pack22(const vi32 *v, vi32 zero) { return vi8_pack4(v, zero); }
typedef struct vi8_table {
  uint8x16x4_t rows[4];
} vi8_table;
OX_INLINE vi8_table vi8_table_of(const uint8_t *t) {
  vi8_table v;
  for (int i = 0; i < 4; i++) v.rows[i] = vld1q_u8_x4(t + 64 * i);
  return v;
}
/* Looks up 64 entries at a time: indices outside of a table leave the lane unchanged. */
OX_INLINE vi32 vi8_lookup(const vi8_table *t, vi32 x) {
  uint8x16_t at = vreinterpretq_u8_s32(x), sum = vqtbl4q_u8(t->rows[0], at);
  for (int i = 1; i < 4; i++) sum = vqtbx4q_u8(sum, t->rows[i], vsubq_u8(at, vdupq_n_u8((uint8_t)(64 * i))));
  return vreinterpretq_s32_u8(sum);
}
OX_INLINE void vi8_store_n(uint8_t *p, vi32 v, size_t n) {
  uint8_t t[16];
  if (n == 16) {
    vst1q_u8(p, vreinterpretq_u8_s32(v));
    return;
  }
  vst1q_u8(t, vreinterpretq_u8_s32(v));
  memcpy(p, t, n);
}
OX_INLINE void bytes_store_half_n_(uint8_t *p, uint8x8_t v, size_t n) {
  uint8_t t[8];
  if (n == 8) {
    vst1_u8(p, v);
    return;
  }
  vst1_u8(t, v);
  memcpy(p, t, n);
}
OX_INLINE void vi8_store_low_n(uint8_t *p, vi32 v, size_t n) {
  bytes_store_half_n_(p, vget_low_u8(vreinterpretq_u8_s32(v)), n);
}
OX_INLINE void vi8_store_high_n(uint8_t *p, vi32 v, size_t n) {
  bytes_store_half_n_(p, vget_high_u8(vreinterpretq_u8_s32(v)), n);
}

#endif
