/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_store.h - the epilogue: stores the sums of a tile, with terms and activation. Include a
 * simd/f32_<isa>.h and gemm.h first, and define the enum NR, the row stride of the sums. */
#ifndef OX_GEMM_F32_STORE_H
#define OX_GEMM_F32_STORE_H

#include "kern/simd/act_f32.h"

enum { L = VF32_LANES, NV = NR / L };

OX_INLINE vf32 load_as(uint32_t type, const void *p, ptrdiff_t at, size_t n) {
  if (type == OX_F32) return n == L ? vf32_load((const float *)p + at) : vf32_load_n((const float *)p + at, n);
  if (type == OX_F16) return vf32_load_f16_n((const uint16_t *)p + at, n);
  return vf32_load_bf16_n((const uint16_t *)p + at, n);
}

OX_INLINE void store_as(uint32_t type, void *p, ptrdiff_t at, vf32 v, size_t n) {
  if (type == OX_F32) {
    if (n == L)
      vf32_store((float *)p + at, v);
    else
      vf32_store_n((float *)p + at, v, n);
  } else if (type == OX_F16)
    vf32_store_f16_n((uint16_t *)p + at, v, n);
  else
    vf32_store_bf16_n((uint16_t *)p + at, v, n);
}

OX_INLINE vf32 term_at(const ox_gemm_term *t, size_t row, size_t col, size_t n) {
  ptrdiff_t at = (ptrdiff_t)row * t->rs;
  if (t->cs) return load_as(t->type, t->p, at + (ptrdiff_t)col, n);
  return vf32_splat(vf32_sum(load_as(t->type, t->p, at, 1)));
}

/* Is this the common case: full width, and either partial sums or float terms and a float C? */
OX_INLINE bool is_common(const ox_gemm_tile *t) {
  const ox_gemm_epi *e = t->epi;
  if (t->n != NR) return false;
  if (!e) return true;
  for (int i = 0; i < 2; i++)
    if (e->term[i].p && e->term[i].type != OX_F32) return false;
  return t->c_type == OX_F32;
}

/* Activations other than Relu are applied to C in memory afterwards, as they need all registers. */
OX_INLINE bool acts_later(const ox_gemm_epi *e) { return e && e->act.kind > OX_ACT_RELU; }

static OX_NOINLINE void activate(const ox_gemm_tile *t) {
  const ox_act act = t->epi->act;
  for (size_t i = 0; i < t->m; i++) {
    float *c = (float *)t->c + i * t->c_rs;
    for (size_t j = 0; j < NR; j += L) vf32_store(c + j, vf32_act(act, vf32_load(c + j)));
  }
}

/* Prefetches the cache lines of C that a common tile of |m| rows will write, and those of a far term, while it is
 * multiplied. Rows of C that do not begin with a line end in another: 320 x 96 x 6625 takes 1.3 times as long without
 * that (Zen 3). */
OX_INLINE void fetch_common(const ox_gemm_tile *t, const int m) {
  const ox_gemm_epi *e = t->epi;
  const float *c = e ? t->c : t->part;
  const size_t c_rs = e ? t->c_rs : t->part_rs;
  OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NR; j += 16)
      OX_PREFETCH_WRITE(c + (size_t)i * c_rs + j);
  if (c_rs % 16) OX_UNROLL for (int i = 0; i < m; i++) OX_PREFETCH_WRITE(c + (size_t)i * c_rs + NR - 1);
  if (!e || !e->far) return;
  const float *x = (const float *)e->term[0].p + (ptrdiff_t)t->row * e->term[0].rs + t->col;
  OX_UNROLL for (int i = 0; i < m; i++, x += e->term[0].rs) OX_UNROLL for (int j = 0; j < NR; j += 16)
      OX_PREFETCH(x + j);
}

/* Stores |m| rows of a common tile, from |row| on, from registers; all of the epilogue but a later activation. */
OX_INLINE void finish_rows(const ox_gemm_tile *t, size_t row, vf32 acc[][NV], const int m) {
  const ox_gemm_epi *e = t->epi;
  if (t->add) {
    const float *part = t->part + row * t->part_rs;
    OX_UNROLL for (int i = 0; i < m; i++, part += t->part_rs) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] =
        vf32_add(acc[i][j], vf32_load(part + j * L));
  }
  if (e && e->alpha != 1) {
    const vf32 alpha = vf32_splat(e->alpha);
    OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vf32_mul(acc[i][j], alpha);
  }
  for (int k = 0; e && k < 2; k++) {
    if (!e->term[k].p) continue;
    const vf32 beta = vf32_splat(e->beta);
    const float *x = (const float *)e->term[k].p + (ptrdiff_t)(t->row + row) * e->term[k].rs;
    if (!e->term[k].cs) {
      OX_UNROLL for (int i = 0; i < m; i++, x += e->term[k].rs) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] =
          vf32_fma(beta, vf32_splat(*x), acc[i][j]);
      continue;
    }
    x += t->col;
    OX_UNROLL for (int i = 0; i < m; i++, x += e->term[k].rs) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] =
        vf32_fma(beta, vf32_load(x + j * L), acc[i][j]);
  }
  if (e && e->act.kind == OX_ACT_RELU)
    OX_UNROLL for (int i = 0; i < m; i++) OX_UNROLL for (int j = 0; j < NV; j++) acc[i][j] =
        vf32_at_least(acc[i][j], 0);
  const size_t rs = e ? t->c_rs : t->part_rs;
  float *c = (e ? (float *)t->c : t->part) + row * rs;
  OX_UNROLL for (int i = 0; i < m; i++, c += rs) OX_UNROLL for (int j = 0; j < NV; j++)
      vf32_store(c + j * L, acc[i][j]);
}

/* Stores a common tile of |m| rows from registers. */
OX_INLINE void finish_common(const ox_gemm_tile *t, vf32 acc[][NV], const int m) {
  finish_rows(t, 0, acc, m);
  if (acts_later(t->epi)) activate(t);
}

/* Stores the sums of any tile: as partial sums, or through the epilogue. */
static inline void finish(const ox_gemm_tile *t, const float *sums) {
  const ox_gemm_epi *e = t->epi;
  if (is_common(t)) {
    for (size_t i = 0; i < t->m; i++, sums += NR) {
      vf32 v[1][NV];
      OX_UNROLL for (int j = 0; j < NV; j++) v[0][j] = vf32_load(sums + j * L);
      finish_rows(t, i, v, 1);
    }
    if (acts_later(e)) activate(t);
    return;
  }
  for (size_t i = 0; i < t->m; i++)
    for (size_t j = 0; j < t->n; j += L) {
      size_t n = vf32_lanes_at(j, t->n), row = t->row + i, col = t->col + j;
      vf32 v = vf32_load(sums + i * NR + j);
      if (t->add) v = vf32_add(v, load_as(OX_F32, t->part, (ptrdiff_t)(i * t->part_rs + j), n));
      if (!e) {
        store_as(OX_F32, t->part, (ptrdiff_t)(i * t->part_rs + j), v, n);
        continue;
      }
      v = vf32_mul(v, vf32_splat(e->alpha));
      if (e->term[0].p) v = vf32_fma(vf32_splat(e->beta), term_at(&e->term[0], row, col, n), v);
      if (e->term[1].p) v = vf32_fma(vf32_splat(e->beta), term_at(&e->term[1], row, col, n), v);
      if (e->act.kind) v = vf32_act(e->act, v);
      store_as(t->c_type, t->c, (ptrdiff_t)(i * t->c_rs + j), v, n);
    }
}

#endif
