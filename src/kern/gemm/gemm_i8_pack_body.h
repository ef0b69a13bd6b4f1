/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_pack_body.h - packs panels of signed B and rows of unsigned A, with their sums. Parameters: GEMM_NV
 * (vectors in a row of a panel), GEMM_PANEL and GEMM_ROW (names of the functions). Include a simd/i8_<isa>.h first. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { NV = GEMM_NV, L = VF32_LANES, NR = NV * L };

OX_INLINE uint32_t quad_at(const uint8_t *s, ptrdiff_t ks, size_t n) { /* n bytes of stride ks, little-endian */
  uint32_t x = 0;
  for (size_t i = 0; i < n; i++) x |= (uint32_t)s[(ptrdiff_t)i * ks] << 8 * i;
  return x;
}

/* 0x80 in every byte of the first |n| lanes. */
OX_INLINE vi32 flips_n(size_t n) {
  static const uint32_t all[16] = {0x80808080, 0x80808080, 0x80808080, 0x80808080, 0x80808080, 0x80808080,
                                   0x80808080, 0x80808080, 0x80808080, 0x80808080, 0x80808080, 0x80808080,
                                   0x80808080, 0x80808080, 0x80808080, 0x80808080};
  return vi32_load_n((const int32_t *)(const void *)all, n);
}

/* Interleaves four rows of a panel: bytes are widened to 32-bit lanes and combined there. Lanes beyond |w| are 0. */
OX_INLINE void quads_of_rows(const uint8_t *s, ptrdiff_t ks, size_t w, bool flip, uint8_t *to) {
  OX_UNROLL for (int j = 0; j < NV; j++, s += L) {
    size_t n = w > (size_t)(j * L) ? w - (size_t)(j * L) : 0;
    vi32 v = vi32_zero();
    if (n >= L) {
      vi32 x = vi32_or(vi32_load_u8(s), vi32_shl(vi32_load_u8(s + ks), 8));
      vi32 y = vi32_or(vi32_shl(vi32_load_u8(s + 2 * ks), 16), vi32_shl(vi32_load_u8(s + 3 * ks), 24));
      v = vi32_or(x, y);
      if (flip) v = vi32_xor(v, flips_n(L));
    } else if (n) {
      vi32 x = vi32_or(vi32_load_u8_n(s, n), vi32_shl(vi32_load_u8_n(s + ks, n), 8));
      vi32 y = vi32_or(vi32_shl(vi32_load_u8_n(s + 2 * ks, n), 16), vi32_shl(vi32_load_u8_n(s + 3 * ks, n), 24));
      v = vi32_or(x, y);
      if (flip) v = vi32_xor(v, flips_n(n));
    }
    vi32_store((int32_t *)(void *)(to + 4 * j * L), v);
  }
}

void GEMM_PANEL(const uint8_t *b, uint8_t flip, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t kp, size_t w, uint8_t *to,
                int32_t *sums) {
  const vi32 ones = vi32_splat(0x01010101);
  const uint32_t flips = flip * 0x01010101u;
  vi32 total[NV];
  OX_UNROLL for (int j = 0; j < NV; j++) total[j] = vi32_zero();
  for (size_t q = 0; q < kp; q += 4, to += 4 * NR) {
    size_t n = q >= k ? 0 : k - q < 4 ? k - q : 4;
    const uint8_t *s = b + (ptrdiff_t)q * ks;
    if (n == 4 && ns == 1) {
      quads_of_rows(s, ks, w, flip != 0, to);
    } else {
      uint32_t keep = n == 4 ? UINT32_MAX : (1u << 8 * n) - 1;
      for (size_t j = 0; j < NR; j++, s += ns) {
        uint32_t x = 0;
        if (j < w && n == 4 && ks == 1)
          memcpy(&x, s, 4);
        else if (j < w)
          x = quad_at(s, ks, n);
        if (j < w) x = (x ^ flips) & keep;
        memcpy(to + 4 * j, &x, 4);
      }
    }
    OX_UNROLL for (int j = 0; j < NV; j++) total[j] =
        vi32_dot_u8s8(total[j], ones, vi32_load((const int32_t *)(const void *)(to + 4 * j * L)));
  }
  OX_UNROLL for (int j = 0; j < NV; j++) vi32_store(sums + j * L, total[j]);
}

int32_t GEMM_ROW(const uint8_t *a, uint8_t flip, size_t k, size_t kp, uint8_t *to) {
  const vi32 ones = vi32_splat(0x01010101), flips = flip ? flips_n(L) : vi32_zero();
  vi32 total = vi32_zero();
  size_t i = 0;
  for (; i + 4 * L <= k; i += 4 * L) {
    vi32 x = vi32_xor(vi32_load((const int32_t *)(const void *)(a + i)), flips);
    vi32_store((int32_t *)(void *)(to + i), x);
    total = vi32_dot_u8s8(total, x, ones);
  }
  size_t quads = (k - i) / 4;
  if (quads) {
    vi32 x = vi32_load_n((const int32_t *)(const void *)(a + i), quads);
    if (flip) x = vi32_xor(x, flips_n(quads));
    vi32_store_n((int32_t *)(void *)(to + i), x, quads);
    total = vi32_dot_u8s8(total, x, ones);
    i += 4 * quads;
  }
  int32_t rest = 0; /* of the last quad, which zeros fill up */
  if (i < k) {
    uint32_t x = (quad_at(a + i, 1, k - i) ^ flip * 0x01010101u) & ((1u << 8 * (k - i)) - 1);
    memcpy(to + i, &x, 4);
    rest = (int32_t)((x & 255) + (x >> 8 & 255) + (x >> 16));
    i += 4;
  }
  if (i < kp) memset(to + i, 0, kp - i);
  return vi32_sum(total) + rest;
}
