/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen.h - Strassen's product of matrices of 2 x 2 blocks: seven products of blocks instead of eight (V.
 * Strassen, "Gaussian elimination is not optimal", 1969). One level only: an eighth of the multiplications.
 *
 * Blocks are numbered row by row: 0 1 over 2 3. Step s multiplies A[a0] - A[a1] by B[b0] +- B[b1] and adds the result
 * to C[c0] and C[c1], each with its sign. The signs are chosen so that only differences of blocks of A are taken: what
 * all rows have in common, which in activations is much, cancels, and with it the errors. Steps are ordered so that
 * they need the blocks of B one by one.
 *
 * B stays in the panels of plain products. k is walked in blocks, each cut in halves; panel j is paired with panel j +
 * 1 (a band), row i of a tile with row i + half of its rows. The operands made from A each worker computes for itself,
 * with its first tile of certain rows: made once for all workers, they would come from other cores' caches. Sums of
 * blocks of B are made in registers by each strip of rows, on units that do not multiply; or, where strips have so few
 * rows that loading two blocks from L2 limits them, by the first strip for the others.
 *
 * In a first run B may also be the model's rows: each tile then packs the part that it multiplies, next to its scratch.
 *
 * Errors: each row of A is scaled by a power of two to a largest magnitude in [1, 2), and its results scaled back, so
 * that a row's error does not depend on the row that it is paired with. Halves of k and pairs of columns are mixed,
 * though: with u = 2^-24, |a| the largest of a row of A and |b| the largest of a column of B and of its partner,
 *   |c - c'| <= (6 k^2 + 50 k) u |a| |b|,
 * twice what N. Higham has for one level ("Accuracy and Stability of Numerical Algorithms", 2002, 23.2.2), since the
 * other row is up to twice as large. The bound for plain sums is k^2 u |a| |b| in the same norm, but theirs depends on
 * the single products. tests/kern/strassen_test.c measures errors below four times those of plain products.
 *
 * Not finite: infinity or NaN in A or B makes every sum it is part of infinite or NaN, in its own rows and columns and
 * in those they are paired with. Tiles with such sums, or any beyond 2^100, are computed again by plain products; where
 * A itself has them, by plain products from the start, since all tiles of these rows are affected. */
#ifndef OX_KERN_GEMM_STRASSEN_H
#define OX_KERN_GEMM_STRASSEN_H

#include <stdint.h>
#include <string.h>

#include "kern/carried.h"
#include "kern/gemm/gemm.h"

enum {
  OX_STRASSEN_STEPS = 7,
  OX_STRASSEN_K = 384,   /* most k in half a block */
  OX_STRASSEN_A_RS = 400 /* row stride, in floats, of a step's operand made from A; an odd number of cache lines */
};

typedef struct ox_strassen_step {
  uint8_t a[2], b[2], c[2];
  bool a_pair;              /* A[a[0]] - A[a[1]]; false: A[a[0]] alone */
  int8_t b_sign, c_sign[2]; /* signs of B[b[1]] and of the two blocks of C; 0: absent */
} ox_strassen_step;

static const ox_strassen_step ox_strassen[OX_STRASSEN_STEPS] = {
    {{2, 3}, {0, 0}, {2, 3}, true, 0, {+1, -1}},  /* (A2 - A3) B0 */
    {{0, 1}, {3, 3}, {0, 1}, true, 0, {+1, -1}},  /* (A0 - A1) B3 */
    {{0, 3}, {0, 3}, {0, 3}, true, -1, {+1, +1}}, /* (A0 - A3) (B0 - B3) */
    {{0, 0}, {1, 3}, {1, 3}, false, 1, {+1, +1}}, /* A0 (B1 + B3): C1 is whole */
    {{2, 0}, {0, 1}, {3, 3}, true, 1, {+1, 0}},   /* (A2 - A0) (B0 + B1): C3 is whole */
    {{3, 3}, {2, 0}, {2, 0}, false, 1, {+1, +1}}, /* A3 (B2 + B0): C2 is whole */
    {{1, 3}, {2, 3}, {0, 0}, true, 1, {+1, 0}},   /* (A1 - A3) (B2 + B3): C0 is whole */
};
enum {
  OX_STRASSEN_FIRST = 2, /* the steps before it are the first to write their blocks of C: C2 and C3, C0 and C1 */
  OX_STRASSEN_WHOLE = 3  /* from this step on, each completes its c[0] */
};

/* ---- kernels ---- */

/* A strip of rows in a step: from two thirds of MR to MR of them. */
typedef struct ox_strassen_strip {
  const float *a; /* row stride OX_STRASSEN_A_RS */
  size_t m, k;
  const float *b[2]; /* blocks of panels: rows of NR floats */
  int b_sign;        /* sign of b[1]; 0: only b[0] */
  float *b_sum;      /* for kernels that keep sums: the sum of the two blocks is stored there, too, if |b_sign| */
  float *c[2];       /* rows of NR sums; c[1] NULL: none */
  float c_sign[2];
  bool c_first;            /* this step is the first to write them */
  const ox_gemm_tile *end; /* not NULL: this step completes c[0], which goes through the epilogue of this tile */
  const float *back;       /* with |end|: factors that undo the scale of each row */
  const char *fetch;       /* prefetched during the product, |fetch_step| bytes per k */
  size_t fetch_step;
} ox_strassen_strip;

/* A pair of rows of A, with pieces of each of the four blocks: the operand for step s goes to to + s * step_floats. */
typedef struct ox_strassen_pair {
  const float *from[4];
  float scale[2]; /* for each row */
  size_t k;
  float *to;
  size_t step_floats;
} ox_strassen_pair;

typedef struct ox_strassen_kernels {
  uint16_t mr, nr;  /* panels are those of the plain kernel with nr columns */
  bool keeps_sums;  /* the first strip of a step stores sums of blocks of B for the others */
  const char *form; /* name for profiles */
  /* False: a completed sum is not finite, or beyond 2^100. */
  bool (*multiply)(const ox_strassen_strip *t);
  void (*mix)(const ox_strassen_pair *p);
  uint32_t (*largest_bits)(const float *a, size_t n); /* the largest magnitude as bits; NaN is above infinity */
} ox_strassen_kernels;

/* The power of two that scales a row's largest magnitude, given as bits, to [1, 2); |*back| undoes it. It is at most
 * 2^126, so that rows of denormals have errors of some 2^-149, as in plain sums. A row of zeros gives zeros. Rows that
 * are not finite or might overflow are scaled by NaN; their sums are not used. */
static inline float ox_strassen_scale(uint32_t bits, float *back) {
  uint32_t e = bits >> 23, most = 127 + 100, to = 0x7fc00000, from = 0x7fc00000;
  if (e == 0) e = 1;
  if (e < most) to = (254 - e) << 23, from = bits ? e << 23 : 0;
  float scale;
  memcpy(&scale, &to, sizeof scale), memcpy(back, &from, sizeof *back);
  return scale;
}

/* ---- products ---- */

typedef struct ox_strassen_plan {
  const ox_strassen_kernels *v;
  ox_gemm_plan plain; /* the same tiles by plain products: for remaining columns, and for sums that are not finite */
  size_t kc;          /* length of a block of k */
  size_t half_rows;   /* row i of a tile is paired with row i + half_rows */
  size_t least_rows;  /* tiles of fewer rows are plain products */
  size_t scratch;
} ox_strassen_plan;

/* Are seven products faster than eight, for an A with rows of unit stride, and not turned off (OX_PLAIN_SUMS)? */
bool ox_strassen_pays(const ox_gemm_variant *v, ox_isa have, size_t m, size_t n, size_t k);
/* The best kernels for the panels of |v| on this CPU; NULL: there are none. */
const ox_strassen_kernels *ox_strassen_select(const ox_gemm_variant *v, ox_isa have);
/* The product of |plain|, whose A and C are floats and whose B is PACKED, LATE, COMPRESSED or a SOURCE. */
void ox_strassen_plan_init(ox_strassen_plan *g, const ox_gemm_plan *plain, ox_isa have);
static inline size_t ox_strassen_tiles(const ox_strassen_plan *g) { return ox_gemm_tiles(&g->plain); }
/* |made| records for which rows of A each worker has made the steps' operands. */
void ox_strassen_run(const ox_strassen_plan *g, const ox_gemm_io *io, size_t index, ox_carried *made, void *scratch);

#endif
