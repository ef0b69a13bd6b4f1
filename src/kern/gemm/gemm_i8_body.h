/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_body.h - the MR x NR micro-kernel for bytes, by quads of k. Parameters: GEMM_NAME, GEMM_MR, and
 * those of gemm_i8_pack_body.h. Rows of A are read in whole quads: the driver pads them with zeros. */
#include <string.h>

#include "kern/gemm/gemm_i8_pack_body.h"
#include "kern/gemm/gemm_i8_store.h"

/* Prefetches the share of the next weights that belongs to one quad of k. */
OX_INLINE void fetch_next(const int8_t *p, const int m) {
  OX_UNROLL for (int i = 0; i < NR * 4; i += 64) {
    if (m > GEMM_MR / 2)
      OX_PREFETCH_L2(p + i);
    else
      OX_PREFETCH(p + i);
  }
}

/* Adds the products of the quad of k at |a| with the weights at |b|. Three rows share a pointer, since p, p + rs and
 * p + 2 rs are all addressing modes. */
OX_INLINE void add_quad(const uint8_t *const *a, ptrdiff_t rs, const int8_t *b, vi32 (*acc)[NV], const int m) {
  vi32 bv[NV];
  OX_UNROLL for (int j = 0; j < NV; j++) bv[j] = vi32_load((const int32_t *)(const void *)(b + 4 * j * L));
  OX_UNROLL for (int i = 0; i < m; i++) {
    int32_t quad;
    memcpy(&quad, a[i / 3] + i % 3 * rs, 4);
    vi32 ai = vi32_splat(quad);
    OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vi32_dot_u8s8(acc[i][j], ai, bv[j]);
  }
}

OX_INLINE void next_quad(const uint8_t **a, const int m) { OX_UNROLL for (int g = 0; g < (m + 2) / 3; g++) a[g] += 4; }

/* Few rows split k among several sums, so that a product need not wait for the one before it. */
OX_INLINE void rows(const ox_gemm_i8_tile *t, int32_t *restrict sums, const int m) {
  enum { CHAINS = 4 };
  const int chains = m * NV >= 8 ? 1 : m * NV >= 4 ? 2 : CHAINS;
  const int8_t *b = t->b, *fetch = t->fetch;
  const ptrdiff_t rs = (ptrdiff_t)t->a_rs;
  const uint8_t *a[(GEMM_MR + 2) / 3];
  vi32 acc[CHAINS][GEMM_MR][NV];
  OX_UNROLL for (int g = 0; g < (m + 2) / 3; g++) a[g] = t->a + 3 * g * rs;
  OX_UNROLL for (int s = 0; s < chains; s++) OX_UNROLL for (int i = 0; i < m; i++)
      OX_UNROLL for (int j = 0; j < NV; j++) acc[s][i][j] = vi32_zero();
  size_t q = 0;
  /* Rows of C are prefetched one at a time: all at once, they would delay the loads of B. */
  const size_t elem = t->out->type == OX_F32 || t->out->type == OX_I32 ? 4 : 1, piece = t->quads / (size_t)m;
  const char *soon = t->c;
  for (int r = 0; chains == 1 && r < m; r++, soon += t->c_rs * elem) {
    for (size_t j = 0; j < NR * elem; j += 64) OX_PREFETCH_WRITE(soon + j);
    for (size_t end = r == m - 1 ? t->quads : q + piece; q < end; q++, b += NR * 4, fetch += t->fetch_step) {
      fetch_next(fetch, m);
      add_quad(a, rs, b, acc[0], m);
      next_quad(a, m);
    }
  }
  for (; q + (size_t)chains <= t->quads; q += (size_t)chains)
    OX_UNROLL for (int s = 0; s < chains; s++, b += NR * 4, fetch += t->fetch_step) {
      fetch_next(fetch, m);
      add_quad(a, rs, b, acc[s], m);
      next_quad(a, m);
    }
  for (; chains > 1 && q < t->quads; q++, b += NR * 4) {
    add_quad(a, rs, b, acc[0], m);
    next_quad(a, m);
  }
  OX_UNROLL for (int s = 1; s < chains; s++) OX_UNROLL for (int i = 0; i < m; i++)
      OX_UNROLL for (int j = 0; j < NV; j++) acc[0][i][j] = vi32_add(acc[0][i][j], acc[s][i][j]);
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
      vi32_store(sums + i * NR + j * L, acc[0][i][j]);
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
#if GEMM_MR >= 4
    GEMM_ROWS(4)
#endif
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
