/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen_body.h - the kernels of strassen.h. Cannot fail, cannot allocate, touch no global. Parameters:
 * STRASSEN_NAME, STRASSEN_FORM, STRASSEN_MR, STRASSEN_NV (vectors per row of a panel), STRASSEN_KEEPS (whether sums of
 * blocks of B are kept), and perhaps STRASSEN_FMA_AT (a product that reads A itself). Include a simd/f32_<isa>.h first.
 */
#include "kern/gemm/strassen.h"
#include "kern/simd/sums.h"

enum { MR = STRASSEN_MR, NR = STRASSEN_NV * VF32_LANES, A_RS = OX_STRASSEN_A_RS };
enum { SOME = MR / 3 /* rows per pass of the epilogue */ };
#include "kern/gemm/gemm_f32_store.h"

/* ---- a strip of a step ---- */

/* Adds the sums to a block of C, or stores them if |first|. */
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

/* Rows |i| to i + m of a completed block of C: undoes the scale, then applies the epilogue. */
OX_INLINE vm32 finish_some(const ox_strassen_strip *t, const size_t i, const int m) {
  const vf32 most = vf32_splat(0x1p100f);
  const float *c = t->c[0] + i * NR;
  vf32 v[SOME][NV];
  vm32 fine = vf32_eq(most, most);
  OX_UNROLL for (int r = 0; r < m; r++) OX_UNROLL for (int j = 0; j < NV; j++) {
    v[r][j] = vf32_load(c + r * NR + j * L);
    fine = vm32_and(fine, vf32_le(vf32_abs(v[r][j]), most));
    v[r][j] = vf32_mul(v[r][j], vf32_splat(t->back[i + (size_t)r]));
  }
  finish_rows(t->end, i, v, m);
  return fine;
}

static OX_NOINLINE bool finish_block(const ox_strassen_strip *t) {
  const vf32 most = vf32_splat(0x1p100f);
  vm32 fine = vf32_eq(most, most);
  if (is_common(t->end)) {
    size_t i = 0;
    for (; i + SOME <= t->end->m; i += SOME) fine = vm32_and(fine, finish_some(t, i, SOME));
    for (; i < t->end->m; i++) fine = vm32_and(fine, finish_some(t, i, 1));
    if (acts_later(t->end->epi)) activate(t->end);
  } else {
    _Alignas(64) float sums[MR * NR];
    for (size_t i = 0; i < t->m; i++) OX_UNROLL for (int j = 0; j < NV; j++) {
        vf32 v = vf32_load(t->c[0] + i * NR + j * L);
        fine = vm32_and(fine, vf32_le(vf32_abs(v), most));
        vf32_store(sums + i * NR + j * L, vf32_mul(v, vf32_splat(t->back[i])));
      }
    finish(t->end, sums);
  }
  return vm32_all(fine);
}

/* How far a strip is along k. */
typedef struct along_k {
  const float *a, *b[2];
  float *sum;               /* where the sums of rows of B go */
  const char *fetch, *next; /* prefetched beside: what t->fetch says, and the next strip of A */
} along_k;

/* The row of B, |u| rows ahead, for a step of k; |sign|: of the second block, which is added as the panel is read. */
OX_INLINE void take_b(const along_k *at, const size_t u, const int sign, vf32 *bv) {
  OX_UNROLL for (int j = 0; j < NV; j++) {
    const size_t l = u * NR + (size_t)(j * L);
    bv[j] = vf32_load(at->b[0] + l);
    if (sign > 0) bv[j] = vf32_add(bv[j], vf32_load(at->b[1] + l));
    if (sign < 0) bv[j] = vf32_sub(bv[j], vf32_load(at->b[1] + l));
    if (STRASSEN_KEEPS && sign) vf32_store(at->sum + l, bv[j]);
  }
}

OX_INLINE void advance(along_k *at, const size_t steps, const int sign) {
  at->a += steps, at->b[0] += steps * NR;
  if (sign) at->b[1] += steps * NR;
  if (STRASSEN_KEEPS && sign) at->sum += steps * NR;
}

#if STRASSEN_MR == 6
/* |n| steps of k. Strips as short as this have few FMAs to hide prefetches behind: here they are three for four steps.
 */
OX_INLINE void multiply_piece(along_k *at, size_t n, size_t fetch_step, const int m, const int sign, vf32 (*acc)[NV]) {
  const ptrdiff_t rs = A_RS * sizeof(float);
  enum { LINES = 4 * MR * sizeof(float) };
#define STRASSEN_STEP(u)                                                \
  {                                                                     \
    vf32 bv[NV];                                                        \
    take_b(at, u, sign, bv);                                            \
    OX_SUMS_STEP(acc, m, at->a, at->a + (m + 1) / 2 * A_RS, rs, u, bv); \
  }
  OX_SUMS_OPEN(acc, m);
  for (; n >= 4; n -= 4, advance(at, 4, sign)) {
    OX_PREFETCH(at->fetch), OX_PREFETCH(at->next), OX_PREFETCH(at->next + LINES / 2);
    at->fetch += 4 * fetch_step, at->next += LINES;
    OX_FOUR(STRASSEN_STEP)
  }
  for (; n > 0; n--, advance(at, 1, sign)) STRASSEN_STEP(0)
  OX_SUMS_CLOSE(acc, m);
#undef STRASSEN_STEP
}
#else
/* Adds an element of A times a row of B to a row of sums. */
OX_INLINE void multiply_row(const float *a, const vf32 *b, vf32 *acc) {
#ifdef STRASSEN_FMA_AT
  OX_UNROLL for (int j = 0; j < NV; j++) acc[j] = STRASSEN_FMA_AT(a, b[j], acc[j]);
#else
  const vf32 ai = vf32_splat(*a);
  OX_UNROLL for (int j = 0; j < NV; j++) acc[j] = vf32_fma(ai, b[j], acc[j]);
#endif
}

/* |n| steps of k. */
OX_INLINE void multiply_piece(along_k *at, size_t n, size_t fetch_step, const int m, const int sign, vf32 (*acc)[NV]) {
  for (; n > 0; n--, advance(at, 1, sign)) {
    vf32 bv[NV];
    OX_PREFETCH(at->fetch), OX_PREFETCH(at->next);
    at->fetch += fetch_step, at->next += MR * sizeof(float);
    take_b(at, 0, sign, bv);
    OX_UNROLL for (int i = 0; i < m; i++) multiply_row(at->a + i * A_RS, bv, acc[i]);
  }
}
#endif

/* |m| and |sign| are constants after inlining. */
OX_INLINE bool multiply_rows(const ox_strassen_strip *t, const int m, const int sign) {
  along_k at = {t->a, {t->b[0], t->b[1]}, t->b_sum, t->fetch, (const char *)(t->a + m * A_RS)};
  vf32 acc[MR][NV];
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vf32_zero();
  /* Rows of the destination are prefetched one at a time: all at once, they would delay the loads of B. */
  const char *soon = t->end ? (const char *)t->end->c : (const char *)t->c[0];
  const size_t soon_step = t->end ? t->end->c_rs * sizeof(float) : 0, pieces = t->end ? (size_t)m : 1;
  size_t k = t->k, piece = k / pieces;
  for (size_t r = 0; r < pieces; r++, soon += soon_step) {
    for (int j = 0; j < NR; j += 16) OX_PREFETCH_WRITE(soon + j * 4);
    if (r == pieces - 1) piece = k;
    k -= piece;
    multiply_piece(&at, piece, t->fetch_step, m, sign, acc);
  }
  if (t->c[1]) add_to(t->c[1], t->c_sign[1], t->c_first, acc, m);
  add_to(t->c[0], t->c_sign[0], t->c_first, acc, m);
  return !t->end || finish_block(t);
}

/* Each a function of its own, whose inner loop has all registers. */
#define STRASSEN_ROWS(m)                                                                            \
  static OX_NOINLINE bool minus_##m(const ox_strassen_strip *t) { return multiply_rows(t, m, -1); } \
  static OX_NOINLINE bool alone_##m(const ox_strassen_strip *t) { return multiply_rows(t, m, 0); }  \
  static OX_NOINLINE bool plus_##m(const ox_strassen_strip *t) { return multiply_rows(t, m, +1); }
#define STRASSEN_ROW(m) {minus_##m, alone_##m, plus_##m},
#if STRASSEN_MR == 6
#define STRASSEN_EACH(X) X(4) X(5) X(6)
#elif STRASSEN_MR == 8
#define STRASSEN_EACH(X) X(5) X(6) X(7) X(8)
#elif STRASSEN_MR == 14
#define STRASSEN_EACH(X) X(9) X(10) X(11) X(12) X(13) X(14)
#endif
STRASSEN_EACH(STRASSEN_ROWS)

static bool multiply(const ox_strassen_strip *t) {
  static bool (*const rows[][3])(const ox_strassen_strip *) = {STRASSEN_EACH(STRASSEN_ROW)};
  return rows[t->m + OX_COUNT(rows) - 1 - MR][1 + t->b_sign](t);
}

/* ---- blocks of A ---- */

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

/* Mixes |n| columns from |at| on. */
OX_INLINE void mix_columns(const ox_strassen_pair *p, const vf32 *scale, size_t at, size_t n) {
  vf32 v[4];
  OX_UNROLL for (int q = 0; q < 4; q++) {
    const float *from = p->from[q] + at;
    v[q] = vf32_mul(n == L ? vf32_load(from) : vf32_load_n(from, n), scale[q >> 1]);
  }
  OX_UNROLL for (int s = 0; s < OX_STRASSEN_STEPS; s++) {
    const ox_strassen_step *x = &ox_strassen[s];
    vf32_store(p->to + (size_t)s * p->step_floats + at, x->a_pair ? vf32_sub(v[x->a[0]], v[x->a[1]]) : v[x->a[0]]);
  }
}

static void mix(const ox_strassen_pair *p) {
  const vf32 scale[2] = {vf32_splat(p->scale[0]), vf32_splat(p->scale[1])};
  size_t i = 0;
  for (; i + L <= p->k; i += L) mix_columns(p, scale, i, L);
  if (i < p->k) mix_columns(p, scale, i, p->k - i);
}

const ox_strassen_kernels STRASSEN_NAME = {MR, NR, STRASSEN_KEEPS, STRASSEN_FORM, multiply, mix, largest_bits};
