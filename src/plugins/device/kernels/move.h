/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/move.h - strided copies of elements of 1, 2, 4 or 8 bytes. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/move_params.h"

#define MOVE_KERNEL(name, type)                                                     \
  KERNEL(name, move_params) {                                                       \
    BUFFER(const type, x, 0);                                                       \
    BUFFER(type, y, 1);                                                             \
    PARAMS(move_params, p);                                                         \
    FOR_ITEMS(t, 256) {                                                             \
      int i = GROUP(0) * 256 + t, from = p.from, to = p.to;                         \
      if (i < p.n) {                                                                \
        for (int d = MOVE_DIMS - 1; d >= 0 && i; d--) {                             \
          int at = i % p.size[d];                                                   \
          i /= p.size[d], from += at * p.from_stride[d], to += at * p.to_stride[d]; \
        }                                                                           \
        y[to] = x[from];                                                            \
      }                                                                             \
    }                                                                               \
  }
MOVE_KERNEL(move1, unsigned char)
MOVE_KERNEL(move2, unsigned short)
MOVE_KERNEL(move4, unsigned)
MOVE_KERNEL(move8, dev_long)

/* Transposes: the last axis but one has from_stride 1, the last has to_stride 1. Square tiles go through local memory,
 * so that both reads and writes are contiguous. */
#define TRANSPOSE_KERNEL(name, type)                                                                       \
  KERNEL(name, move_params) {                                                                              \
    BUFFER(const type, x, 0);                                                                              \
    BUFFER(type, y, 1);                                                                                    \
    PARAMS(move_params, p);                                                                                \
    LOCAL(type, tile, [MOVE_TILE][MOVE_TILE + 1]);                                                         \
    int rows = p.size[MOVE_DIMS - 2], columns = p.size[MOVE_DIMS - 1], from = p.from, to = p.to;           \
    int tiles_r = (rows + MOVE_TILE - 1) / MOVE_TILE, tiles_c = (columns + MOVE_TILE - 1) / MOVE_TILE;     \
    int r0 = GROUP(0) % tiles_r * MOVE_TILE, rest = GROUP(0) / tiles_r, c0 = rest % tiles_c * MOVE_TILE;   \
    rest /= tiles_c;                                                                                       \
    for (int d = MOVE_DIMS - 3; d >= 0; d--) {                                                             \
      int at = rest % p.size[d];                                                                           \
      rest /= p.size[d], from += at * p.from_stride[d], to += at * p.to_stride[d];                         \
    }                                                                                                      \
    FOR_ITEMS(t, 256) {                                                                                    \
      for (int i = t / MOVE_TILE; i < MOVE_TILE; i += 256 / MOVE_TILE) {                                   \
        if (r0 + t % MOVE_TILE < rows && c0 + i < columns)                                                 \
          tile[i][t % MOVE_TILE] = x[from + r0 + t % MOVE_TILE + (c0 + i) * p.from_stride[MOVE_DIMS - 1]]; \
      }                                                                                                    \
    }                                                                                                      \
    BARRIER;                                                                                               \
    FOR_ITEMS(t, 256) {                                                                                    \
      for (int i = t / MOVE_TILE; i < MOVE_TILE; i += 256 / MOVE_TILE) {                                   \
        if (r0 + i < rows && c0 + t % MOVE_TILE < columns)                                                 \
          y[to + (r0 + i) * p.to_stride[MOVE_DIMS - 2] + c0 + t % MOVE_TILE] = tile[t % MOVE_TILE][i];     \
      }                                                                                                    \
    }                                                                                                      \
  }
TRANSPOSE_KERNEL(transpose1, unsigned char)
TRANSPOSE_KERNEL(transpose2, unsigned short)
TRANSPOSE_KERNEL(transpose4, unsigned)
TRANSPOSE_KERNEL(transpose8, dev_long)
