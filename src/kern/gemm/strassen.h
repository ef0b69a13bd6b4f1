/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/strassen.h - Strassen's product of matrices of 2 x 2 blocks: seven products of blocks instead of eight
 * (V. Strassen, "Gaussian elimination is not optimal", 1969). One level only: an eighth of the multiplications, and an
 * error that is bounded by the norms of the blocks instead of by each sum's own terms, a few times that of plain sums.
 *
 * Blocks are numbered in the order of a book: 0 1 over 2 3. Step s multiplies A[a0] +- A[a1] by B[b0] +- B[b1] and adds
 * the result to C[c0] and C[c1], each with its sign. C0, C3, C2 and C1 are first written by steps 0, 0, 1 and 2. */
#ifndef OX_KERN_GEMM_STRASSEN_H
#define OX_KERN_GEMM_STRASSEN_H

#include <stdint.h>

enum { OX_STRASSEN_STEPS = 7 };

typedef struct ox_strassen_step {
  uint8_t a[2], b[2], c[2];
  int8_t a_sign, b_sign, c_sign[2]; /* of the second block of A and of B, and of both of C; 0: there is none */
} ox_strassen_step;

static const ox_strassen_step ox_strassen[OX_STRASSEN_STEPS] = {
    {{0, 3}, {0, 3}, {0, 3}, +1, +1, {+1, +1}}, /* (A0 + A3) (B0 + B3) */
    {{2, 3}, {0, 0}, {2, 3}, +1, 0, {+1, -1}},  /* (A2 + A3) B0 */
    {{0, 0}, {1, 3}, {1, 3}, 0, -1, {+1, +1}},  /* A0 (B1 - B3) */
    {{3, 3}, {2, 0}, {0, 2}, 0, -1, {+1, +1}},  /* A3 (B2 - B0) */
    {{0, 1}, {3, 3}, {1, 0}, +1, 0, {+1, -1}},  /* (A0 + A1) B3: C1 is whole */
    {{2, 0}, {0, 1}, {3, 3}, -1, +1, {+1, 0}},  /* (A2 - A0) (B0 + B1): C3 is whole */
    {{1, 3}, {2, 3}, {0, 0}, -1, +1, {+1, 0}},  /* (A1 - A3) (B2 + B3): C0 is whole */
};

#endif
