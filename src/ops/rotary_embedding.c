/* SPDX-License-Identifier: Apache-2.0
 * ops/rotary_embedding.c - RotaryEmbedding of the standard and of com.microsoft (whose inputs have another order,
 * and which has an offset form), and MRotaryEmbedding, whose tokens have three positions: in time, height and width. */
#include <string.h>

#include "kern/attention/rotary.h"
#include "ops/shared/check.h"

typedef struct rotary_attrs {
  int64_t num_heads, rotary_embedding_dim, interleaved, is_packed_batching, mrope_layout;
  ox_ints mrope_section;
} rotary_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_IN(rotary_attrs, num_heads, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT_IN(rotary_attrs, rotary_embedding_dim, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT(rotary_attrs, interleaved, 0),
    OX_ATTR_INT(rotary_attrs, is_packed_batching, 0),
};

static const ox_attr_def multi_attrs[] = {
    OX_ATTR_INT_IN(rotary_attrs, num_heads, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT_IN(rotary_attrs, rotary_embedding_dim, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT(rotary_attrs, interleaved, 0),
    OX_ATTR_INT(rotary_attrs, is_packed_batching, 0),
    OX_ATTR_INT_IN(rotary_attrs, mrope_layout, 0, 0, 1),
    OX_ATTR_INTS_REQUIRED_IN(rotary_attrs, mrope_section, 0, OX_COUNT_MAX),
};

enum { TILE_ELEMENTS = 16384 };

typedef struct rotary_prep {
  uint32_t cos, sin, pos; /* input numbers */
  int64_t batch, heads, len, d, half;
  int64_t batch_stride, head_stride, row_stride;
  int64_t angles; /* rows of the caches; 3-D caches: batch x len */
  int64_t tile_rows;
  bool has_pos, one_pos;
  bool heads_inside;     /* rows go through the heads of one token, then through the tokens */
  const uint8_t *stream; /* MRotaryEmbedding: which of the token's positions angle i uses */
} rotary_prep;

static ox_status *infer(ox_infer_ctx *c) {
  int rank = c->in[0]->shape.rank;
  if (rank >= 0 && rank != 3 && rank != 4)
    return ox_fail(OX_SHAPE_MISMATCH, "RotaryEmbedding needs a 3-D or 4-D input, got rank %d", rank);
  return ox_infer_same_as_input(c);
}

static ox_status *infer_multi(ox_infer_ctx *c) {
  const rotary_attrs *a = c->attrs;
  const ox_ints *s = &a->mrope_section;
  OX_TRY(infer(c));
  OX_TRY(ox_infer_shape_is(c, 1, 3, (int64_t[]){3, -1, -1}));
  if (s->n != 3) return ox_fail(OX_INVALID_MODEL, "MRotaryEmbedding: mrope_section has %zu numbers", s->n);
  int64_t half = c->in[2]->shape.rank == 2 ? c->in[2]->shape.dim[1] : -1, sum = s->v[0] + s->v[1] + s->v[2];
  if (half >= 0 && half != sum)
    return ox_fail(OX_SHAPE_MISMATCH, "MRotaryEmbedding: sections of %lld angles, caches of %lld", (long long)sum,
                   (long long)half);
  return NULL;
}

static ox_status *split(const ox_kernel_ctx *c, rotary_prep *p) {
  const rotary_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape, *cache = &c->in[p->cos]->shape;
  int64_t rot = 2 * cache->dim[cache->rank - 1];
  if (x->rank == 4) {
    p->batch = x->dim[0], p->heads = x->dim[1], p->len = x->dim[2], p->d = x->dim[3];
    p->row_stride = p->d, p->head_stride = p->len * p->d;
  } else {
    p->batch = x->dim[0], p->len = x->dim[1];
    p->d = a->num_heads > 0 ? x->dim[2] / a->num_heads : rot;
    p->heads = a->num_heads > 0 ? a->num_heads : rot ? x->dim[2] / rot : 0;
    if (p->heads * p->d != x->dim[2])
      return ox_fail(OX_SHAPE_MISMATCH, "hidden size %lld is not %lld heads of %lld", (long long)x->dim[2],
                     (long long)p->heads, (long long)p->d);
    p->row_stride = x->dim[2], p->head_stride = p->d, p->heads_inside = true;
  }
  p->batch_stride = p->heads * (p->len * p->d);
  if (rot > p->d || (a->rotary_embedding_dim > 0 && a->rotary_embedding_dim != rot))
    return ox_fail(OX_SHAPE_MISMATCH,
                   "the caches rotate %lld elements, the head has %lld, rotary_embedding_dim is %lld", (long long)rot,
                   (long long)p->d, (long long)a->rotary_embedding_dim);
  p->half = rot / 2;
  return NULL;
}

static ox_status *check_positions(const ox_kernel_ctx *c, rotary_prep *p) {
  const ox_shape *cs = &c->in[p->cos]->shape, *sn = &c->in[p->sin]->shape;
  if (!ox_shape_equal(cs, sn) || c->in[p->cos]->dtype != c->in[0]->dtype || c->in[p->sin]->dtype != c->in[0]->dtype)
    return ox_fail(OX_SHAPE_MISMATCH, "cos_cache and sin_cache must have one shape and the input's type");
  p->has_pos = ox_ctx_has(c, p->pos);
  if (!p->has_pos) {
    if (cs->rank != 3 || cs->dim[0] != p->batch || cs->dim[1] != p->len)
      return ox_fail(OX_SHAPE_MISMATCH, "without position_ids the caches must be [batch, sequence, half]");
    p->angles = p->batch * p->len;
    return NULL;
  }
  if (cs->rank != 2) return ox_fail(OX_SHAPE_MISMATCH, "with position_ids the caches must be 2-D");
  p->angles = cs->dim[0];
  int64_t n = ox_shape_count(&c->in[p->pos]->shape);
  p->one_pos = c->in[p->pos]->shape.rank == 1 && n == 1;
  if (!p->one_pos && n != p->batch * p->len)
    return ox_fail(OX_SHAPE_MISMATCH, "position_ids has %lld items, wanted %lld", (long long)n,
                   (long long)(p->batch * p->len));
  return NULL;
}

static ox_status *prepare_with(ox_kernel_ctx *c, uint32_t cos, uint32_t sin, uint32_t pos) {
  rotary_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  p->cos = cos, p->sin = sin, p->pos = pos;
  if (c->in[cos]->shape.rank < 2 || c->in[cos]->shape.rank > 3)
    return ox_fail(OX_SHAPE_MISMATCH, "cos_cache must be 2-D or 3-D");
  OX_TRY(split(c, p));
  OX_TRY(check_positions(c, p));
  p->tile_rows = OX_MAX(TILE_ELEMENTS / OX_MAX(p->d, 1), 1);
  return ox_ctx_plan(c, OX_CEIL_DIV(p->batch * p->heads * p->len, p->tile_rows), 0);
}

static ox_status *prepare(ox_kernel_ctx *c) { return prepare_with(c, 1, 2, 3); }
static ox_status *prepare_ms(ox_kernel_ctx *c) { return prepare_with(c, 2, 3, 1); }

/* Assigns angles to positions: in contiguous sections, or interleaved until the sections of height and width are
 * full. */
static ox_status *deal_angles(ox_kernel_ctx *c, rotary_prep *p) {
  const rotary_attrs *a = c->attrs;
  const int64_t *section = a->mrope_section.v;
  uint8_t *stream = ox_ctx_alloc(c, (size_t)p->half + 1);
  if (!stream) return ox_oom();
  for (int64_t i = 0; i < p->half; i++)
    if (a->mrope_layout)
      stream[i] = (uint8_t)(i % 3 && i < 3 * section[i % 3] ? i % 3 : 0);
    else
      stream[i] = (uint8_t)((i >= section[0]) + (i >= section[0] + section[1]));
  p->stream = stream;
  return NULL;
}

static ox_status *prepare_multi(ox_kernel_ctx *c) {
  rotary_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  const ox_shape *cs = &c->in[2]->shape, *pos = &c->in[1]->shape;
  if (!p) return ox_oom();
  p->cos = 2, p->sin = 3, p->pos = 1, p->has_pos = true;
  if (cs->rank != 2 || !ox_shape_equal(cs, &c->in[3]->shape) || c->in[2]->dtype != c->in[0]->dtype ||
      c->in[3]->dtype != c->in[0]->dtype)
    return ox_fail(OX_SHAPE_MISMATCH, "cos_cache and sin_cache must have one 2-D shape and the input's type");
  OX_TRY(split(c, p));
  if (pos->dim[1] != p->batch || pos->dim[2] != p->len)
    return ox_fail(OX_SHAPE_MISMATCH, "position_ids must be [3, %lld, %lld]", (long long)p->batch, (long long)p->len);
  p->angles = cs->dim[0];
  p->heads_inside = true; /* a token's angles serve all of them */
  OX_TRY(deal_angles(c, p));
  p->tile_rows = OX_MAX(TILE_ELEMENTS / OX_MAX(p->d, 1), 1);
  return ox_ctx_plan(c, OX_CEIL_DIV(p->batch * p->heads * p->len, p->tile_rows), (size_t)p->half * 2 * sizeof(float));
}

typedef struct place {
  int64_t b, h, s;
} place;

static place place_at(const rotary_prep *p, int64_t row) {
  if (p->heads_inside) return (place){row / p->heads / p->len, row % p->heads, row / p->heads % p->len};
  return (place){row / p->len / p->heads, row / p->len % p->heads, row % p->len};
}

static void place_next(const rotary_prep *p, place *at) {
  int64_t *inner = p->heads_inside ? &at->h : &at->s, *outer = p->heads_inside ? &at->s : &at->h;
  if (++*inner < (p->heads_inside ? p->heads : p->len)) return;
  *inner = 0;
  if (++*outer < (p->heads_inside ? p->len : p->heads)) return;
  *outer = 0, at->b++;
}

static size_t element_at(const rotary_prep *p, const place *at) {
  return (size_t)(at->b * p->batch_stride + at->h * p->head_stride + at->s * p->row_stride);
}

/* The cosines, then the sines of token |t|, in the caches' type. */
static ox_status *gather_angles(const ox_kernel_ctx *c, const rotary_prep *p, int64_t t, size_t item, char *to) {
  const int64_t *pos = c->in[p->pos]->data;
  for (int64_t i = 0; i < p->half; i++) {
    int64_t at = pos[p->stream[i] * p->batch * p->len + t];
    if (at < 0 || at >= p->angles)
      return ox_fail(OX_INVALID_ARGUMENT, "position %lld is outside the caches of %lld", (long long)at,
                     (long long)p->angles);
    size_t from = (size_t)(at * p->half + i) * item;
    memcpy(to + (size_t)i * item, (const char *)c->in[p->cos]->data + from, item);
    memcpy(to + (size_t)(p->half + i) * item, (const char *)c->in[p->sin]->data + from, item);
  }
  return NULL;
}

static ox_status *run_multi(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const rotary_prep *p = c->prep;
  uint32_t dtype = c->in[0]->dtype;
  ox_rotary_row_fn *rotate = ox_rotary_select(c->isa)->row;
  size_t item = ox_dtype_bits(dtype) / 8;
  int64_t begin = tiles.begin * p->tile_rows, have = -1;
  int64_t end = OX_MIN(tiles.end * p->tile_rows, p->batch * p->heads * p->len);
  place at = begin < end ? place_at(p, begin) : (place){0, 0, 0};
  for (int64_t i = begin; i < end; i++, place_next(p, &at)) {
    int64_t t = at.b * p->len + at.s;
    if (t != have) OX_TRY(gather_angles(c, p, t, item, scratch));
    have = t;
    size_t x = element_at(p, &at) * item;
    rotate(dtype, (const char *)c->in[0]->data + x, scratch, (const char *)scratch + (size_t)p->half * item, p->half,
           p->d, ((const rotary_attrs *)c->attrs)->interleaved != 0, (char *)c->out[0]->data + x);
  }
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const rotary_prep *p = c->prep;
  const rotary_attrs *a = c->attrs;
  uint32_t dtype = c->in[0]->dtype;
  ox_rotary_row_fn *rotate = ox_rotary_select(c->isa)->row;
  size_t item = ox_dtype_bits(dtype) / 8;
  const int64_t *pos = p->has_pos ? c->in[p->pos]->data : NULL;
  int64_t begin = tiles.begin * p->tile_rows, end = OX_MIN(tiles.end * p->tile_rows, p->batch * p->heads * p->len);
  place at = begin < end ? place_at(p, begin) : (place){0, 0, 0};
  for (int64_t i = begin; i < end; i++, place_next(p, &at)) {
    int64_t angle = at.b * p->len + at.s;
    if (pos && !p->one_pos) angle = pos[angle];
    if (pos && p->one_pos) angle = pos[0] < 0 || pos[0] > p->angles ? -1 : pos[0] + at.s;
    if (angle < 0 || angle >= p->angles)
      return ox_fail(OX_INVALID_ARGUMENT, "position %lld is outside the caches of %lld", (long long)angle,
                     (long long)p->angles);
    size_t x = element_at(p, &at) * item, first = (size_t)(angle * p->half) * item;
    rotate(dtype, (const char *)c->in[0]->data + x, (const char *)c->in[p->cos]->data + first,
           (const char *)c->in[p->sin]->data + first, p->half, p->d, a->interleaved != 0, (char *)c->out[0]->data + x);
  }
  return NULL;
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "RotaryEmbedding", .since = 23, .min_in = 3, .max_in = 4,
               .types = {HALVES, HALVES, HALVES, OX_BIT(OX_I64)}, .vars = "TTT", OX_ATTRS(attrs),
               .attrs_bytes = sizeof(rotary_attrs), .infer = infer),
     OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "RotaryEmbedding", .domain = "com.microsoft", .since = 1, .min_in = 4, .max_in = 4,
               .types = {HALVES, OX_BIT(OX_I64), HALVES, HALVES}, .vars = "T.TT", OX_ATTRS(attrs),
               .attrs_bytes = sizeof(rotary_attrs), .infer = infer),
     OX_KERNEL(.inplace = 1, .prepare = prepare_ms, .run = run)},
    {OX_SCHEMA(.name = "MRotaryEmbedding", .domain = "com.microsoft", .since = 1, .min_in = 4, .max_in = 4,
               .types = {HALVES, OX_BIT(OX_I64), HALVES, HALVES}, .vars = "T.TT", OX_ATTRS(multi_attrs),
               .attrs_bytes = sizeof(rotary_attrs), .infer = infer_multi),
     OX_KERNEL(.inplace = 1, .prepare = prepare_multi, .run = run_multi)},
};
const ox_op_set ox_ops_rotary_embedding = {ops, OX_COUNT(ops)};
