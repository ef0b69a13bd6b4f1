/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_body.h - sums of MR x NR byte products over a panel, by quads of k. Parameters: GEMM_NAME, GEMM_MR,
 * and those of gemm_i8_pack_body.h. The rows of A are read whole quads: the driver pads them with zeros. */
#include <string.h>

#include "kern/gemm/gemm_i8_pack_body.h"
#include "kern/gemm/gemm_i8_store.h"

/* Of the next weights, what one quad of k brings. */
OX_INLINE void fetch_next(const int8_t *p, const int m) {
  OX_UNROLL for (int i = 0; i < NR * 4; i += 64) {
    if (m > GEMM_MR / 2)
      OX_PREFETCH_L2(p + i);
    else
      OX_PREFETCH(p + i);
  }
}

OX_INLINE void rows(const ox_gemm_i8_tile *t, int32_t *restrict sums, const int m) {
  const int8_t *b = t->b, *fetch = t->fetch;
  const uint8_t *a[GEMM_MR];
  vi32 acc[GEMM_MR][NV];
  OX_UNROLL for (int i = 0; i < m; i++) {
    a[i] = t->a + (size_t)i * t->a_rs;
    OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vi32_zero();
  }
  for (size_t q = 0; q < t->quads; q++, b += NR * 4, fetch += t->fetch_step) {
    fetch_next(fetch, m);
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
