/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen.h - Strassen's product of matrices of 2 x 2 blocks: seven products of blocks instead of eight
 * (V. Strassen, "Gaussian elimination is not optimal", 1969). One level only: an eighth of the multiplications.
 *
 * Blocks are numbered in the order of a book: 0 1 over 2 3. Step s multiplies A[a0] - A[a1] by B[b0] +- B[b1] and adds
 * the result to C[c0] and C[c1], each with its sign. The signs are chosen so that of A only differences are taken: what
 * all rows have in common, as activations do, is gone from them, and errors with it. The steps are in an order that
 * needs the blocks of B one by one.
 *
 * B stays in the panels of plain products. k is walked in blocks, each cut in halves; panel j goes with panel j + 1, a
 * band, row i of a tile with row i + half of its rows. What the steps take of A each worker makes for itself, with its
 * first tile of some rows: made by all for all, it would come from the caches of others. Sums of blocks of B are made
 * in registers by each strip of rows, by units that do not multiply, or by the first one for the others: strips of few
 * rows are done before two blocks have come from L2.
 *
 * B may also be rows as the model has them, for a first run: each tile packs the part that it multiplies next to its
 * scratch.
 *
 * Errors: each row of A is scaled by a power of two to a largest magnitude in [1, 2), and its results back, so that a
 * row's error does not depend on the size of the row that it is paired with. Halves of k and pairs of columns are
 * mixed, though: with u = 2^-24, |a| the largest of a row of A and |b| the largest of a column of B and of its partner,
 *   |c - c'| <= (6 k^2 + 50 k) u |a| |b|,
 * twice what N. Higham has for one level ("Accuracy and Stability of Numerical Algorithms", 2002, 23.2.2), since the
 * other row is up to twice as large. That of plain sums is k^2 u |a| |b| in the same norm, and depends on each product
 * instead. tests/kern/strassen_test.c measures errors below four times those of plain products.
 *
 * Not finite: infinity or NaN in A or B makes every sum that it has a part in infinite or NaN, in the rows and columns
 * where it belongs and in those they are paired with. Tiles with such sums, or any beyond 2^100, are computed again by
 * plain products; at once where it is A that has them, since no tile of these rows can do without.
 */
#ifndef OX_KERN_GEMM_STRASSEN_H
#define OX_KERN_GEMM_STRASSEN_H

#include <stdint.h>
#include <string.h>

#include "kern/carried.h"
#include "kern/gemm/gemm.h"

enum {
  OX_STRASSEN_STEPS = 7,
  OX_STRASSEN_K = 384,   /* most of half a block */
  OX_STRASSEN_A_RS = 400 /* floats from row to row of what a step takes of A; an odd number of lines */
};

typedef struct ox_strassen_step {
  uint8_t a[2], b[2], c[2];
  bool a_pair;              /* A[a[0]] - A[a[1]]; false: A[a[0]] alone */
  int8_t b_sign, c_sign[2]; /* of B[b[1]], and of both of C; 0: there is none */
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
  OX_STRASSEN_FIRST = 2,
  OX_STRASSEN_WHOLE = 3
}; /* steps before write first, C2 and C3, C0 and C1; steps from there on make c[0] whole */

/* ---- kernels ---- */

/* Rows of a step: from two thirds of MR to MR of them. */
typedef struct ox_strassen_strip {
  const float *a; /* OX_STRASSEN_A_RS floats from row to row */
  size_t m, k;
  const float *b[2]; /* row k at b + k * b_ks: NR floats */
  size_t b_ks;
  int b_sign;   /* of b[1]; 0: b[0] is all */
  float *b_sum; /* what is multiplied goes there, too, if |b_sign|, kernels that keep sums */
  float *c[2];  /* rows of NR sums; c[1] NULL: none */
  float c_sign[2];
  bool c_first;            /* nobody has written to them yet */
  const ox_gemm_tile *end; /* c[0] is whole with this: to its place, |m| and all after |epi|; NULL: not yet */
  const float *back;       /* what undoes the scale of each row, then */
  const char *fetch;       /* brought to the caches meanwhile, |fetch_step| bytes per k; any address */
  size_t fetch_step;
} ox_strassen_strip;

/* Two rows of A that go together, pieces of each of the four blocks: what step s takes goes to to + s * step_floats. */
typedef struct ox_strassen_pair {
  const float *from[4];
  float scale[2]; /* of a row */
  size_t k;
  float *to;
  size_t step_floats;
} ox_strassen_pair;

typedef struct ox_strassen_kernels {
  uint16_t mr, nr;  /* panels are those of the plain kernel with as many columns */
  bool keeps_sums;  /* of blocks of B, made by the first strip of a step for the others */
  const char *form; /* for profiles */
  /* False: sums that are whole now are not finite, or beyond 2^100. */
  bool (*multiply)(const ox_strassen_strip *t);
  void (*mix)(const ox_strassen_pair *p);
  uint32_t (*largest_bits)(const float *a, size_t n); /* of magnitudes: NaN above infinity above all numbers */
} ox_strassen_kernels;

/* The power of two that brings a row's largest magnitude, as bits, to [1, 2), and in |back| the other way: 2^126 at
 * most, so that rows of denormals keep errors of some 2^-149 as in plain sums. A row of zeros gives zeros. Rows that
 * are not finite or that might overflow become NaN, whose sums are not used. */
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
  ox_gemm_plan plain; /* the same tiles by plain products: columns left over, and what is not finite */
  size_t kc;          /* of a block of k */
  size_t half_rows;   /* of a tile: row i goes with row i + half_rows */
  size_t least_rows;  /* of a tile: fewer are multiplied plainly */
  size_t scratch;
} ox_strassen_plan;

/* Whether seven products take less time than eight, for an A with rows of unit stride. */
bool ox_strassen_pays(const ox_gemm_variant *v, ox_isa have, size_t m, size_t n, size_t k);
/* What goes with the panels of |v|, as this CPU runs it best. NULL: |v| has none. */
const ox_strassen_kernels *ox_strassen_select(const ox_gemm_variant *v, ox_isa have);
void ox_strassen_plan_init(ox_strassen_plan *g, const ox_gemm_variant *v, ox_isa have, size_t m, size_t n, size_t k);
static inline size_t ox_strassen_tiles(const ox_strassen_plan *g) { return ox_gemm_tiles(&g->plain); }
/* |io->b_rs| not 0: B is not packed, its rows lie so many floats apart; the bits of the result are the same. |made|: of
 * which rows of A the workers have made what the steps take. */
void ox_strassen_run(const ox_strassen_plan *g, const ox_gemm_io *io, size_t index, ox_carried *made, void *scratch);

#endif
