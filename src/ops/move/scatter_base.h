/* SPDX-License-Identifier: Apache-2.0
 * ops/move/scatter_base.h - the first of the two stages of operators whose output is a copy of input 0 with some of it
 * replaced. Nothing is copied where the output lies in the input's place. */
#ifndef OX_OPS_MOVE_SCATTER_BASE_H
#define OX_OPS_MOVE_SCATTER_BASE_H

#include <string.h>

#include "graph/op_def.h"
#include "ops/move/deferred.h"

/* Books the copy as stage 0, |tiles| as stage 1. */
static inline void ox_scatter_book(ox_kernel_ctx *c, int64_t tiles) {
  size_t bytes = 0;
  (void)ox_dtype_bytes(c->in[0]->dtype, ox_shape_count(&c->in[0]->shape), &bytes);
  c->n_stages = 2, c->n_tiles[0] = ox_move_tiles((int64_t)bytes, (int64_t)bytes), c->n_tiles[1] = tiles;
}

/* Stage 0. */
static inline void ox_scatter_copy(const ox_kernel_ctx *c, ox_range tiles) {
  int64_t bytes = (int64_t)c->out[0]->bytes;
  if (c->in[0]->data == c->out[0]->data || !bytes) return;
  ox_range u = ox_units_of(tiles, ox_move_tiles(bytes, bytes), bytes);
  memcpy((char *)c->out[0]->data + u.begin, (const char *)c->in[0]->data + u.begin, (size_t)(u.end - u.begin));
}

#endif
