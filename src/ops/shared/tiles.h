/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/tiles.h - dividing flat loops over elements into tiles, by the number of elements only. */
#ifndef OX_OPS_SHARED_TILES_H
#define OX_OPS_SHARED_TILES_H

#include "base/macros.h"
#include "graph/op_def.h"

/* Elements per tile, by the cost of an element: memory-bound arithmetic, a vectorised function, a libm call. Multiples
 * of 64, so that a tile of a packed type starts on a byte and no two tiles share a cache line. */
enum { OX_TILE_CHEAP = 32768, OX_TILE_MATH = 8192, OX_TILE_SLOW = 2048 };

static inline int64_t ox_tile_count(int64_t n, int64_t per) { return n <= 0 ? 0 : (n + per - 1) / per; }

/* The elements [*begin, *end) that the tiles |t| of |per| elements cover, out of |n|. */
static inline void ox_tile_span(ox_range t, int64_t per, int64_t n, int64_t *begin, int64_t *end) {
  *begin = OX_MIN(t.begin * per, n);
  *end = OX_MIN(t.end * per, n);
}

/* Books tiles of |per| elements over output 0. */
static inline ox_status *ox_plan_elements(ox_kernel_ctx *c, int64_t per) {
  return ox_ctx_plan(c, ox_tile_count(ox_shape_count(&c->out[0]->shape), per), 0);
}

#endif
