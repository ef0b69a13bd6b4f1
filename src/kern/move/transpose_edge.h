/* SPDX-License-Identifier: Apache-2.0
 * kern/move/transpose_edge.h - transposition element by element, for edges and for machines without vectors. */
#ifndef OX_KERN_MOVE_TRANSPOSE_EDGE_H
#define OX_KERN_MOVE_TRANSPOSE_EDGE_H

#include <string.h>

#include "kern/move/move.h"

/* |bytes| is a constant at every call, so each copy is one load and one store. */
OX_INLINE void transpose_edge(const char *in, int64_t is, char *out, int64_t os, int64_t rows, int64_t cols,
                              size_t bytes) {
  for (int64_t c = 0; c < cols; c++)
    for (int64_t r = 0; r < rows; r++)
      memcpy(out + c * os + r * (int64_t)bytes, in + r * is + c * (int64_t)bytes, bytes);
}

#endif
