/* SPDX-License-Identifier: Apache-2.0
 * ops/block_norm.c - ai.onyx.BlockBatchNormalization and BlockInstanceNormalization: on blocks of channels
 * (docs/blocks.md), followed by an activation. Both are y = act(a (x - m) + b); for a batch a, m and b are
 * constants, for an instance they are computed first, chunk by chunk. */
#include <math.h>

#include "base/cksize.h"
#include "graph/op_def.h"
#include "kern/blocks/blocks.h"
#include "ops/shared/block_shape.h"
#include "ops/shared/tiles.h"

enum { X, SCALE, BIAS, MEAN, VAR, CHUNK = 512 /* pixels that are read twice from L1 */ };

typedef struct norm_attrs {
  float epsilon;
  const char *activation;
  ox_floats activation_params;
} norm_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_FLOAT(norm_attrs, epsilon, 1e-5f),
                                        OX_ATTR_STR(norm_attrs, activation, NULL),
                                        OX_ATTR_FLOATS(norm_attrs, activation_params)};

/* A block's constants. */
typedef struct block_line {
  float center[OX_BLOCK], scale[OX_BLOCK], shift[OX_BLOCK];
} block_line;

typedef struct norm_state {
  ox_act act;
  int64_t channels;
  block_line *lines; /* of a batch's blocks; NULL: of instances, found in each run */
} norm_state;

typedef struct norm_prep {
  int64_t blocks, planes, pixels, chunks, per_tile; /* small planes: several a tile */
  size_t lines_at;
} norm_prep;

/* A chunk's moments; in shared memory. */
typedef struct chunk_sums {
  double mean[OX_BLOCK], squares[OX_BLOCK];
} chunk_sums;

static ox_status *infer(ox_infer_ctx *c) {
  for (uint32_t i = SCALE; i < c->n_in; i++) {
    const ox_shape *s = &c->in[i]->shape;
    if (s->rank >= 0 && (s->rank != 1 || !ox_shape_is_blocks(&c->in[X]->shape, s->dim[0])))
      return ox_fail(OX_SHAPE_MISMATCH, "input %u must have one element per channel of X", (unsigned)i);
  }
  return ox_infer_same_as_input(c);
}

static float element(const ox_tensor *t, int64_t i) { return ((const ox_f32u *)t->data)[i]; }

/* Sets lane |i| of |l|; the rounding error of the mean becomes part of the shift. */
static void set_lane(block_line *l, int64_t i, double mean, double a, double bias) {
  l->center[i] = (float)mean, l->scale[i] = (float)a;
  l->shift[i] = (float)(bias - (mean - (double)l->center[i]) * a);
}

static ox_status *load_act(ox_load_ctx *c) {
  const norm_attrs *a = c->attrs;
  norm_state *s = c->state = OX_LOAD_NEW(c, norm_state);
  if (!s) return ox_oom();
  if (!ox_act_parse(a->activation, a->activation_params.v, a->activation_params.n, &s->act))
    return ox_fail(OX_INVALID_MODEL, "unknown activation \"%.40s\"", a->activation);
  return NULL;
}

static ox_status *load_batch(ox_load_ctx *c) {
  OX_TRY(load_act(c));
  norm_state *s = c->state;
  for (uint32_t i = SCALE; i <= VAR; i++)
    if (!c->in_const[i]) return ox_fail(OX_INVALID_MODEL, "input %u must be a constant", (unsigned)i);
  s->channels = ox_shape_count(&c->in_const[SCALE]->shape);
  s->lines = OX_LOAD_ARRAY(c, block_line, (size_t)OX_CEIL_DIV(s->channels, OX_BLOCK) + 1);
  if (!s->lines) return ox_oom();
  for (int64_t i = 0; i < s->channels; i++) {
    double epsilon = (double)((const norm_attrs *)c->attrs)->epsilon;
    double a = (double)element(c->in_const[SCALE], i) / sqrt((double)element(c->in_const[VAR], i) + epsilon);
    set_lane(&s->lines[i / OX_BLOCK], i % OX_BLOCK, (double)element(c->in_const[MEAN], i), a,
             (double)element(c->in_const[BIAS], i));
  }
  c->consumed |= 1u << SCALE | 1u << BIAS | 1u << MEAN | 1u << VAR;
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[X]->shape;
  const norm_state *s = c->state;
  norm_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->blocks = x->dim[1], p->planes = x->dim[0] * p->blocks, p->pixels = ox_shape_span(x, 2, x->rank - 1);
  p->chunks = OX_CEIL_DIV(p->pixels, CHUNK), p->per_tile = OX_MAX(CHUNK / OX_MAX(p->pixels, 1), 1);
  int64_t tiles = p->chunks > 1 ? p->planes * p->chunks : p->chunks * ox_tile_count(p->planes, p->per_tile);
  if (s->lines) return ox_ctx_plan(c, tiles, 0);
  size_t sums, lines;
  if (!ox_mul_ok((size_t)p->planes * (size_t)p->chunks, sizeof(chunk_sums), &sums) ||
      !ox_mul_ok((size_t)p->planes, sizeof(block_line), &lines) || !ox_add_ok(sums, lines, &c->shared_bytes))
    return ox_fail(OX_LIMIT, "the working memory is too large");
  p->lines_at = sums;
  c->n_stages = 3, c->n_tiles[0] = c->n_tiles[2] = tiles, c->n_tiles[1] = tiles ? p->planes : 0;
  return NULL;
}

/* Combines the moments of the chunks of |plane| to those of the whole. */
static void join_chunks(const ox_kernel_ctx *c, int64_t plane) {
  const norm_prep *p = c->prep;
  const chunk_sums *part = (const chunk_sums *)c->shared + plane * p->chunks;
  block_line *line = (block_line *)((char *)c->shared + p->lines_at) + plane;
  int64_t first = plane % p->blocks * OX_BLOCK, channels = ox_shape_count(&c->in[SCALE]->shape);
  for (int64_t i = 0; i < OX_BLOCK; i++) {
    double mean = 0, squares = 0, n = 0;
    for (int64_t k = 0; k < p->chunks; k++) {
      double m = (double)OX_MIN(CHUNK, p->pixels - k * CHUNK), d = part[k].mean[i] - mean;
      squares += part[k].squares[i] + d * d * n * m / (n + m);
      mean += d * m / (n + m), n += m;
    }
    bool real = first + i < channels;
    double epsilon = (double)((const norm_attrs *)c->attrs)->epsilon;
    double a = real ? (double)element(c->in[SCALE], first + i) / sqrt(OX_MAX(squares, 0) / n + epsilon) : 0;
    set_lane(line, i, mean, a, real ? (double)element(c->in[BIAS], first + i) : 0);
  }
}

/* Pixels [begin, end) of |plane|. */
static void apply(const ox_kernel_ctx *c, int64_t plane, int64_t begin, int64_t end) {
  const norm_prep *p = c->prep;
  const norm_state *s = c->state;
  const block_line *l =
      s->lines ? s->lines + plane % p->blocks : (const block_line *)((const char *)c->shared + p->lines_at) + plane;
  int64_t at = (plane * p->pixels + begin) * OX_BLOCK;
  ox_blocks_select(c->isa)->affine((float *)c->out[0]->data + at, (const float *)c->in[X]->data + at, l->center,
                                   l->scale, l->shift, s->act, (size_t)(end - begin));
}

static void measure(const ox_kernel_ctx *c, int64_t plane, int64_t begin, int64_t end) {
  const norm_prep *p = c->prep;
  chunk_sums *sums = (chunk_sums *)c->shared + plane * p->chunks + begin / CHUNK;
  const float *x = (const float *)c->in[X]->data + (plane * p->pixels + begin) * OX_BLOCK;
  ox_blocks_select(c->isa)->moments(x, (size_t)(end - begin), sums->mean, sums->squares);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const norm_prep *p = c->prep;
  (void)scratch;
  if (stage == 1) {
    for (int64_t plane = tiles.begin; plane < tiles.end; plane++) join_chunks(c, plane);
    return NULL;
  }
  void (*each)(const ox_kernel_ctx *, int64_t, int64_t, int64_t) = c->n_stages == 3 && stage == 0 ? measure : apply;
  if (p->chunks > 1) {
    for (int64_t t = tiles.begin; t < tiles.end; t++) {
      int64_t begin = t % p->chunks * CHUNK;
      each(c, t / p->chunks, begin, OX_MIN(begin + CHUNK, p->pixels));
    }
  } else {
    int64_t begin, end;
    ox_tile_span(tiles, p->per_tile, p->planes, &begin, &end);
    for (int64_t plane = begin; plane < end; plane++) each(c, plane, 0, p->pixels);
  }
  return NULL;
}

#define ROW                                                                                                           \
  .domain = "ai.onyx", .since = 1, .types = {OX_BIT(OX_F32)}, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(norm_attrs), \
  .infer = infer
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "BlockBatchNormalization", ROW, .min_in = 5, .max_in = 5),
     OX_KERNEL(.load = load_batch, .prepare = prepare, .run = run, .inplace = 1)},
    {OX_SCHEMA(.name = "BlockInstanceNormalization", ROW, .min_in = 3, .max_in = 3),
     OX_KERNEL(.load = load_act, .prepare = prepare, .run = run, .inplace = 1)},
};
const ox_op_set ox_ops_block_norm = {ops, OX_COUNT(ops)};
