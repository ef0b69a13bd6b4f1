/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_kept.h - weights in the form in which many rows multiply them; include a simd/i8_<isa>.h first. Here it
 * is their bytes. The contract:
 * - keep(quads, to): writes L quads of weights to I8_KEPT x 4 x L bytes.
 * - dot_kept(acc, x, w): dot_u8s8 of the quad that row_of made ready and the kept quads at |w|; |acc| stays in its
 *   register.
 * Where I8_PAIRS is 1, weights whose pairs are small have a faster product:
 * - split_pairs(quads, rest, nv): nv vectors of quads, in place, as small pairs and |rest|; false: they are small
 *   already, and |rest| is not written. |rest| NULL: only tells.
 * - dot_pairs(acc, x, w): dot_u8s8 of |x| and small pairs at |w|. */
#ifndef OX_SIMD_I8_KEPT_H
#define OX_SIMD_I8_KEPT_H

#include <stdbool.h>

#define I8_KEPT 1
#define I8_PAIRS 0

typedef vi32 vi32_row;

OX_INLINE void vi32_keep(vi32 quads, int8_t *to) { vi32_store((int32_t *)(void *)to, quads); }
OX_INLINE vi32_row vi32_row_of(int32_t quad) { return vi32_splat(quad); }
OX_INLINE vi32 vi32_dot_kept(vi32 acc, vi32_row x, const int8_t *w) {
  return vi32_dot_u8s8(acc, x, vi32_load((const int32_t *)(const void *)w));
}

OX_INLINE bool vi32_split_pairs(int8_t *quads, int8_t *rest, const int nv) {
  (void)quads, (void)rest, (void)nv;
  return false;
}
OX_INLINE vi32 vi32_dot_pairs(vi32 acc, vi32 x, const int8_t *w) { return vi32_dot_kept(acc, x, w); }

#endif
