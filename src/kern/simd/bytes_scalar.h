/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/bytes_scalar.h - the vocabulary of bytes in plain C; include f32_scalar.h first. This file is the contract:
 * - a vector of VI8_LANES = 4 x VF32_LANES bytes is a vi32.
 * - quads(a, b, c, d, q): the quads (a[i], b[i], c[i], d[i]) of VI8_LANES bytes of four rows: lane j of q[v] is that of
 *   byte i = vi8_at(v, j).
 * - max_u8: the larger of unsigned bytes.
 * - pack4(v, zero): lanes in the order of vi8_at, lane + zero saturated to 0..255. pack22: v[0] and v[1] with lanes in
 * order make the first half of the bytes, v[2] and v[3] the second. |zero| comes from vi16_splat and lies within
 * +-2^14. Lanes may hold anything.
 * - lookup(t, x): for each byte x, entry x of the 256 bytes passed to table_of, which must outlive the table.
 * - store_n: the first n bytes, 0 <= n <= VI8_LANES; store_low_n, store_high_n: the first n of the lower or upper half,
 * n at most VI8_LANES / 2. They touch no memory past those. splat: one byte in all places. */
#ifndef OX_SIMD_BYTES_SCALAR_H
#define OX_SIMD_BYTES_SCALAR_H

#define VI8_LANES 4

OX_INLINE size_t vi8_at(size_t v, size_t j) { return v + 0 * j; }
OX_INLINE vi32 vi8_splat(uint8_t x) { return i32_of_(x * 0x01010101u); }
OX_INLINE vi32 vi16_splat(int x) { return x; }
OX_INLINE void vi8_quads(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d, vi32 *q) {
  for (int v = 0; v < 4; v++)
    q[v] = i32_of_((uint32_t)a[v] | (uint32_t)b[v] << 8 | (uint32_t)c[v] << 16 | (uint32_t)d[v] << 24);
}
OX_INLINE vi32 vi8_max_u8(vi32 a, vi32 b) {
  uint32_t m = 0;
  for (int i = 0; i < 32; i += 8) {
    uint32_t x = (uint32_t)a >> i & 255, y = (uint32_t)b >> i & 255;
    m |= (x > y ? x : y) << i;
  }
  return i32_of_(m);
}
OX_INLINE uint32_t bytes_of_lane_(vi32 v, vi32 zero) {
  return (uint32_t)vi32_min(vi32_max(vi32_min(vi32_max(v, -0x8000), 0x7fff) + zero, 0), 255);
}
OX_INLINE vi32 vi8_pack4(const vi32 *v, vi32 zero) {
  return i32_of_(bytes_of_lane_(v[0], zero) | bytes_of_lane_(v[1], zero) << 8 | bytes_of_lane_(v[2], zero) << 16 |
                 bytes_of_lane_(v[3], zero) << 24);
}
OX_INLINE vi32 vi8_pack22(const vi32 *v, vi32 zero) { return vi8_pack4(v, zero); }
typedef struct vi8_table {
  const uint8_t *bytes;
} vi8_table;
OX_INLINE vi8_table vi8_table_of(const uint8_t *t) { return (vi8_table){t}; }
OX_INLINE vi32 vi8_lookup(const vi8_table *t, vi32 x) {
  uint32_t y = 0;
  for (int i = 0; i < 32; i += 8) y |= (uint32_t)t->bytes[(uint32_t)x >> i & 255] << i;
  return i32_of_(y);
}
OX_INLINE void vi8_store_n(uint8_t *p, vi32 v, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = (uint8_t)((uint32_t)v >> 8 * i);
}
OX_INLINE void vi8_store_low_n(uint8_t *p, vi32 v, size_t n) { vi8_store_n(p, v, n); }
OX_INLINE void vi8_store_high_n(uint8_t *p, vi32 v, size_t n) { vi8_store_n(p, vi32_shr(v, 16), n); }

#endif
