/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/bytes_avx512.h - vectors of 64 bytes; the contract is in bytes_scalar.h. Instructions unpack and pack
 * within 16-byte quarters, so packing undoes the order that unpacking creates. */
#ifndef OX_SIMD_BYTES_AVX512_H
#define OX_SIMD_BYTES_AVX512_H

#define VI8_LANES 64

OX_INLINE size_t vi8_at(size_t v, size_t j) { return j / 4 * 16 + v * 4 + j % 4; }
OX_INLINE vi32 vi8_splat(uint8_t x) { return _mm512_set1_epi8((char)x); }
OX_INLINE vi32 vi16_splat(int x) { return _mm512_set1_epi16((short)x); }
OX_INLINE void vi8_quads(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d, vi32 *q) {
  __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);
  __m512i z = _mm512_loadu_si512(c), w = _mm512_loadu_si512(d);
  __m512i low = _mm512_unpacklo_epi8(x, y), high = _mm512_unpackhi_epi8(x, y);
  __m512i low2 = _mm512_unpacklo_epi8(z, w), high2 = _mm512_unpackhi_epi8(z, w);
  q[0] = _mm512_unpacklo_epi16(low, low2), q[1] = _mm512_unpackhi_epi16(low, low2);
  q[2] = _mm512_unpacklo_epi16(high, high2), q[3] = _mm512_unpackhi_epi16(high, high2);
}
OX_INLINE vi32 vi8_max_u8(vi32 a, vi32 b) { return _mm512_max_epu8(a, b); }
OX_INLINE __m512i bytes_words_(vi32 a, vi32 b, vi32 zero) { return _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero); }
OX_INLINE vi32 vi8_pack4(const vi32 *v, vi32 zero) {
  return _mm512_packus_epi16(bytes_words_(v[0], v[1], zero), bytes_words_(v[2], v[3], zero));
}
OX_INLINE vi32 vi8_pack22(const vi32 *v, vi32 zero) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, vi8_pack4(v, zero));
}
/* The table as words: two halves of 64, each of which one instruction indexes by 6 bits. */
typedef struct vi8_table {
  __m512i words[4];
} vi8_table;
OX_INLINE vi8_table vi8_table_of(const uint8_t *t) {
  return (vi8_table){
      {_mm512_loadu_si512(t), _mm512_loadu_si512(t + 64), _mm512_loadu_si512(t + 128), _mm512_loadu_si512(t + 192)}};
}
/* Looks up bytes |x| that are in words of their own, zero-extended. */
OX_INLINE __m512i bytes_words_at_(const vi8_table *t, __m512i x) {
  __m512i at = _mm512_srli_epi16(x, 1), odd = _mm512_slli_epi16(_mm512_and_si512(x, _mm512_set1_epi16(1)), 3);
  __m512i low = _mm512_permutex2var_epi16(t->words[0], at, t->words[1]);
  __m512i high = _mm512_permutex2var_epi16(t->words[2], at, t->words[3]);
  __mmask32 upper = _mm512_test_epi16_mask(x, _mm512_set1_epi16(128));
  return _mm512_and_si512(_mm512_srlv_epi16(_mm512_mask_blend_epi16(upper, low, high), odd), _mm512_set1_epi16(255));
}
OX_INLINE vi32 vi8_lookup(const vi8_table *t, vi32 x) {
  __m512i even = bytes_words_at_(t, _mm512_and_si512(x, _mm512_set1_epi16(255)));
  return _mm512_or_si512(even, _mm512_slli_epi16(bytes_words_at_(t, _mm512_srli_epi16(x, 8)), 8));
}
OX_INLINE void vi8_store_n(uint8_t *p, vi32 v, size_t n) {
  _mm512_mask_storeu_epi8(p, n == 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1, v);
}
OX_INLINE void bytes_store_half_n_(uint8_t *p, __m256i v, size_t n) {
  if (n == 32)
    _mm256_storeu_si256((void *)p, v);
  else
    _mm256_mask_storeu_epi8(p, (__mmask32)((1u << n) - 1), v);
}
OX_INLINE void vi8_store_low_n(uint8_t *p, vi32 v, size_t n) { bytes_store_half_n_(p, _mm512_castsi512_si256(v), n); }
OX_INLINE void vi8_store_high_n(uint8_t *p, vi32 v, size_t n) {
  bytes_store_half_n_(p, _mm512_extracti64x4_epi64(v, 1), n);
}

#endif
