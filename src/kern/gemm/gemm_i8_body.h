/* SPDX-License-Identifier: Apache-2.0
 * gemm/gemm_i8_body.h - sums of MR x NR byte products over a panel, by quads of k. Parameters: GEMM_NAME, GEMM_MR,
 * GEMM_NV (vectors per row), GEMM_PANEL and GEMM_ROW (names of the packing functions). The rows of A are read whole
 * quads: the driver pads them with zeros. */
#include <string.h>

#include "kern/gemm/gemm_i8_store.h"

enum { NV = GEMM_NV, L = VF32_LANES, NR = NV * L };

OX_INLINE void rows(const ox_gemm_i8_tile *t, int32_t *restrict sums, const int m) {
  const int8_t *b = t->b;
  const uint8_t *a[GEMM_MR];
  vi32 acc[GEMM_MR][NV];
  OX_UNROLL for (int i = 0; i < m; i++) {
    a[i] = t->a + (size_t)i * t->a_rs;
    OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vi32_zero();
  }
  for (size_t q = 0; q < t->quads; q++, b += NR * 4) {
    vi32 bv[NV];
    OX_UNROLL for (int j = 0; j < NV; j++) bv[j] = vi32_load((const int32_t *)(const void *)(b + 4 * j * L));
    OX_UNROLL for (int i = 0; i < m; i++) {
      int32_t quad;
      memcpy(&quad, a[i] + 4 * q, 4);
      vi32 ai = vi32_splat(quad);
      OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vi32_dot_u8s8(acc[i][j], ai, bv[j]);
    }
  }
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
      vi32_store(sums + i * NR + j * L, acc[i][j]);
}

#define GEMM_ROWS(m)  \
  case m:             \
    rows(t, sums, m); \
    break;

void GEMM_NAME(const ox_gemm_i8_tile *t) {
  _Alignas(64) int32_t sums[GEMM_MR * NR];
  switch (t->m) {
    GEMM_ROWS(1)
    GEMM_ROWS(2)
    GEMM_ROWS(3)
    GEMM_ROWS(4)
#if GEMM_MR >= 6
    GEMM_ROWS(5)
    GEMM_ROWS(6)
#endif
#if GEMM_MR >= 8
    GEMM_ROWS(7)
    GEMM_ROWS(8)
#endif
#if GEMM_MR >= 12
    GEMM_ROWS(9)
    GEMM_ROWS(10)
    GEMM_ROWS(11)
    GEMM_ROWS(12)
#endif
  }
  ox_gemm_i8_store(t, sums, NR);
}

OX_INLINE uint32_t quad_at(const uint8_t *s, ptrdiff_t ks, size_t n) { /* n bytes, stride ks, lowest first */
  uint32_t x = 0;
  for (size_t i = 0; i < n; i++) x |= (uint32_t)s[(ptrdiff_t)i * ks] << 8 * i;
  return x;
}

/* Four full rows of a full panel: bytes widen to lanes and are put together there. */
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
  uint32_t rest = 0, sum;
  for (; i + 4 * L <= k; i += 4 * L) {
    vi32 x = vi32_xor(vi32_load((const int32_t *)(const void *)(a + i)), flips);
    vi32_store((int32_t *)(void *)(to + i), x);
    total = vi32_dot_u8s8(total, x, ones);
  }
  for (; i < k; i++) to[i] = a[i] ^ flip, rest += to[i];
  memset(to + k, 0, kp - k);
  int32_t lanes = vi32_sum(total);
  memcpy(&sum, &lanes, 4), sum += rest, memcpy(&lanes, &sum, 4);
  return lanes;
}
