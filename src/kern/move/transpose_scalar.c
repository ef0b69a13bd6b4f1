/* SPDX-License-Identifier: Apache-2.0
 * kern/move/transpose_scalar.c - transposition by blocks of one cache line; the reference. */
#include "kern/move/transpose_edge.h"

#define TRANSPOSE_SCALAR(name, bytes)                                                                      \
  void name(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols) {               \
    enum { B = 64 / (bytes) };                                                                             \
    for (int64_t r = 0; r < rows; r += B)                                                                  \
      for (int64_t c = 0; c < cols; c += B)                                                                \
        transpose_edge(in + r * is + c * (bytes), is, out + c * os + r * (bytes), os, OX_MIN(B, rows - r), \
                       OX_MIN(B, cols - c), bytes);                                                        \
  }

TRANSPOSE_SCALAR(ox_transpose_u8__scalar, 1)
TRANSPOSE_SCALAR(ox_transpose_u16__scalar, 2)
TRANSPOSE_SCALAR(ox_transpose_u32__scalar, 4)
TRANSPOSE_SCALAR(ox_transpose_u64__scalar, 8)
TRANSPOSE_SCALAR(ox_transpose_u128__scalar, 16)
