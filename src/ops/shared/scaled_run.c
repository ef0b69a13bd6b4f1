/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/scaled_run.c - the tiles of QuantizeLinear and its inverse. */
#include "ops/shared/scaled_run.h"
#include "ops/shared/tiles.h"

/* The segment that begins at |at|, where |before|, of one scale, ended; |*index| is that of the axis. Without
 * divisions: segments may be short. */
static ox_segment next_segment(const ox_scales *s, int64_t at, ox_segment before, int64_t *index) {
  if (s->axis == 1 || s->inner > 1) return ox_scales_at(s, at);
  *index = *index + before.n < s->axis ? *index + before.n : 0;
  return (ox_segment){OX_MIN(s->block, s->axis - *index), before.off + 1, 0};
}

static void run_segments(const ox_scaled_run *r, const ox_kernel_ctx *c, int64_t begin, int64_t end) {
  const ox_scales *s = &r->pair->scales;
  ox_segment g = ox_scales_at(s, begin);
  int64_t index = begin / s->inner % s->axis;
  while (true) {
    r->segment(c, begin, (size_t)OX_MIN(end - begin, g.n), g.off);
    if (g.n >= end - begin) return;
    begin += g.n;
    g = next_segment(s, begin, g, &index);
  }
}

void ox_scaled_run_tiles(const ox_scaled_run *r, const ox_kernel_ctx *c, ox_range tiles) {
  enum { ROW = 64 };
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_MATH, ox_shape_count(&c->in[0]->shape), &begin, &end);
  if (begin < end && r->fast && ox_scale_pair_is_even(r->pair)) { /* no element: no scale to look at */
    run_segments(r, c, begin, end);
    return;
  }
  while (begin < end) {
    ox_segment g = ox_scales_at(&r->pair->scales, begin);
    int64_t n = OX_MIN(end - begin, OX_CONVERT_BLOCK);
    if (g.n >= ROW) n = OX_MIN(n, g.n / ROW * ROW); /* of one segment is simpler; packed elements begin at a byte */
    r->block(c, cv, begin, (size_t)n);
    begin += n;
  }
}
