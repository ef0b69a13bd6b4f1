/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_store.h - sums of an 8-bit tile to their place. Include a simd/f32_<isa>.h and gemm_i8.h first. */
#ifndef OX_GEMM_I8_STORE_H
#define OX_GEMM_I8_STORE_H

#include "kern/simd/act_f32.h"

OX_INLINE vf32 i8_scaled_(const ox_gemm_i8_out *o, size_t row, size_t col, size_t n, vi32 v) {
  vf32 s = vf32_splat(o->row_scale[row * o->row_step]);
  s = vf32_mul(s, o->col_step ? vf32_load_n(o->col_scale + col, n) : vf32_splat(*o->col_scale));
  vf32 f = vf32_mul(vi32_to_f32(v), s);
  return o->bias ? vf32_add(f, vf32_load_n(o->bias + col, n)) : f;
}

/* |sums| has rows of |nr|. Rounding saturates first: beyond +-2^24 every byte is saturated anyway. */
OX_INLINE void ox_gemm_i8_store(const ox_gemm_i8_tile *t, const int32_t *sums, size_t nr) {
  const ox_gemm_i8_out *o = t->out;
  for (size_t i = 0; i < t->m; i++) {
    vi32 za = vi32_splat(t->a_zero[i]), rest = vi32_splat(t->row_sum[i]);
    for (size_t j = 0; j < t->n; j += VF32_LANES) {
      size_t n = vf32_lanes_at(j, t->n), row = t->row + i, col = t->col + j, at = i * t->c_rs + j;
      vi32 v = vi32_load(sums + i * nr + j);
      v = vi32_sub(v, vi32_mul(za, vi32_load_n(t->col_sum + j, n)));
      v = vi32_sub(v, vi32_mul(rest, vi32_load_n(t->b_zero + j, n)));
      if (o->bias_i32) v = vi32_add(v, vi32_load_n(o->bias_i32 + col, n));
      if (o->type == OX_I32) {
        vi32_store_n((int32_t *)t->c + at, v, n);
        continue;
      }
      vf32 f = i8_scaled_(o, row, col, n, v);
      if (o->type == OX_F32) {
        vf32_store_n((float *)t->c + at, vf32_act(o->act, f), n);
        continue;
      }
      f = vf32_at_most(vf32_at_least(f, -0x1p24f), 0x1p24f);
      vi32 q = vi32_add(vf32_to_i32(f), vi32_splat(o->zero));
      if (o->type == OX_U8)
        vi32_store_u8_n((uint8_t *)t->c + at, q, n);
      else
        vi32_store_i8_n((int8_t *)t->c + at, q, n);
    }
  }
}

#endif
