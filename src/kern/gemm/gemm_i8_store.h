/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_i8_store.h - the epilogue of an 8-bit tile. Include a simd/f32_<isa>.h and gemm_i8.h first. */
#ifndef OX_GEMM_I8_STORE_H
#define OX_GEMM_I8_STORE_H

#include "kern/simd/act_f32.h"

/* Stores n sums from (row, col) on, which are already corrected for zero points. |type| is a constant after inlining,
 * and so is |n| for full vectors. */
OX_INLINE void i8_put_(const ox_gemm_i8_out *o, const uint32_t type, vf32 row_scale, size_t row, size_t col, vi32 v,
                       void *c, size_t at, size_t n) {
  if (o->bias_i32) v = vi32_add(v, vi32_load_n(o->bias_i32 + col, n));
  if (type == OX_I32) {
    vi32_store_n((int32_t *)c + at, v, n);
    return;
  }
  vf32 col_scale = o->col_step ? vf32_load_n(o->col_scale + col, n) : vf32_splat(*o->col_scale);
  vf32 f = vf32_mul(vi32_to_f32(v), vf32_mul(row_scale, col_scale));
  if (o->term) f = vf32_add(f, vf32_load_n(o->term + row * o->term_rs + col, n));
  if (o->bias) f = vf32_add(f, vf32_load_n(o->bias + col, n));
  if (type == OX_F32) {
    vf32_store_n((float *)c + at, o->act.kind == OX_ACT_NONE ? f : vf32_act(o->act, f), n);
    return;
  }
  /* Clamped before the conversion to int; beyond +-2^24 every byte saturates anyway. */
  f = vf32_at_most(vf32_at_least(f, -0x1p24f), 0x1p24f);
  vi32 q = vi32_add(vf32_to_i32(f), vi32_splat(o->zero));
  if (type == OX_U8)
    vi32_store_u8_n((uint8_t *)c + at, q, n);
  else
    vi32_store_i8_n((int8_t *)c + at, q, n);
}

OX_INLINE vi32 i8_less_zeros_(const ox_gemm_i8_tile *t, vi32 v, vi32 a_zero, vi32 rest, size_t j, size_t n) {
  v = vi32_sub(v, vi32_mul(a_zero, vi32_load_n(t->col_sum + j, n)));
  return t->b_zero ? vi32_sub(v, vi32_mul(rest, vi32_load_n(t->b_zero + j, n))) : v;
}

OX_INLINE void i8_rows_(const ox_gemm_i8_tile *tile, const int32_t *sums, size_t nr, const uint32_t type) {
  const ox_gemm_i8_tile t = *tile; /* copies, so that the compiler knows that stores do not change them */
  const ox_gemm_i8_out o = *tile->out;
  const size_t full = t.n / VF32_LANES * VF32_LANES, n = t.n - full;
  for (size_t i = 0; i < t.m; i++, sums += nr) {
    const vi32 a_zero = vi32_splat(t.a_zero[i]), rest = vi32_splat(t.row_sum[i]);
    const size_t row = t.row + i, at = i * t.c_rs;
    const vf32 scale = type == OX_I32 ? vf32_zero() : vf32_splat(o.row_scale[row * o.row_step]);
    for (size_t j = 0; j < full; j += VF32_LANES) {
      vi32 v = i8_less_zeros_(&t, vi32_load(sums + j), a_zero, rest, j, VF32_LANES);
      i8_put_(&o, type, scale, row, t.col + j, v, t.c, at + j, VF32_LANES);
    }
    if (!n) continue;
    vi32 v = i8_less_zeros_(&t, vi32_load(sums + full), a_zero, rest, full, n);
    i8_put_(&o, type, scale, row, t.col + full, v, t.c, at + full, n);
  }
}

/* Stores all sums of a tile; |sums| has row stride |nr|. */
OX_INLINE void ox_gemm_i8_store(const ox_gemm_i8_tile *t, const int32_t *sums, size_t nr) {
  switch (t->out->type) {
    case OX_I32:
      i8_rows_(t, sums, nr, OX_I32);
      break;
    case OX_F32:
      i8_rows_(t, sums, nr, OX_F32);
      break;
    case OX_U8:
      i8_rows_(t, sums, nr, OX_U8);
      break;
    default:
      i8_rows_(t, sums, nr, OX_I8);
  }
}

#endif
