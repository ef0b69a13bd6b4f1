/* SPDX-License-Identifier: Apache-2.0
 * ops/where.c - Where: X or Y by a condition, of any type, with broadcasting. */
#include "kern/binary/binary.h"
#include "kern/binary/broadcast.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape s;
  OX_TRY(ox_infer_broadcast_of(c, 0, 2, &s));
  ox_infer_out(c, 0, ox_infer_dtype_of(c, 1, 2), &s);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  ox_bcast *b = ox_ctx_alloc(c, sizeof *b);
  if (!b) return ox_oom();
  ox_bcast_init(b, &c->out[0]->shape, 3, (const ox_shape *[]){&c->in[0]->shape, &c->in[1]->shape, &c->in[2]->shape});
  c->prep = b;
  return ox_plan_elements(c, OX_TILE_CHEAP);
}

/* Short rows: all three operands are broadcast to a block first. */
static void run_gathered(const ox_kernel_ctx *c, size_t size, int64_t begin, int64_t end) {
  enum { BLOCK = 256 };
  const ox_bcast *b = c->prep;
  const ox_binary_table *t = ox_binary_select(c->isa);
  uint8_t cond[BLOCK];
  uint64_t x[BLOCK * 2], y[BLOCK * 2];
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t n = OX_MIN(end - i, BLOCK);
    ox_bcast_gather(b, 0, c->in[0]->data, 1, i, n, cond);
    ox_bcast_gather(b, 1, c->in[1]->data, size, i, n, x);
    ox_bcast_gather(b, 2, c->in[2]->data, size, i, n, y);
    ox_choose(t, cond, x, y, (char *)c->out[0]->data + (size_t)i * size, size, (size_t)n, 1, 1, 1);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_bcast *b = c->prep;
  const ox_binary_table *t = ox_binary_select(c->isa);
  size_t size = ox_dtype_bits(c->out[0]->dtype) / 8;
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_CHEAP, b->count, &begin, &end);
  if (b->rank > 1 && b->dim[b->rank - 1] < 32) {
    run_gathered(c, size, begin, end);
    return NULL;
  }
  ox_bcast_run r;
  for (bool ok = ox_bcast_first(b, begin, end, &r); ok; ok = ox_bcast_next(b, &r))
    ox_choose(t, (const uint8_t *)c->in[0]->data + r.off[0], (const char *)c->in[1]->data + (size_t)r.off[1] * size,
              (const char *)c->in[2]->data + (size_t)r.off[2] * size, (char *)c->out[0]->data + (size_t)r.at * size,
              size, (size_t)r.n, r.step[0], r.step[1], r.step[2]);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Where", .since = 9, .types = {OX_BIT(OX_BOOL), OX_T_ALL & ~OX_T_SUBBYTE}, .vars = ".TT",
               .min_in = 3, .max_in = 3, .infer = infer),
     OX_KERNEL(.inplace = 6, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_where = {ops, OX_COUNT(ops)};
