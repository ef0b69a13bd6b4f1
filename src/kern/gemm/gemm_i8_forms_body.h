/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_forms_body.h - the MR x NR micro-kernels for split panels and for kept weights. Parameters: those
 * of gemm_i8_body.h, and GEMM_FORMS; include that and a simd/i8_kept_<isa>.h first. */
#include "kern/simd/i8_rows.h"

/* At most three rows: a, a + rs and a + 2 rs are all addressing modes. */
OX_INLINE void add_formed(const uint8_t *a, ptrdiff_t rs, const int8_t *b, vi32 (*acc)[NV], const int m,
                          const bool pairs) {
  OX_UNROLL for (int i = 0; i < m; i++) i8_add_row(acc[i], a + i * rs, b, NV, pairs);
}

OX_INLINE void formed_rows(const ox_gemm_i8_tile *t, int32_t *restrict sums, const int m, const bool pairs) {
  const ptrdiff_t rs = (ptrdiff_t)t->a_rs;
  const uint8_t *a = t->a;
  const int8_t *b = t->b, *fetch = t->fetch;
  vi32 acc[GEMM_MR][NV];
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] =
      !pairs && t->more ? vi32_load(sums + i * NR + j * L) : vi32_zero();
  for (size_t q = 0; q < t->quads; q++, a += 4, b += 4 * NR * (pairs ? 1 : I8_KEPT), fetch += t->fetch_step) {
    fetch_next(fetch, m);
    add_formed(a, rs, b, acc, m, pairs);
  }
  for (size_t e = 0; pairs && e < t->n_extra; e++, b += 4 * NR)
    add_formed(t->a + 4 * t->extra[e], rs, b, acc, m, pairs);
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
      vi32_store(sums + i * NR + j * L, acc[i][j]);
}

OX_INLINE void formed_tile(const ox_gemm_i8_tile *t, int32_t *sums, const bool pairs) {
  if (t->m == 1)
    formed_rows(t, sums, 1, pairs);
  else if (t->m == 2)
    formed_rows(t, sums, 2, pairs);
  else
    formed_rows(t, sums, 3, pairs);
}

static void pairs_rows(const ox_gemm_i8_tile *t) {
  _Alignas(64) int32_t sums[GEMM_MR * NR];
  formed_tile(t, sums, true);
  ox_gemm_i8_store(t, sums, NR);
}

static void pairs_abreast(const ox_gemm_i8_tile *t) {
  enum { ABREAST = OX_GEMM_I8_ABREAST, TURN = 4 /* quads */ };
  _Alignas(64) int32_t sums[ABREAST][NR];
  memset(sums, 0, sizeof sums);
  const size_t quads = t->quads;
  for (size_t q = 0, n; q < quads; q += n) {
    n = quads - q < TURN ? quads - q : TURN;
    for (size_t p = 0; p < ABREAST; p++) {
      const int8_t *b = t[p].b + q * 4 * NR;
      vi32 acc[NV];
      OX_UNROLL for (int j = 0; j < NV; j++) acc[j] = vi32_load(sums[p] + j * L);
      for (size_t i = 0; i < n; i++) i8_add_row(acc, t->a + 4 * (q + i), b + i * 4 * NR, NV, true);
      OX_UNROLL for (int j = 0; j < NV; j++) vi32_store(sums[p] + j * L, acc[j]);
    }
  }
  for (size_t p = 0; p < ABREAST; p++) {
    const int8_t *b = t[p].b + quads * 4 * NR;
    vi32 acc[NV];
    OX_UNROLL for (int j = 0; j < NV; j++) acc[j] = vi32_load(sums[p] + j * L);
    for (size_t e = 0; e < t[p].n_extra; e++) i8_add_row(acc, t->a + 4 * t[p].extra[e], b + e * 4 * NR, NV, true);
    OX_UNROLL for (int j = 0; j < NV; j++) vi32_store(sums[p] + j * L, acc[j]);
    ox_gemm_i8_store(&t[p], sums[p], NR);
  }
}

static void kept_rows(const ox_gemm_i8_tile *t) { formed_tile(t, t->sums, false); }
static void finish(const ox_gemm_i8_tile *t) { ox_gemm_i8_store(t, t->sums, NR); }

static bool split(int8_t *quads, int8_t *rest) { return vi32_split_pairs(quads, rest, NV); }
static void keep(const int8_t *w, size_t quads, int8_t *to) { i8_keep_quads(w, quads, to); }

const ox_gemm_i8_forms GEMM_FORMS = {pairs_rows, pairs_abreast, kept_rows, finish, I8_KEPT, split, keep};
