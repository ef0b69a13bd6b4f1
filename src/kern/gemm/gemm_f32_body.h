/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_body.h - C[MR x NR] = A B over a panel of B. Cannot fail, cannot allocate, touches no global.
 * Parameters: GEMM_NAME, GEMM_MR, GEMM_NV (vectors per row; NR = GEMM_NV * VF32_LANES), GEMM_B_T and GEMM_B_LOAD (the
 * panel's element type and its widening load). Included once per panel type; the store below is shared. */

#ifndef OX_GEMM_F32_DOTS
#define OX_GEMM_F32_DOTS
enum { NR = GEMM_NV * VF32_LANES };
#include "base/pages.h"
#include "kern/gemm/gemm_f32_store.h"
#include "kern/simd/sums.h"

/* Dot products of one row with columns j to j + 3 of a transposed B; beyond the last column, that one is repeated. */
OX_INLINE void dot4(const float *a, const float *b, size_t b_ks, size_t cols, size_t k, float *sums) {
  const float *p[4];
  vf32 acc[4][2];
  OX_UNROLL for (int j = 0; j < 4; j++) {
    p[j] = b + ((size_t)j < cols ? (size_t)j : cols - 1) * b_ks;
    acc[j][0] = acc[j][1] = vf32_zero();
  }
  size_t i = 0;
  for (; i + 2 * L <= k; i += 2 * L) {
    vf32 a0 = vf32_load(a + i), a1 = vf32_load(a + i + L);
    OX_UNROLL for (int j = 0; j < 4; j++) {
      acc[j][0] = vf32_fma(a0, vf32_load(p[j] + i), acc[j][0]);
      acc[j][1] = vf32_fma(a1, vf32_load(p[j] + i + L), acc[j][1]);
    }
  }
  for (; i < k; i += L) {
    size_t n = vf32_lanes_at(i, k);
    vf32 a0 = vf32_load_n(a + i, n);
    OX_UNROLL for (int j = 0; j < 4; j++) acc[j][0] = vf32_fma(a0, vf32_load_n(p[j] + i, n), acc[j][0]);
  }
  OX_UNROLL for (int j = 0; j < 4; j++) sums[j] = vf32_sum(vf32_add(acc[j][0], acc[j][1]));
}

void GEMM_DOTS(const ox_gemm_tile *t) {
  _Alignas(64) float sums[GEMM_MR * NR];
  for (size_t i = 0; i < t->m; i++)
    for (size_t j = 0; j < t->n; j += 4)
      dot4(t->a + (ptrdiff_t)i * t->a_rs, (const float *)t->b + j * t->b_ks, t->b_ks, t->n - j, t->k,
           sums + i * NR + j);
  finish(t, sums);
}

/* Prefetches the next row of weights, of |bytes| bytes. Strips of up to half the height are the only ones to read a
 * panel (gemm_run.c) and want it in L1; taller ones may share it, so it goes to L2. For a single row with long panel
 * rows, the hardware prefetcher is as fast, except where |streams|. */
OX_INLINE void fetch_next(const char *p, const int m, const size_t bytes, bool streams) {
  if (m > GEMM_MR / 2 || (m == 1 && streams)) {
    OX_PREFETCH_L2(p);
    if (bytes > 64) OX_PREFETCH_L2(p + 64);
    if (m == 1) ox_prefetch_pages(p, bytes);
  } else if (m > 1 || bytes <= 64) {
    OX_PREFETCH(p);
    if (bytes > 64) OX_PREFETCH(p + 64);
  }
}
#endif

#define GEMM_CAT_(a, b) a##_##b
#define GEMM_CAT(a, b) GEMM_CAT_(a, b)
#define ROWS GEMM_CAT(GEMM_NAME, rows)

#define STORE GEMM_CAT(GEMM_NAME, store)
OX_INLINE void STORE(const ox_gemm_tile *t, const bool common, vf32 (*acc)[NV], const int m, const int nv) {
  if (common) {
    finish_common(t, acc, m);
    return;
  }
  _Alignas(64) float sums[GEMM_MR * NR];
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      vf32_store(sums + i * NR + j * L, acc[i][j]);
  finish(t, sums);
}

#if GEMM_MR == 6 && GEMM_NV == 2
#define STRIP GEMM_CAT(GEMM_NAME, strip)
/* Four to six rows whose elements are side by side, with sums.h. One in |every| steps of k prefetches, since there are
 * few FMAs to hide that behind. |m|, |b_ks| if there are no gaps, and |every| are constants after inlining. */
OX_INLINE void STRIP(const ox_gemm_tile *t, const int m, const size_t b_ks, const size_t every) {
  const bool common = sizeof(GEMM_B_T) == 4 && is_common(t);
  const ptrdiff_t rs = t->a_rs * (ptrdiff_t)sizeof(float);
  const size_t fetch_step = every * t->fetch_step;
  const char *fetch = t->fetch;
  const float *a0 = t->a, *a1 = a0 + (m + 1) / 2 * t->a_rs;
  const GEMM_B_T *b = t->b;
  vf32 acc[GEMM_MR][NV];
  if (common) fetch_common(t, m);
  OX_UNROLL for (int i = 0; i < m; i++) acc[i][0] = acc[i][1] = vf32_zero();
#define GEMM_STEP(k)                                                               \
  {                                                                                \
    const vf32 bv[2] = {GEMM_B_LOAD(b + k * b_ks), GEMM_B_LOAD(b + k * b_ks + L)}; \
    OX_SUMS_STEP(acc, m, a0, a1, rs, k, bv);                                       \
  }
  OX_SUMS_OPEN(acc, m);
  for (size_t n = t->k / 4; n > 0; n--, a0 += 4, a1 += 4, b += 4 * b_ks) {
    OX_UNROLL for (size_t u = 0; u < 4; u += every, fetch += fetch_step)
        fetch_next(fetch, m, NR * sizeof *b, t->streams);
    OX_FOUR(GEMM_STEP)
  }
  for (size_t n = t->k % 4; n > 0; n--, a0++, a1++, b += b_ks) GEMM_STEP(0)
  OX_SUMS_CLOSE(acc, m);
#undef GEMM_STEP
  STORE(t, common, acc, m, NV);
}

#define GEMM_STRIP(m)                                                 \
  static OX_NOINLINE void GEMM_CAT(STRIP, m)(const ox_gemm_tile *t) { \
    if (t->b_ks != NR)                                                \
      STRIP(t, m, t->b_ks, 4);                                        \
    else if (t->fetch_step > 32)                                      \
      STRIP(t, m, NR, 1);                                             \
    else if (t->fetch_step > 16)                                      \
      STRIP(t, m, NR, 2);                                             \
    else                                                              \
      STRIP(t, m, NR, 4);                                             \
  }
GEMM_STRIP(4)
GEMM_STRIP(5)
GEMM_STRIP(6)
#define TAKES_STRIP(t) ((t)->a_ks == 1 && (sizeof(GEMM_B_T) != 4 || (t)->n > (size_t)L))
#endif

/* |m|, |ku| and |nv| are constants after inlining. Few rows have too few independent accumulators to hide the latency
 * of an FMA, so k is split into |ku| interleaved sums. Three rows share a pointer, since p, p + rs and p + 2 rs are all
 * addressing modes. |nv|: the vectors of a row of C that are computed. */
OX_INLINE void ROWS(const ox_gemm_tile *t, const int m, const int ku, const int nv) {
  const bool common = sizeof(GEMM_B_T) == 4 && nv == NV && is_common(t), pairs = GEMM_MR <= 6 && m > GEMM_MR / 2;
  const ptrdiff_t rs = t->a_rs, ks = t->a_ks;
  const size_t b_ks = t->b_ks;
  const float *a[(GEMM_MR + 2) / 3];
  OX_UNROLL for (int g = 0; g < (m + 2) / 3; g++) a[g] = t->a + 3 * g * rs;
  const GEMM_B_T *b = t->b;
  const char *fetch = t->fetch;
  vf32 acc[4][GEMM_MR][NV];
  OX_UNROLL for (int u = 0; u < ku; u++) OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < nv; j++)
      acc[u][i][j] = vf32_zero();
  if (common) fetch_common(t, m);
  size_t k = t->k;
  /* Two steps of k at a time for strips of up to six rows, which have few FMAs to hide a prefetch behind: one for both,
   * unless each needs a line of its own. */
  const int steps = pairs ? 2 : ku;
  const bool each = !pairs || t->fetch_step > 32;
  const size_t fetch_step = each ? t->fetch_step : 2 * t->fetch_step;
  for (; k >= (size_t)steps; k -= (size_t)steps) {
    OX_UNROLL for (int u = 0; u < steps; u++) {
      if (u == 0 || each) {
        fetch_next(fetch, m, NR * sizeof *b, t->streams);
        fetch += fetch_step;
      }
      vf32 bv[NV];
      OX_UNROLL for (int j = 0; j < nv; j++) bv[j] = GEMM_B_LOAD(b + j * L);
      OX_UNROLL for (int i = 0; i < m; i++) {
        vf32 ai = vf32_splat(a[i / 3][i % 3 * rs]);
        OX_UNROLL for (int j = 0; j < nv; j++) acc[u % ku][i][j] = vf32_fma(ai, bv[j], acc[u % ku][i][j]);
      }
      OX_UNROLL for (int g = 0; g < (m + 2) / 3; g++) a[g] += ks;
      b += b_ks;
    }
  }
  for (; k > 0; k--, b += b_ks) {
    OX_UNROLL for (int i = 0; i < m; i++) {
      vf32 ai = vf32_splat(a[i / 3][i % 3 * rs]);
      OX_UNROLL for (int j = 0; j < nv; j++) acc[0][i][j] = vf32_fma(ai, GEMM_B_LOAD(b + j * L), acc[0][i][j]);
    }
    OX_UNROLL for (int g = 0; g < (m + 2) / 3; g++) a[g] += ks;
  }
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < nv; j++) OX_UNROLL for (int u = 1; u < ku; u++)
      acc[0][i][j] = vf32_add(acc[0][i][j], acc[u][i][j]);
  STORE(t, common, acc[0], m, nv);
}

/* A tile of one vector's columns: the last ones, or a head with few outputs. */
#define GEMM_ROWS(m, ku)                            \
  case m:                                           \
    if (sizeof(GEMM_B_T) == 4 && t->n <= (size_t)L) \
      ROWS(t, m, ku, 1);                            \
    else                                            \
      ROWS(t, m, ku, NV);                           \
    break;

#define GEMM_STRIPS(m)          \
  case m:                       \
    if (TAKES_STRIP(t))         \
      GEMM_CAT(STRIP, m)(t);    \
    else if (t->n <= (size_t)L) \
      ROWS(t, m, 1, 1);         \
    else                        \
      ROWS(t, m, 1, NV);        \
    break;

void GEMM_NAME(const ox_gemm_tile *t) {
  switch (t->m) {
    GEMM_ROWS(1, 4)
    GEMM_ROWS(2, 2)
    GEMM_ROWS(3, 2)
#ifdef STRIP
    GEMM_STRIPS(4)
    GEMM_STRIPS(5)
    GEMM_STRIPS(6)
#else
    GEMM_ROWS(4, 1)
#endif
#if GEMM_MR > 6
    GEMM_ROWS(5, 1)
    GEMM_ROWS(6, 1)
#endif
#if GEMM_MR >= 8
    GEMM_ROWS(7, 1)
    GEMM_ROWS(8, 1)
#endif
#if GEMM_MR >= 12
    GEMM_ROWS(9, 1)
    GEMM_ROWS(10, 1)
    GEMM_ROWS(11, 1)
    GEMM_ROWS(12, 1)
#endif
  }
}

#undef GEMM_ROWS
#undef ROWS
#undef STORE
#undef STRIP
#undef GEMM_STRIP
#undef GEMM_STRIPS
#undef TAKES_STRIP
#undef GEMM_CAT
#undef GEMM_CAT_
#undef GEMM_NAME
#undef GEMM_B_T
#undef GEMM_B_LOAD
