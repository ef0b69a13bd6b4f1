/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/i8_taps.h - depthwise products of bytes with channels in lanes, I8_TAPS taps at a time; include a
 * simd/i8_<isa>.h and simd/bytes_<isa>.h first. Here quads of taps are multiplied. The contract:
 * - keep_taps(w, to): I8_TAPS weights of one lane, in 4 bytes.
 * - add_taps(acc, x, tap, w): adds the products of the bytes at x + tap[0 .. I8_TAPS - 1] to 4 vectors in the order of
 *   vi8_at; |w|: VI8_LANES x 4 bytes of kept weights in this order. */
#ifndef OX_SIMD_I8_TAPS_H
#define OX_SIMD_I8_TAPS_H

#include <stddef.h>
#include <string.h>

#define I8_TAPS 4

OX_INLINE void vi8_keep_taps(const int8_t *w, int8_t *to) { memcpy(to, w, 4); }
OX_INLINE void vi8_add_taps(vi32 *acc, const uint8_t *x, const ptrdiff_t *tap, const int8_t *w) {
  vi32 q[4];
  vi8_quads(x + tap[0], x + tap[1], x + tap[2], x + tap[3], q);
  OX_UNROLL for (int v = 0; v < 4; v++) acc[v] =
      vi32_dot_u8s8(acc[v], q[v], vi32_load((const int32_t *)(const void *)(w + 4 * v * VF32_LANES)));
}

#endif
