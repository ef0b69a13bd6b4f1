/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_wide_body.h - C[MR x NR] = A B over a panel of eight vectors, for weights that are read by few
 * rows at a time: all sums are in registers, and the weights are streamed from L2 and L3 in long rows with few panel
 * ends. Other types than float, and the last columns, go through GEMM_NARROW, which treats a panel as several narrow
 * ones. Parameters: GEMM_NAME, GEMM_DOTS, GEMM_MR (1 or 3), and the names and columns of the narrow kernel. */
enum { NR = 8 * VF32_LANES };
#include "kern/gemm/gemm_f32_store.h"

/* The narrow tile from column |j| on; columns of B are |b_step| elements apart. */
OX_INLINE ox_gemm_tile part_of(const ox_gemm_tile *t, size_t j, size_t b_step) {
  ox_gemm_tile p = *t;
  p.n = OX_MIN(t->n - j, (size_t)GEMM_NARROW_NR), p.col = t->col + j;
  p.b = (const float *)t->b + j * b_step;
  if (t->part) p.part = t->part + j;
  if (t->c) p.c = (char *)t->c + j * (t->c_type == OX_F32 ? 4 : 2);
  return p;
}

/* |m| is a constant after inlining. */
OX_INLINE void wide_rows(const ox_gemm_tile *t, const int m) {
  const ptrdiff_t rs = t->a_rs, ks = t->a_ks;
  const size_t b_ks = t->b_ks;
  const float *a = t->a, *b = t->b;
  vf32 acc[GEMM_MR][NV];
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vf32_zero();
  for (size_t k = t->k; k > 0; k--, a += ks, b += b_ks) {
    vf32 ai[GEMM_MR];
    OX_UNROLL for (int i = 0; i < m; i++) ai[i] = vf32_splat(a[i * rs]);
    OX_UNROLL for (int j = 0; j < NV; j++) {
      vf32 bj = vf32_load(b + j * L);
      OX_UNROLL for (int i = 0; i < m; i++) acc[i][j] = vf32_fma(ai[i], bj, acc[i][j]);
    }
  }
  finish_common(t, acc, m);
}

void GEMM_NAME(const ox_gemm_tile *t) {
  if (is_common(t)) {
    if (t->m == 1) wide_rows(t, 1);
#if GEMM_MR >= 3
    if (t->m == 2) wide_rows(t, 2);
    if (t->m == 3) wide_rows(t, 3);
#endif
    return;
  }
  for (size_t j = 0; j < t->n; j += GEMM_NARROW_NR) {
    const ox_gemm_tile p = part_of(t, j, 1);
    GEMM_NARROW(&p);
  }
}

void GEMM_DOTS(const ox_gemm_tile *t) {
  for (size_t j = 0; j < t->n; j += GEMM_NARROW_NR) {
    const ox_gemm_tile p = part_of(t, j, t->b_ks);
    GEMM_NARROW_DOTS(&p);
  }
}
