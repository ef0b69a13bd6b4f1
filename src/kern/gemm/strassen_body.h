/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_body.h - the kernels of strassen.h. Cannot fail, cannot allocate, touch no global. Parameters:
 * STRASSEN_NAME, STRASSEN_FORM, STRASSEN_MR, STRASSEN_NV (vectors per row of a panel). Include a simd/f32_<isa>.h
 * first. */
#include "kern/gemm/strassen.h"

enum { MR = STRASSEN_MR, NR = STRASSEN_NV * VF32_LANES };
#include "kern/gemm/gemm_f32_store.h"

/* ---- a strip of a step ---- */

/* Sums to a block of C that others still add to. */
OX_INLINE void add_to(float *c, const float sign, const bool first, vf32 acc[][NV], const int m) {
  const vf32 s = vf32_splat(sign);
  if (first) {
    OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
        vf32_store(c + i * NR + j * L, vf32_mul(s, acc[i][j]));
  } else {
    OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
        vf32_store(c + i * NR + j * L, vf32_fma(s, acc[i][j], vf32_load(c + i * NR + j * L)));
  }
}

/* The last sums of a block of C: with the others, back to their size, through terms and activation to C. */
OX_INLINE bool finish_block(const ox_strassen_strip *t, vf32 acc[][NV], const int m) {
  const vf32 most = vf32_splat(0x1p100f);
  const float *c = t->c[0];
  vm32 fine = vf32_eq(most, most);
  OX_UNROLL for (int i = 0; i < m; i++) {
    const vf32 back = vf32_splat(t->back[i]);
    OX_UNROLL for (int j = 0; j < NV; j++) {
      acc[i][j] = vf32_add(acc[i][j], vf32_load(c + i * NR + j * L));
      fine = vm32_and(fine, vf32_le(vf32_abs(acc[i][j]), most));
      acc[i][j] = vf32_mul(acc[i][j], back);
    }
  }
  if (is_common(t->end) && t->end->m == (size_t)m) {
    finish_rows(t->end, 0, acc, m);
    if (acts_later(t->end->epi)) activate(t->end);
  } else {
    _Alignas(64) float sums[MR * NR];
    OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++)
        vf32_store(sums + i * NR + j * L, acc[i][j]);
    finish(t->end, sums);
  }
  return vm32_all(fine);
}

/* A row of the panel, or of the sum or difference of two. */
OX_INLINE void load_b(const float *const *b, const size_t at, const int sign, vf32 *to) {
  OX_UNROLL for (int j = 0; j < NV; j++) {
    to[j] = vf32_load(b[0] + at + j * L);
    if (sign > 0) to[j] = vf32_add(to[j], vf32_load(b[1] + at + j * L));
    if (sign < 0) to[j] = vf32_sub(to[j], vf32_load(b[1] + at + j * L));
  }
}

/* |m| and |sign| are constants after inlining; sign: of the second block of B, which is added while the panel is read.
 */
OX_INLINE bool multiply_rows(const ox_strassen_strip *t, const int m, const int sign) {
  const size_t rs = t->a_rs, b_ks = t->b_ks;
  const float *a[(MR + 2) / 3], *b[2] = {t->b[0], t->b[1]};
  const char *fetch = t->fetch, *next = (const char *)(t->a + (size_t)m * rs); /* the next strip of A follows */
  OX_UNROLL for (int g = 0; g < (m + 2) / 3; g++) a[g] = t->a + 3 * (size_t)g * rs;
  vf32 acc[MR][NV], bv[NV];
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vf32_zero();
  /* A row of what is written in the end comes at a time: all at once, they would keep B waiting. */
  const char *soon = t->end ? (const char *)t->end->c : (const char *)t->c[0];
  const size_t soon_step = (t->end ? t->end->c_rs : NR) * sizeof(float);
  size_t k = t->k, piece = k / (size_t)m;
  for (int r = 0; r <= m; r++) {
    for (int j = 0; j < NR; j += 16) OX_PREFETCH_WRITE(soon + j * 4);
    soon += r < m - 1 ? soon_step : 0;
    if (r == m) piece = k;
    k -= piece;
    for (size_t n = piece; n > 0; n--) {
      OX_PREFETCH(fetch);
      fetch += t->fetch_step;
      OX_PREFETCH(next);
      next += MR * sizeof(float);
      load_b(b, 0, sign, bv);
      OX_UNROLL for (int i = 0; i < m; i++) {
        vf32 ai = vf32_splat(a[i / 3][(size_t)(i % 3) * rs]);
        OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vf32_fma(ai, bv[j], acc[i][j]);
      }
      b[0] += b_ks;
      if (sign) b[1] += b_ks;
      OX_UNROLL for (int g = 0; g < (m + 2) / 3; g++) a[g]++;
    }
  }
  if (t->c[1]) add_to(t->c[1], t->c_sign[1], t->c_first, acc, m);
  if (t->end) return finish_block(t, acc, m);
  add_to(t->c[0], t->c_sign[0], t->c_first, acc, m);
  return true;
}

#define STRASSEN_ROWS(m)                               \
  case m:                                              \
    if (t->b_sign > 0) return multiply_rows(t, m, +1); \
    if (t->b_sign < 0) return multiply_rows(t, m, -1); \
    return multiply_rows(t, m, 0);

static bool multiply(const ox_strassen_strip *t) {
  switch (t->m) {
#if STRASSEN_MR == 6
    STRASSEN_ROWS(4)
    STRASSEN_ROWS(5)
    STRASSEN_ROWS(6)
#elif STRASSEN_MR == 8
    STRASSEN_ROWS(5)
    STRASSEN_ROWS(6)
    STRASSEN_ROWS(7)
    STRASSEN_ROWS(8)
#elif STRASSEN_MR == 14
    STRASSEN_ROWS(9)
    STRASSEN_ROWS(10)
    STRASSEN_ROWS(11)
    STRASSEN_ROWS(12)
    STRASSEN_ROWS(13)
    STRASSEN_ROWS(14)
#endif
  }
  return true;
}

/* ---- blocks of A ---- */

/* The largest magnitude's bits as an integer, which orders NaN above infinity above all numbers. */
static uint32_t largest_bits(const float *a, size_t n) {
  const vi32 magnitude = vi32_splat(0x7fffffff);
  vi32 most[4];
  OX_UNROLL for (int u = 0; u < 4; u++) most[u] = vi32_zero();
  size_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L)
    OX_UNROLL for (int u = 0; u < 4; u++) most[u] =
        vi32_max(most[u], vi32_and(vf32_bits(vf32_load(a + i + (size_t)u * L)), magnitude));
  for (; i < n; i += L)
    most[0] = vi32_max(most[0], vi32_and(vf32_bits(vf32_load_n(a + i, vf32_lanes_at(i, n))), magnitude));
  int32_t lanes[L], all = 0;
  vi32_store(lanes, vi32_max(vi32_max(most[0], most[1]), vi32_max(most[2], most[3])));
  for (int j = 0; j < L; j++) all = OX_MAX(all, lanes[j]);
  return (uint32_t)all;
}

/* What each step takes of one pair of rows, |n| columns: pieces of a row of each of the four blocks. */
OX_INLINE void mix(const float *const *from, const vf32 *scale, size_t at, size_t n, float *to, size_t step) {
  vf32 v[4];
  OX_UNROLL for (int q = 0; q < 4; q++) {
    v[q] = !from[q] ? vf32_zero() : n == L ? vf32_load(from[q] + at) : vf32_load_n(from[q] + at, n);
    v[q] = vf32_mul(v[q], scale[q >> 1]);
  }
  OX_UNROLL for (int s = 0; s < OX_STRASSEN_STEPS; s++) {
    const ox_strassen_step *x = &ox_strassen[s];
    vf32 sum = v[x->a[0]];
    if (x->a_sign > 0) sum = vf32_add(sum, v[x->a[1]]);
    if (x->a_sign < 0) sum = vf32_sub(sum, v[x->a[1]]);
    vf32_store(to + (size_t)s * step + at, sum);
  }
}

static void mix_rows(const ox_strassen_pair *p) {
  float factor[2] = {0};
  for (int r = 0; r < 2; r++)
    if (p->row[r]) factor[r] = ox_strassen_scale(largest_bits(p->row[r], p->k), p->back + (size_t)r * p->half_rows);
  const vf32 scale[2] = {vf32_splat(factor[0]), vf32_splat(factor[1])};
  float *to = p->to;
  for (size_t k0 = 0; k0 < p->k; k0 += p->kc, to += p->block_floats) {
    const size_t half = OX_MIN(p->kc, p->k - k0) / 2;
    const float *from[4] = {p->row[0] + k0, p->row[0] + k0 + half, NULL, NULL};
    if (p->row[1]) from[2] = p->row[1] + k0, from[3] = p->row[1] + k0 + half;
    for (size_t i = 0; i < half; i += L) mix(from, scale, i, vf32_lanes_at(i, half), to, p->step_floats);
  }
}

const ox_strassen_kernels STRASSEN_NAME = {MR, NR, STRASSEN_FORM, multiply, mix_rows};
