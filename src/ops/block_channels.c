/* SPDX-License-Identifier: Apache-2.0
 * ops/block_channels.c - ai.onyx.BlockChannels: channels of tensors in blocks in another order (docs/blocks.md):
 * concatenation, split and shuffle that do not keep to whole blocks. */
#include <string.h>

#include "graph/op_def.h"
#include "kern/blocks/blocks.h"
#include "ops/shared/block_shape.h"
#include "ops/shared/tiles.h"

typedef struct channels_attrs {
  ox_ints channels; /* of each input */
  ox_ints from;     /* of each output channel: its index among the channels of all inputs */
  ox_ints split;    /* channels of each output */
} channels_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_INTS_REQUIRED_IN(channels_attrs, channels, 1, OX_COUNT_MAX),
                                        OX_ATTR_INTS_REQUIRED_IN(channels_attrs, from, 0, OX_COUNT_MAX),
                                        OX_ATTR_INTS_REQUIRED_IN(channels_attrs, split, 1, OX_COUNT_MAX)};

/* A source of an output block, by input and block; addresses are known only in a run. */
typedef struct source {
  int64_t block;
  uint32_t input;
  int8_t from[OX_BLOCK];
} source;

typedef struct out_block {
  int64_t block; /* of its output */
  uint32_t output, n_sources;
  bool whole; /* all lanes are those of one block, in order: a copy */
  source sources[OX_BLOCK];
} out_block;

typedef struct channels_prep {
  int64_t batch, blocks, pixels, chunks, per_tile;
  out_block *out; /* blocks of all outputs of one image */
} channels_prep;

enum { CHUNK = OX_TILE_CHEAP / OX_BLOCK /* pixels */ };

static int64_t sum_of(ox_ints v) {
  int64_t n = 0;
  for (size_t i = 0; i < v.n; i++) n += v.v[i];
  return n;
}

static ox_status *check(const channels_attrs *a, uint32_t n_in, uint32_t n_out) {
  if (a->channels.n != n_in || a->split.n != n_out)
    return ox_fail(OX_INVALID_MODEL, "channels of %zu inputs and %zu outputs, there are %u and %u", a->channels.n,
                   a->split.n, (unsigned)n_in, (unsigned)n_out);
  if (sum_of(a->split) != (int64_t)a->from.n)
    return ox_fail(OX_INVALID_MODEL, "from has %zu entries, the outputs %lld channels", a->from.n,
                   (long long)sum_of(a->split));
  for (size_t i = 0; i < a->from.n; i++)
    if (a->from.v[i] >= sum_of(a->channels))
      return ox_fail(OX_INVALID_MODEL, "from[%zu] is %lld, the inputs have %lld channels", i, (long long)a->from.v[i],
                     (long long)sum_of(a->channels));
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const channels_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  OX_TRY(check(a, c->n_in, c->n_out));
  for (uint32_t i = 0; i < c->n_in; i++) {
    const ox_shape *s = &c->in[i]->shape;
    bool fits = ox_shape_is_blocks(s, a->channels.v[i]) && (s->rank < 0 || x->rank < 0 || s->rank == x->rank);
    for (int d = 0; fits && d < s->rank && d < x->rank; d++)
      fits = d == 1 || s->dim[d] < 0 || x->dim[d] < 0 || s->dim[d] == x->dim[d];
    if (!fits)
      return ox_fail(OX_SHAPE_MISMATCH, "input %u is not in blocks of %lld channels, or not of input 0's size",
                     (unsigned)i, (long long)a->channels.v[i]);
  }
  for (uint32_t i = 0; i < c->n_out; i++) {
    ox_shape y = *x;
    if (y.rank > 1) y.dim[1] = OX_CEIL_DIV(a->split.v[i], OX_BLOCK);
    ox_infer_out(c, i, OX_F32, &y);
  }
  return NULL;
}

/* Lane |lane| of |b| is channel |channel| of the inputs. */
static void add_lane(const channels_attrs *a, out_block *b, int64_t lane, int64_t channel) {
  uint32_t input = 0, k = 0;
  for (; channel >= a->channels.v[input]; input++) channel -= a->channels.v[input];
  while (k < b->n_sources && (b->sources[k].input != input || b->sources[k].block != channel / OX_BLOCK)) k++;
  source *s = &b->sources[k];
  if (k == b->n_sources) {
    s->input = input, s->block = channel / OX_BLOCK, b->n_sources++;
    memset(s->from, -1, sizeof s->from);
  }
  s->from[lane] = (int8_t)(channel % OX_BLOCK);
  b->whole &= b->n_sources == 1 && s->from[lane] == lane;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const channels_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  channels_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->batch = x->dim[0], p->pixels = ox_shape_span(x, 2, x->rank - 1);
  for (size_t i = 0; i < a->split.n; i++) p->blocks += OX_CEIL_DIV(a->split.v[i], OX_BLOCK);
  p->out = ox_ctx_alloc(c, (size_t)p->blocks * sizeof *p->out);
  if (!p->out) return ox_oom();
  out_block *b = p->out;
  int64_t at = 0;
  for (uint32_t i = 0; i < a->split.n; i++)
    for (int64_t left = a->split.v[i], block = 0; left > 0; left -= OX_BLOCK, block++, b++) {
      b->output = i, b->block = block, b->whole = true;
      for (int64_t lane = 0; lane < OX_MIN(left, OX_BLOCK); lane++) add_lane(a, b, lane, a->from.v[at++]);
    }
  p->chunks = OX_CEIL_DIV(p->pixels, CHUNK), p->per_tile = OX_MAX(CHUNK / OX_MAX(p->pixels, 1), 1);
  int64_t planes = p->batch * p->blocks;
  return ox_ctx_plan(c, p->chunks > 1 ? planes * p->chunks : p->chunks * ox_tile_count(planes, p->per_tile), 0);
}

/* Pixels [begin, end) of |plane|: a block of an output of an image. */
static void fill(const ox_kernel_ctx *c, int64_t plane, int64_t begin, int64_t end) {
  const channels_prep *p = c->prep;
  const channels_attrs *a = c->attrs;
  const out_block *b = &p->out[plane % p->blocks];
  ox_blocks_source from[OX_BLOCK];
  int64_t image = plane / p->blocks;
  if (!ox_ctx_wants(c, b->output)) return;
  int64_t out_plane = image * OX_CEIL_DIV(a->split.v[b->output], OX_BLOCK) + b->block;
  float *y = (float *)c->out[b->output]->data + (out_plane * p->pixels + begin) * OX_BLOCK;
  for (uint32_t k = 0; k < b->n_sources; k++) {
    const source *s = &b->sources[k];
    int64_t in_plane = image * OX_CEIL_DIV(a->channels.v[s->input], OX_BLOCK) + s->block;
    from[k].x = (const float *)c->in[s->input]->data + (in_plane * p->pixels + begin) * OX_BLOCK;
    memcpy(from[k].from, s->from, sizeof s->from);
  }
  if (b->whole)
    memcpy(y, from[0].x, (size_t)(end - begin) * OX_BLOCK * sizeof(float));
  else
    ox_blocks_select(c->isa)->pick(y, from, b->n_sources, (size_t)(end - begin));
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const channels_prep *p = c->prep;
  (void)stage, (void)scratch;
  if (p->chunks > 1) {
    for (int64_t t = tiles.begin; t < tiles.end; t++) {
      int64_t begin = t % p->chunks * CHUNK;
      fill(c, t / p->chunks, begin, OX_MIN(begin + CHUNK, p->pixels));
    }
  } else {
    int64_t begin, end;
    ox_tile_span(tiles, p->per_tile, p->batch * p->blocks, &begin, &end);
    for (int64_t plane = begin; plane < end; plane++) fill(c, plane, 0, p->pixels);
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BlockChannels", .domain = "ai.onyx", .since = 1, .types = {OX_BIT(OX_F32)}, .min_in = 1,
               .max_in = OX_VARIADIC, .min_out = 1, .max_out = OX_VARIADIC, OX_ATTRS(attr_rows),
               .attrs_bytes = sizeof(channels_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_block_channels = {ops, OX_COUNT(ops)};
