/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/bytes_avx2.h - vectors of 32 bytes; the contract is in bytes_scalar.h. Instructions unpack and pack within
 * 16-byte halves, so packing undoes the order that unpacking creates. */
#ifndef OX_SIMD_BYTES_AVX2_H
#define OX_SIMD_BYTES_AVX2_H

#include <string.h>

#define VI8_LANES 32

OX_INLINE size_t vi8_at(size_t v, size_t j) { return j / 4 * 16 + v * 4 + j % 4; }
OX_INLINE vi32 vi8_splat(uint8_t x) { return _mm256_set1_epi8((char)x); }
OX_INLINE vi32 vi16_splat(int x) { return _mm256_set1_epi16((short)x); }
OX_INLINE vi32 bytes_load_(const uint8_t *p) { return _mm256_loadu_si256((const void *)p); }
OX_INLINE void vi8_quads(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d, vi32 *q) {
  __m256i x = bytes_load_(a), y = bytes_load_(b), z = bytes_load_(c), w = bytes_load_(d);
  __m256i low = _mm256_unpacklo_epi8(x, y), high = _mm256_unpackhi_epi8(x, y);
  __m256i low2 = _mm256_unpacklo_epi8(z, w), high2 = _mm256_unpackhi_epi8(z, w);
  q[0] = _mm256_unpacklo_epi16(low, low2), q[1] = _mm256_unpackhi_epi16(low, low2);
  q[2] = _mm256_unpacklo_epi16(high, high2), q[3] = _mm256_unpackhi_epi16(high, high2);
}
OX_INLINE vi32 vi8_max_u8(vi32 a, vi32 b) { return _mm256_max_epu8(a, b); }
OX_INLINE __m256i bytes_words_(vi32 a, vi32 b, vi32 zero) { return _mm256_adds_epi16(_mm256_packs_epi32(a, b), zero); }
OX_INLINE vi32 vi8_pack4(const vi32 *v, vi32 zero) {
  return _mm256_packus_epi16(bytes_words_(v[0], v[1], zero), bytes_words_(v[2], v[3], zero));
}
OX_INLINE vi32 vi8_pack22(const vi32 *v, vi32 zero) {
  return _mm256_permutevar8x32_epi32(vi8_pack4(v, zero), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
typedef struct vi8_table {
  const uint8_t *rows;
} vi8_table;
OX_INLINE vi8_table vi8_table_of(const uint8_t *t) { return (vi8_table){t}; }
/* Looks the low halves up in all 16 rows, of which the bits of the high halves choose one, pair by pair: a shuffle
 * heeds only the low halves, a blend only the top bit of a byte. */
typedef struct bytes_index_ {
  __m256i low, bit4, bit5, bit6, bit7;
} bytes_index_;
OX_INLINE __m256i bytes_row_(const vi8_table *t, const bytes_index_ *x, int i) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(t->rows + 16 * i))), x->low);
}
OX_INLINE __m256i bytes_rows2_(const vi8_table *t, const bytes_index_ *x, int i) {
  return _mm256_blendv_epi8(bytes_row_(t, x, i), bytes_row_(t, x, i + 1), x->bit4);
}
OX_INLINE __m256i bytes_rows4_(const vi8_table *t, const bytes_index_ *x, int i) {
  return _mm256_blendv_epi8(bytes_rows2_(t, x, i), bytes_rows2_(t, x, i + 2), x->bit5);
}
OX_INLINE __m256i bytes_rows8_(const vi8_table *t, const bytes_index_ *x, int i) {
  return _mm256_blendv_epi8(bytes_rows4_(t, x, i), bytes_rows4_(t, x, i + 4), x->bit6);
}
OX_INLINE vi32 vi8_lookup(const vi8_table *t, vi32 x) {
  bytes_index_ i = {_mm256_and_si256(x, _mm256_set1_epi8(15)), _mm256_slli_epi16(x, 3), _mm256_slli_epi16(x, 2),
                    _mm256_add_epi8(x, x), x};
  return _mm256_blendv_epi8(bytes_rows8_(t, &i, 0), bytes_rows8_(t, &i, 8), i.bit7);
}
OX_INLINE void vi8_store_n(uint8_t *p, vi32 v, size_t n) {
  uint8_t t[32];
  if (n == 32) {
    _mm256_storeu_si256((void *)p, v);
    return;
  }
  _mm256_storeu_si256((void *)t, v);
  memcpy(p, t, n);
}
OX_INLINE void bytes_store_half_n_(uint8_t *p, __m128i v, size_t n) {
  uint8_t t[16];
  if (n == 16) {
    _mm_storeu_si128((void *)p, v);
    return;
  }
  _mm_storeu_si128((void *)t, v);
  memcpy(p, t, n);
}
OX_INLINE void vi8_store_low_n(uint8_t *p, vi32 v, size_t n) { bytes_store_half_n_(p, _mm256_castsi256_si128(v), n); }
OX_INLINE void vi8_store_high_n(uint8_t *p, vi32 v, size_t n) {
  bytes_store_half_n_(p, _mm256_extracti128_si256(v, 1), n);
}

#endif
