/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/split.h - float32 for a bfloat16 matrix unit: how the terms of a value lie in memory. x = hi + mid + lo
 * with hi = bf16(x), mid = bf16(x - hi), lo = bf16(x - hi - mid): three times 8 bits of significand make float32's 24.
 *
 * A tile is 16 rows of A by 32 of k, or 32 of k by 16 columns of B. It holds hi, mid and lo one after the other, each
 * as 16 rows of 16 pairs: pair p of row i of A is k = p and k = p + 16, pair j of row p of B is those k of column j.
 * Any order of k will do if A and B agree, and this one takes whole vectors. */
#ifndef OX_KERN_GEMM_SPLIT_H
#define OX_KERN_GEMM_SPLIT_H

enum {
  OX_SPLIT_K = 32,                    /* k of a tile */
  OX_SPLIT_ROWS = 16,                 /* rows of A, columns of B */
  OX_SPLIT_TERM = OX_SPLIT_ROWS * 64, /* bytes */
  OX_SPLIT_TILE = 3 * OX_SPLIT_TERM
};

#endif
