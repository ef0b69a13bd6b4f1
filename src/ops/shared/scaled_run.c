/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/scaled_run.c - the tiles of QuantizeLinear and its inverse. */
#include "ops/shared/scaled_run.h"
#include "ops/shared/tiles.h"

void ox_scaled_run_tiles(const ox_scaled_run *r, const ox_kernel_ctx *c, ox_range tiles) {
  enum { ROW = 64 };
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_MATH, ox_shape_count(&c->in[0]->shape), &begin, &end);
  const bool fast = begin < end && r->fast && ox_scale_pair_is_even(r->pair); /* no element: no scale to look at */
  while (begin < end) {
    ox_segment g = ox_scales_at(&r->pair->scales, begin);
    int64_t n = OX_MIN(end - begin, fast ? g.n : OX_CONVERT_BLOCK);
    if (!fast && g.n >= ROW) n = OX_MIN(n, g.n); /* a block of one segment is simpler */
    if (fast)
      r->segment(c, begin, (size_t)n, g.off);
    else
      r->block(c, cv, begin, (size_t)n);
    begin += n;
  }
}
