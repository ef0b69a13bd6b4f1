/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/tile_emulated.h - the vocabulary of matrix tiles, and AMX in plain C: tests compile the bodies with it, so
 * that everything but the tile instructions is tested on machines without the unit. Slow; used in no shipped variant.
 *
 * There are eight tiles of 16 rows of 64 bytes. VT_TILES declares those of a function; their numbers are literals.
 * - vt_begin, vt_end: around all use of tiles, once per thread and run of blocks.
 * - vt_zero(n); vt_load(n, p, stride), vt_store(n, p, stride): rows |stride| bytes apart.
 * - vt_dot_bf16(c, a, b): c holds floats, a and b pairs of bfloat16. c[i][j] += sum over p of a[i][p] . b[p][j].
 * - vt_dot_u8s8(c, a, b): c holds int32, a quads of unsigned, b of signed bytes. The same sum, wrapping.
 *
 * vt_dot_bf16 follows Intel's description of TDPBF16PS (Software Developer's Manual, volume 2): the first elements of
 * all pairs are summed from zero on, in order of p, each step a multiply-add that rounds once; the second elements
 * likewise; then the two sums are added, then the result to c. Every rounding is to nearest even, denormal inputs count
 * as zero, and denormal results become zero, whatever the control register says. The manual does not tell whether
 * a result is denormal before or after rounding; here, as for SSE: after rounding to 24 bits. */
#ifndef OX_SIMD_TILE_EMULATED_H
#define OX_SIMD_TILE_EMULATED_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

typedef struct vt_tile {
  uint32_t row[16][16];
} vt_tile;

OX_INLINE void vt_begin(void) {}
OX_INLINE void vt_end(void) {}

#define VT_TILES vt_tile vt_tiles_[8]
#define vt_zero(n) memset(&vt_tiles_[n], 0, sizeof vt_tiles_[n])
#define vt_load(n, p, stride) vt_load_(&vt_tiles_[n], p, stride)
#define vt_store(n, p, stride) vt_store_(&vt_tiles_[n], p, stride)
#define vt_dot_bf16(c, a, b) vt_dot_bf16_(&vt_tiles_[c], &vt_tiles_[a], &vt_tiles_[b])
#define vt_dot_u8s8(c, a, b) vt_dot_u8s8_(&vt_tiles_[c], &vt_tiles_[a], &vt_tiles_[b])

static inline void vt_load_(vt_tile *t, const void *p, size_t stride) {
  for (size_t i = 0; i < 16; i++) memcpy(t->row[i], (const char *)p + i * stride, 64);
}
static inline void vt_store_(const vt_tile *t, void *p, size_t stride) {
  for (size_t i = 0; i < 16; i++) memcpy((char *)p + i * stride, t->row[i], 64);
}

/* A float's bits as a double; denormals as zero. */
OX_INLINE double vt_input_(uint32_t bits) {
  float f;
  if (!(bits & 0x7f800000)) bits &= 0x80000000;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}

/* Rounds to float. For an exact product of two bfloat16 (16 bits) or a float, plus a float, rounding to double first
 * does no harm: where the double is inexact, the smaller term is too small to bring the sum near a tie between two
 * floats. 2^-126 - 2^-151 is the smallest number that rounds to a normal float. */
OX_INLINE double vt_round_(double x) { return fabs(x) < 0x1p-126 - 0x1p-151 ? copysign(0.0, x) : (double)(float)x; }

static inline void vt_dot_bf16_(vt_tile *c, const vt_tile *a, const vt_tile *b) {
  double x[2][16][16]; /* B: first and second elements */
  for (size_t p = 0; p < 16; p++)
    for (size_t j = 0; j < 16; j++)
      x[0][p][j] = vt_input_(b->row[p][j] << 16), x[1][p][j] = vt_input_(b->row[p][j] & 0xffff0000);
  for (size_t i = 0; i < 16; i++) {
    double sum[2][16] = {{0}};
    for (size_t p = 0; p < 16; p++) {
      double a0 = vt_input_(a->row[i][p] << 16), a1 = vt_input_(a->row[i][p] & 0xffff0000);
      for (size_t j = 0; j < 16; j++) {
        sum[0][j] = vt_round_(sum[0][j] + a0 * x[0][p][j]);
        sum[1][j] = vt_round_(sum[1][j] + a1 * x[1][p][j]);
      }
    }
    for (size_t j = 0; j < 16; j++) {
      float f = (float)vt_round_(vt_input_(c->row[i][j]) + vt_round_(sum[0][j] + sum[1][j]));
      memcpy(&c->row[i][j], &f, sizeof f);
    }
  }
}

static inline void vt_dot_u8s8_(vt_tile *c, const vt_tile *a, const vt_tile *b) {
  for (size_t i = 0; i < 16; i++)
    for (size_t p = 0; p < 16; p++)
      for (size_t q = 0; q < 32; q += 8) {
        uint32_t x = a->row[i][p] >> q & 255;
        for (size_t j = 0; j < 16; j++) {
          uint32_t y = b->row[p][j] >> q & 255;
          c->row[i][j] += x * (y - ((y & 128) << 1)); /* modulo 2^32, as signed sums wrap */
        }
      }
}

#endif
