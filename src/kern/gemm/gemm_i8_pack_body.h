/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_pack_body.h - packs panels of signed B and rows of unsigned A, with their sums. Parameters: GEMM_NV
 * (vectors in a row of a panel), GEMM_PANEL and GEMM_ROW (names of the functions). Include a simd/i8_<isa>.h first. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { NV = GEMM_NV, L = VF32_LANES, NR = NV * L };

OX_INLINE uint32_t quad_at(const uint8_t *s, ptrdiff_t ks, size_t n) { /* n bytes of stride ks, little-endian */
  uint32_t x = 0;
  for (size_t i = 0; i < n; i++) x |= (uint32_t)s[(ptrdiff_t)i * ks] << 8 * i;
  return x;
}

/* Interleaves four full rows of a full panel: bytes are widened to 32-bit lanes and combined there. */
OX_INLINE void quads_of_rows(const uint8_t *s, ptrdiff_t ks, vi32 flip, uint8_t *to) {
  OX_UNROLL for (int j = 0; j < NV; j++, s += L) {
    vi32 x = vi32_or(vi32_load_u8(s), vi32_shl(vi32_load_u8(s + ks), 8));
    vi32 y = vi32_or(vi32_shl(vi32_load_u8(s + 2 * ks), 16), vi32_shl(vi32_load_u8(s + 3 * ks), 24));
    vi32_store((int32_t *)(void *)(to + 4 * j * L), vi32_xor(vi32_or(x, y), flip));
  }
}

void GEMM_PANEL(const uint8_t *b, uint8_t flip, ptrdiff_t ks, ptrdiff_t ns, size_t k, size_t kp, size_t w, uint8_t *to,
                int32_t *sums) {
  const vi32 ones = vi32_splat(0x01010101);
  const uint32_t flips = flip * 0x01010101u;
  const vi32 flips_v = vi32_splat(flip ? -0x7f7f7f80 : 0);
  vi32 total[NV];
  OX_UNROLL for (int j = 0; j < NV; j++) total[j] = vi32_zero();
  for (size_t q = 0; q < kp; q += 4, to += 4 * NR) {
    size_t n = q >= k ? 0 : k - q < 4 ? k - q : 4;
    const uint8_t *s = b + (ptrdiff_t)q * ks;
    if (n == 4 && ns == 1 && w == NR) {
      quads_of_rows(s, ks, flips_v, to);
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
  const vi32 ones = vi32_splat(0x01010101), flips = vi32_splat(flip ? -0x7f7f7f80 : 0);
  vi32 total = vi32_zero();
  size_t i = 0;
  for (; i + 4 * L <= k; i += 4 * L) {
    vi32 x = vi32_xor(vi32_load((const int32_t *)(const void *)(a + i)), flips);
    vi32_store((int32_t *)(void *)(to + i), x);
    total = vi32_dot_u8s8(total, x, ones);
  }
  if (i < k) { /* the remainder, zero padded */
    uint8_t rest[4 * L];
    memset(rest, flip, sizeof rest);
    memcpy(rest, a + i, k - i);
    vi32 x = vi32_xor(vi32_load((const int32_t *)(const void *)rest), flips);
    total = vi32_dot_u8s8(total, x, ones);
    vi32_store((int32_t *)(void *)rest, x);
    size_t n = kp - i < sizeof rest ? kp - i : sizeof rest;
    memcpy(to + i, rest, n);
    i += n;
  }
  memset(to + i, 0, kp - i);
  return vi32_sum(total);
}
