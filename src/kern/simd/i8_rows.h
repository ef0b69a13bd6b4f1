/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_rows.h - what kernels of bytes do with the weights of simd/i8_kept*.h; include one of these first. */
#ifndef OX_SIMD_I8_ROWS_H
#define OX_SIMD_I8_ROWS_H

#include <stddef.h>
#include <string.h>

/* Adds the products of the quad at |x| with |nv| vectors of quads of weights: small pairs, or kept ones. */
OX_INLINE void i8_add_row(vi32 *acc, const uint8_t *x, const int8_t *w, const int nv, const bool pairs) {
  int32_t quad;
  memcpy(&quad, x, 4);
  if (pairs) {
    vi32 xi = vi32_splat(quad);
    OX_UNROLL for (int j = 0; j < nv; j++) acc[j] = vi32_dot_pairs(acc[j], xi, w + 4 * j * VF32_LANES);
  } else {
    vi32_row xi = vi32_row_of(quad);
    OX_UNROLL for (int j = 0; j < nv; j++) acc[j] = vi32_dot_kept(acc[j], xi, w + 4 * I8_KEPT * j * VF32_LANES);
  }
}

/* Keeps |quads| quads, a multiple of VF32_LANES. */
OX_INLINE void i8_keep_quads(const int8_t *w, size_t quads, int8_t *to) {
  for (size_t q = 0; q < quads; q += VF32_LANES, w += 4 * VF32_LANES, to += 4 * I8_KEPT * VF32_LANES)
    vi32_keep(vi32_load((const int32_t *)(const void *)w), to);
}

#endif
