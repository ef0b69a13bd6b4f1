/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_f32_store.h - sums of a tile to their place, through terms and activation. Include a simd/f32_<isa>.h
 * and gemm.h first, and define the enum NR, the row stride of the sums. */
#ifndef OX_GEMM_F32_STORE_H
#define OX_GEMM_F32_STORE_H

#include "kern/simd/act_f32.h"

enum { L = VF32_LANES };

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

/* Whole rows without terms or activation: blocks of k other than the last, and plain products. */
OX_INLINE void finish_plainly(const ox_gemm_tile *t, const float *sums, float *c, size_t c_rs) {
  for (size_t i = 0; i < t->m; i++, sums += NR, c += c_rs) OX_UNROLL for (size_t j = 0; j < NR; j += L) {
      vf32 v = vf32_load(sums + j);
      if (t->add) v = vf32_add(v, vf32_load(t->part + i * t->part_rs + j));
      vf32_store(c + j, v);
    }
}

/* Float terms that go along the rows, whole vectors, float results: bias, residual, activation of a layer. */
OX_INLINE bool is_common(const ox_gemm_tile *t) {
  const ox_gemm_epi *e = t->epi;
  if (t->n != NR || t->c_type != OX_F32) return false;
  for (int i = 0; i < 2; i++)
    if (e->term[i].p && (e->term[i].type != OX_F32 || !e->term[i].cs)) return false;
  return true;
}

OX_INLINE void finish_commonly(const ox_gemm_tile *t, const float *sums) {
  const ox_gemm_epi *e = t->epi;
  const vf32 alpha = vf32_splat(e->alpha), beta = vf32_splat(e->beta);
  const ptrdiff_t at = (ptrdiff_t)t->row;
  const float *x = e->term[0].p, *y = e->term[1].p;
  if (x) x += at * e->term[0].rs + (ptrdiff_t)t->col;
  if (y) y += at * e->term[1].rs + (ptrdiff_t)t->col;
  for (size_t i = 0; i < t->m; i++, sums += NR) {
    float *c = (float *)t->c + i * t->c_rs;
    OX_UNROLL for (size_t j = 0; j < NR; j += L) {
      vf32 v = vf32_load(sums + j);
      if (t->add) v = vf32_add(v, vf32_load(t->part + i * t->part_rs + j));
      v = vf32_mul(v, alpha);
      if (x) v = vf32_fma(beta, vf32_load(x + j), v);
      if (y) v = vf32_fma(beta, vf32_load(y + j), v);
      vf32_store(c + j, v);
    }
    for (size_t j = 0; e->act.kind && j < NR; j += L) vf32_store(c + j, vf32_act(e->act, vf32_load(c + j)));
    if (x) x += e->term[0].rs;
    if (y) y += e->term[1].rs;
  }
}

/* Sums of one tile to their place: partial, or through terms and activation. */
static void finish(const ox_gemm_tile *t, const float *sums) {
  const ox_gemm_epi *e = t->epi;
  if (t->n == NR && !e) {
    finish_plainly(t, sums, t->part, t->part_rs);
    return;
  }
  if (t->n == NR && t->c_type == OX_F32 && e->alpha == 1 && !e->term[0].p && !e->term[1].p && !e->act.kind) {
    finish_plainly(t, sums, t->c, t->c_rs);
    return;
  }
  if (e && is_common(t)) {
    finish_commonly(t, sums);
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
