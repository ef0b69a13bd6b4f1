/* SPDX-License-Identifier: Apache-2.0
 * ops/block_pool.c - ai.onyx.BlockMaxPool and BlockAveragePool: the standard's pools between tensors in blocks of
 * channels (docs/blocks.md). A tile is some rows of one block. */
#include "kern/blocks/window.h"
#include "ops/shared/block_shape.h"
#include "ops/shared/pool_node.h"

static const ox_attr_def max_attrs[] = {OX_POOL_ATTR_ROWS};
static const ox_attr_def average_attrs[] = {OX_POOL_ATTR_ROWS, OX_ATTR_INT(ox_pool_attrs, count_include_pad, 0)};

typedef struct block_pool_prep {
  ox_window window;
  float *inverse[OX_CONV_AXES]; /* of averages; NULL: maxima */
  int64_t rows, tile_rows, row_tiles;
} block_pool_prep;

/* The shape with blocks as its channels. */
static ox_status *without_lanes(const ox_shape *x, ox_shape *out) {
  *out = *x;
  if (x->rank < 0) return NULL;
  if (x->rank < 4 || (x->dim[x->rank - 1] >= 0 && x->dim[x->rank - 1] != OX_BLOCK))
    return ox_fail(OX_SHAPE_MISMATCH, "X is not in blocks of channels");
  out->rank--;
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape x, y;
  OX_TRY(without_lanes(&c->in[0]->shape, &x));
  OX_TRY(ox_pool_infer_shape(c->attrs, &x, &y));
  if (y.rank >= 0) y.dim[y.rank++] = OX_BLOCK;
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c, ox_pool_kind kind) {
  block_pool_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_pool pool;
  ox_shape x, y;
  ox_conv_geom g;
  if (!p) return ox_oom();
  OX_TRY(without_lanes(&c->in[0]->shape, &x));
  OX_TRY(without_lanes(&c->out[0]->shape, &y));
  OX_TRY(ox_pool_make(c->attrs, kind, &x, &y, &pool));
  if (!ox_pool_has_taps(&pool))
    return ox_fail(OX_NOT_IMPLEMENTED, "a pool in blocks over %d axes, or with a kernel above 2^20", pool.axes);
  int64_t planes = ox_shape_span(&x, 0, 2);
  OX_TRY(ox_pool_taps(c, &pool, planes, &g, p->inverse));
  if (!ox_window_init(&p->window, kind == OX_POOL_MAX ? OX_WINDOW_MAX : OX_WINDOW_SUM, &g, &(ox_act){OX_ACT_NONE, 0, 0},
                      c->isa))
    return ox_fail(OX_LIMIT, "pool: too large");
  p->rows = g.out[0] * g.out[1], p->tile_rows = ox_window_tile_rows(&p->window, planes);
  p->row_tiles = OX_CEIL_DIV(p->rows, p->tile_rows);
  return ox_ctx_plan(c, g.out[2] ? planes * p->row_tiles : 0, p->window.scratch_bytes);
}

static ox_status *prepare_max(ox_kernel_ctx *c) { return prepare(c, OX_POOL_MAX); }
static ox_status *prepare_average(ox_kernel_ctx *c) { return prepare(c, OX_POOL_AVERAGE); }

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const block_pool_prep *p = c->prep;
  const ox_conv_geom *g = &p->window.g;
  int64_t in_rows = g->in[0] * g->in[1];
  (void)stage;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t plane = t / p->row_tiles, r0 = t % p->row_tiles * p->tile_rows;
    const ox_window_plane a = {.x = (const float *)c->in[0]->data + plane * in_rows * g->in[2] * OX_BLOCK,
                               .ring = in_rows,
                               .pitch = g->in[2] * OX_BLOCK,
                               .y = (float *)c->out[0]->data + plane * p->rows * g->out[2] * OX_BLOCK,
                               .inverse = p->inverse[0] ? (const float *const *)p->inverse : NULL};
    ox_window_rows(&p->window, &a, r0, OX_MIN(r0 + p->tile_rows, p->rows), scratch);
  }
  return NULL;
}

#define BLOCK_POOL_ROW(table)                                                                            \
  .domain = "ai.onyx", .since = 1, .types = {OX_BIT(OX_F32)}, .min_in = 1, .max_in = 1, OX_ATTRS(table), \
  .attrs_bytes = sizeof(ox_pool_attrs), .infer = infer
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BlockMaxPool", BLOCK_POOL_ROW(max_attrs)), OX_KERNEL(.prepare = prepare_max, .run = run)},
    {OX_SCHEMA(.name = "BlockAveragePool", BLOCK_POOL_ROW(average_attrs)),
     OX_KERNEL(.prepare = prepare_average, .run = run)},
};
const ox_op_set ox_ops_block_pool = {ops, OX_COUNT(ops)};
