/* SPDX-License-Identifier: Apache-2.0
 * ops/blocks_layout.c - ai.onyx.ToBlocks and FromBlocks: [N, C, d...] to blocks of 16 channels, [N, ceil(C / 16), d...,
 * 16], and back, or to [N, d..., C] (docs/blocks.md). */
#include <string.h>

#include "kern/blocks/blocks.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

typedef struct from_attrs {
  int64_t channels, last; /* |last|: the channels become the last axis */
} from_attrs;
static const ox_attr_def from_rows[] = {OX_ATTR_INT_REQUIRED_IN(from_attrs, channels, 1, OX_COUNT_MAX),
                                        OX_ATTR_INT_IN(from_attrs, last, 0, 0, 1)};

typedef struct layout_prep {
  int64_t channels, blocks, planes, pixels; /* planes: blocks of all images */
  int64_t chunks, per_tile;                 /* a tile is a chunk of a plane, or |per_tile| small planes */
} layout_prep;

enum { CHUNK = OX_TILE_CHEAP / OX_BLOCK /* pixels */ };

static ox_status *infer_to(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  ox_shape y = ox_shape_unknown();
  if (x->rank >= 0) {
    if (x->rank < 2 || x->rank >= OX_MAX_RANK)
      return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted 2 to %d", (int)x->rank, OX_MAX_RANK - 1);
    y = *x;
    y.dim[1] = x->dim[1] < 0 ? -1 : OX_CEIL_DIV(x->dim[1], OX_BLOCK);
    y.dim[y.rank++] = OX_BLOCK;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *infer_from(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  const from_attrs *a = c->attrs;
  int64_t channels = a->channels, blocks = OX_CEIL_DIV(channels, OX_BLOCK);
  ox_shape y = ox_shape_unknown();
  if (x->rank >= 0) {
    if (x->rank < 3) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted at least 3", (int)x->rank);
    int64_t last = x->dim[x->rank - 1];
    if ((last >= 0 && last != OX_BLOCK) || (x->dim[1] >= 0 && x->dim[1] != blocks))
      return ox_fail(OX_SHAPE_MISMATCH, "X has %lld blocks of %lld channels, wanted %lld of %d", (long long)x->dim[1],
                     (long long)last, (long long)blocks, OX_BLOCK);
    y = *x, y.rank--;
    if (a->last) memmove(y.dim + 1, x->dim + 2, (size_t)(y.rank - 1) * sizeof *y.dim);
    y.dim[a->last ? y.rank - 1 : 1] = channels;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

/* |plain|: the shape outside blocks. */
static ox_status *prepare(ox_kernel_ctx *c, const ox_shape *plain) {
  layout_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->channels = plain->dim[1], p->blocks = OX_CEIL_DIV(plain->dim[1], OX_BLOCK);
  p->planes = plain->dim[0] * p->blocks, p->pixels = ox_shape_span(plain, 2, plain->rank);
  p->chunks = OX_CEIL_DIV(p->pixels, CHUNK);
  p->per_tile = OX_MAX(CHUNK / OX_MAX(p->pixels, 1), 1);
  return ox_ctx_plan(c, p->chunks > 1 ? p->planes * p->chunks : p->chunks * ox_tile_count(p->planes, p->per_tile), 0);
}
static ox_status *prepare_to(ox_kernel_ctx *c) { return prepare(c, &c->in[0]->shape); }

static ox_status *prepare_from(ox_kernel_ctx *c) {
  const ox_shape *y = &c->out[0]->shape;
  if (!((const from_attrs *)c->attrs)->last) return prepare(c, y);
  layout_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->channels = y->dim[y->rank - 1], p->blocks = OX_CEIL_DIV(p->channels, OX_BLOCK);
  p->pixels = ox_shape_span(y, 1, y->rank - 1), p->per_tile = OX_MAX(CHUNK / p->blocks, 1);
  return ox_ctx_plan(c, ox_tile_count(y->dim[0] * p->pixels, p->per_tile), 0);
}

/* Converts pixels [begin, end) of block |plane|. */
static void convert(const ox_kernel_ctx *c, const ox_blocks_variant *v, int64_t plane, int64_t begin, int64_t end,
                    bool to) {
  const layout_prep *p = c->prep;
  int64_t first = plane % p->blocks * OX_BLOCK, channels = OX_MIN(p->channels - first, OX_BLOCK);
  const float *x = c->in[0]->data;
  float *y = c->out[0]->data;
  size_t in_blocks = (size_t)((plane * p->pixels + begin) * OX_BLOCK), pixels = (size_t)p->pixels;
  size_t in_planes = (size_t)((plane / p->blocks * p->channels + first) * p->pixels + begin);
  if (to)
    v->to(y + in_blocks, x + in_planes, pixels, (size_t)channels, (size_t)(end - begin));
  else
    v->from(y + in_planes, pixels, x + in_blocks, (size_t)channels, (size_t)(end - begin));
}

static ox_status *run_tiles(const ox_kernel_ctx *c, ox_range tiles, bool to) {
  const layout_prep *p = c->prep;
  const ox_blocks_variant *v = ox_blocks_select(c->isa);
  if (p->chunks > 1) {
    for (int64_t t = tiles.begin; t < tiles.end; t++) {
      int64_t begin = t % p->chunks * CHUNK;
      convert(c, v, t / p->chunks, begin, OX_MIN(begin + CHUNK, p->pixels), to);
    }
  } else {
    int64_t begin, end;
    ox_tile_span(tiles, p->per_tile, p->planes, &begin, &end);
    for (int64_t plane = begin; plane < end; plane++) convert(c, v, plane, 0, p->pixels, to);
  }
  return NULL;
}
static ox_status *run_to(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_tiles(c, tiles, true);
}

/* Pixels [begin, end) of all images. Whole blocks are written as long as they end within these pixels: what is too much
 * of a pixel's last block is overwritten by the next pixels. */
static void from_to_last(const layout_prep *p, const float *x, float *y, int64_t begin, int64_t end) {
  float *to = y + begin * p->channels, *stop = y + end * p->channels;
  int64_t image = begin / p->pixels, pixel = begin % p->pixels;
  for (int64_t i = begin; i < end; i++, pixel++) {
    if (pixel == p->pixels) image++, pixel = 0;
    const float *from = x + (image * p->blocks * p->pixels + pixel) * OX_BLOCK;
    for (int64_t left = p->channels; left > 0; left -= OX_BLOCK, from += p->pixels * OX_BLOCK) {
      if (stop - to >= OX_BLOCK)
        memcpy(to, from, OX_BLOCK * sizeof *to);
      else
        memcpy(to, from, (size_t)OX_MIN(left, OX_BLOCK) * sizeof *to);
      to += OX_MIN(left, OX_BLOCK);
    }
  }
}

static ox_status *run_from(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  if (!((const from_attrs *)c->attrs)->last) return run_tiles(c, tiles, false);
  const layout_prep *p = c->prep;
  int64_t begin, end;
  ox_tile_span(tiles, p->per_tile, c->out[0]->shape.dim[0] * p->pixels, &begin, &end);
  if (begin < end) from_to_last(p, c->in[0]->data, c->out[0]->data, begin, end);
  return NULL;
}

#define ROW .domain = "ai.onyx", .since = 1, .types = {OX_BIT(OX_F32)}, .min_in = 1, .max_in = 1
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ToBlocks", ROW, .infer = infer_to), OX_KERNEL(.prepare = prepare_to, .run = run_to)},
    {OX_SCHEMA(.name = "FromBlocks", ROW, OX_ATTRS(from_rows), .attrs_bytes = sizeof(from_attrs), .infer = infer_from),
     OX_KERNEL(.prepare = prepare_from, .run = run_from)},
};
const ox_op_set ox_ops_blocks_layout = {ops, OX_COUNT(ops)};
