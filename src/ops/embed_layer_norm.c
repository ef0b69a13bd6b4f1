/* SPDX-License-Identifier: Apache-2.0
 * ops/embed_layer_norm.c - com.microsoft.EmbedLayerNormalization and QEmbedLayerNormalization: rows of two or three
 * tables (of floats, or of bytes with a scale and a zero point each), added and normalised. */
#include <math.h>

#include "base/cksize.h"
#include "graph/op_def.h"
#include "kern/norm/norm.h"
#include "kern/quant/convert.h"
#include "kern/quant/quantize.h"

typedef struct embed_attrs {
  float epsilon;
  int64_t mask_index_type;
} embed_attrs;
static const ox_attr_def attrs[] = {
    OX_ATTR_FLOAT(embed_attrs, epsilon, 1e-12f),
    OX_ATTR_INT(embed_attrs, mask_index_type, 0),
};

enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POS_IDS, N_IN };
enum { OUT, INDEX, SUM };
enum { TO_SCALE = 6, TO_ZERO = 11, N_IN_QUANT = 18 }; /* of byte tables: from a table to its scale, its zero point */

static bool is_byte(uint32_t dtype) { return dtype == OX_U8 || dtype == OX_I8; }

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *ids = &c->in[IDS]->shape, *word = ox_infer_has(c, WORD) ? &c->in[WORD]->shape : NULL;
  if (!word || !ox_infer_has(c, POSITION) || !ox_infer_has(c, GAMMA) || !ox_infer_has(c, BETA))
    return ox_fail(OX_INVALID_MODEL, "EmbedLayerNormalization needs word and position tables, gamma and beta");
  if ((ids->rank >= 0 && ids->rank != 2) || (word->rank >= 0 && word->rank != 2))
    return ox_fail(OX_SHAPE_MISMATCH, "EmbedLayerNormalization needs 2-D ids and tables, got ranks %d and %d",
                   (int)ids->rank, (int)word->rank);
  int64_t batch = ids->rank == 2 ? ids->dim[0] : -1;
  ox_shape out =
      ox_shape_of(3, (int64_t[]){batch, ids->rank == 2 ? ids->dim[1] : -1, word->rank == 2 ? word->dim[1] : -1});
  ox_shape index = ox_shape_of(1, &batch);
  uint32_t type = is_byte(c->in[WORD]->dtype) ? OX_F32 : c->in[WORD]->dtype;
  for (uint32_t i = WORD; is_byte(c->in[WORD]->dtype) && i <= BETA; i++)
    if (ox_infer_has(c, i) && (!ox_infer_has(c, i + TO_SCALE) || !ox_infer_has(c, i + TO_ZERO)))
      return ox_fail(OX_INVALID_MODEL, "QEmbedLayerNormalization: table %u has no scale or zero point", (unsigned)i);
  ox_infer_out(c, OUT, type, &out);
  ox_infer_out(c, INDEX, OX_I32, &index);
  ox_infer_out(c, SUM, type, &out);
  return NULL;
}

static bool is_table(const ox_kernel_ctx *c, uint32_t i, int rank, int64_t hidden) {
  const ox_tensor *t = c->in[i];
  return t->shape.rank == rank && t->shape.dim[rank - 1] == hidden && t->dtype == c->in[WORD]->dtype;
}

/* Rows of floats that a run has on each thread: of the tables, of gamma, and of beta. */
enum { ROW_WORD, ROW_POSITION, ROW_SEGMENT, ROW_GAMMA, ROW_BETA, ROWS };

static ox_status *plan_tokens(ox_kernel_ctx *c, int64_t tokens) {
  size_t bytes;
  if (!ox_mul_ok((size_t)c->in[WORD]->shape.dim[1], ROWS * sizeof(float), &bytes)) return ox_oom();
  return ox_ctx_plan(c, tokens, bytes);
}

static ox_status *check_scales(ox_kernel_ctx *c, int64_t tokens) {
  for (uint32_t i = WORD; i <= BETA; i++)
    if (ox_ctx_has(c, i) &&
        (ox_shape_count(&c->in[i + TO_SCALE]->shape) != 1 || c->in[i + TO_SCALE]->dtype != OX_F32 ||
         ox_shape_count(&c->in[i + TO_ZERO]->shape) != 1 || c->in[i + TO_ZERO]->dtype != c->in[i]->dtype))
      return ox_fail(OX_SHAPE_MISMATCH, "QEmbedLayerNormalization: table %u needs one scale and one zero point",
                     (unsigned)i);
  return plan_tokens(c, tokens);
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *ids = &c->in[IDS]->shape;
  int64_t hidden = c->in[WORD]->shape.dim[1], batch = ids->dim[0], len = ids->dim[1];
  bool segments = ox_ctx_has(c, SEGMENTS);
  if (!is_table(c, POSITION, 2, hidden) || !is_table(c, GAMMA, 1, hidden) || !is_table(c, BETA, 1, hidden) ||
      segments != ox_ctx_has(c, SEGMENT) || (segments && !is_table(c, SEGMENT, 2, hidden)))
    return ox_fail(OX_SHAPE_MISMATCH, "EmbedLayerNormalization: tables, gamma and beta must all be %lld wide",
                   (long long)hidden);
  if ((segments && !ox_shape_equal(&c->in[SEGMENTS]->shape, ids)) ||
      (ox_ctx_has(c, MASK) && (!ox_shape_equal(&c->in[MASK]->shape, ids) || c->in[MASK]->dtype != OX_I32)))
    return ox_fail(OX_SHAPE_MISMATCH,
                   "EmbedLayerNormalization: segment_ids and mask must be int32 of the shape of input_ids");
  if (is_byte(c->in[WORD]->dtype)) return check_scales(c, batch * len);
  if (ox_ctx_has(c, POS_IDS)) {
    const ox_shape *p = &c->in[POS_IDS]->shape;
    if (p->rank != 2 || p->dim[1] != len || (p->dim[0] != 1 && p->dim[0] != batch))
      return ox_fail(OX_SHAPE_MISMATCH, "EmbedLayerNormalization: position_ids does not fit input_ids");
  }
  return plan_tokens(c, batch * len);
}

/* |n| floats of the table that is input |table|, from element |at| on: in place, or in |room|. */
static const float *floats_of(const ox_kernel_ctx *c, uint32_t table, int64_t at, int64_t n, float *room) {
  const ox_quantize_table *q = ox_quantize_select(c->isa);
  const ox_tensor *t = c->in[table];
  if (t->dtype == OX_F32) return (const float *)t->data + at;
  if (!is_byte(t->dtype)) {
    ox_convert_select(c->isa)->load_f32[t->dtype](t->data, (size_t)at, (size_t)n, room);
    return room;
  }
  const void *zero = c->in[table + TO_ZERO]->data;
  float scale = *(const float *)c->in[table + TO_SCALE]->data;
  if (t->dtype == OX_U8)
    q->u8_f32((const uint8_t *)t->data + at, room, (size_t)n, scale, *(const uint8_t *)zero);
  else
    q->i8_f32((const int8_t *)t->data + at, room, (size_t)n, scale, *(const int8_t *)zero);
  return room;
}

static ox_status *row_of(const ox_kernel_ctx *c, uint32_t table, int64_t id, float *room, const float **out) {
  const ox_tensor *t = c->in[table];
  int64_t n = t->shape.dim[1];
  if (id < 0 || id >= t->shape.dim[0])
    return ox_fail(OX_INVALID_ARGUMENT, "EmbedLayerNormalization: id %lld, the table has %lld rows", (long long)id,
                   (long long)t->shape.dim[0]);
  *out = floats_of(c, table, id * n, n, room);
  return NULL;
}

static void put_row(const ox_kernel_ctx *c, const ox_tensor *t, int64_t at, int64_t n, const float *row) {
  ox_convert_select(c->isa)->store_f32[t->dtype](row, t->data, (size_t)at, (size_t)n, NULL);
}

/* How many positions of row |b| the mask marks with 1, wherever they are. */
static int32_t mask_index(const ox_kernel_ctx *c, int64_t b, int64_t len) {
  int32_t n = 0;
  if (!ox_ctx_has(c, MASK)) return 0;
  for (int64_t i = 0; i < len; i++) n += ((const int32_t *)c->in[MASK]->data)[b * len + i] == 1;
  return n;
}

/* Adds what the tables say of |token| to |sum|, which may be the first of |room|. */
static ox_status *add_rows(const ox_kernel_ctx *c, int64_t token, float *room, float *sum) {
  int64_t len = c->in[IDS]->shape.dim[1], n = c->in[WORD]->shape.dim[1], position = token % len;
  const float *word, *place, *segment = NULL;
  if (ox_ctx_has(c, POS_IDS) && !is_byte(c->in[WORD]->dtype))
    position = ((const int32_t *)c->in[POS_IDS]->data)[c->in[POS_IDS]->shape.dim[0] == 1 ? position : token];
  OX_TRY(row_of(c, WORD, ((const int32_t *)c->in[IDS]->data)[token], room + ROW_WORD * n, &word));
  OX_TRY(row_of(c, POSITION, position, room + ROW_POSITION * n, &place));
  if (ox_ctx_has(c, SEGMENTS))
    OX_TRY(row_of(c, SEGMENT, ((const int32_t *)c->in[SEGMENTS]->data)[token], room + ROW_SEGMENT * n, &segment));
  ox_norm_select(c->isa)->add(word, place, segment, sum, (size_t)n);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const ox_norm_table *t = ox_norm_select(c->isa);
  int64_t len = c->in[IDS]->shape.dim[1], n = c->in[WORD]->shape.dim[1];
  float *room = scratch, *sum = room + ROW_WORD * n;
  const float *gamma = floats_of(c, GAMMA, 0, n, room + ROW_GAMMA * n);
  const float *beta = floats_of(c, BETA, 0, n, room + ROW_BETA * n);
  for (int64_t token = tiles.begin; token < tiles.end; token++) {
    OX_TRY(add_rows(c, token, room, sum));
    if (ox_ctx_wants(c, SUM)) put_row(c, c->out[SUM], token * n, n, sum);
    if (ox_ctx_wants(c, OUT) && n > 0) {
      ox_moments m = ox_norm_moments(t, sum, (size_t)n);
      float factor = (float)(1 / sqrt(m.variance + (double)((const embed_attrs *)c->attrs)->epsilon));
      t->apply(sum, sum, (size_t)n, m.mean, factor, gamma, beta);
      put_row(c, c->out[OUT], token * n, n, sum);
    }
    if (token % len == 0 && ox_ctx_wants(c, INDEX))
      ((int32_t *)c->out[INDEX]->data)[token / len] = mask_index(c, token / len, len);
  }
  return NULL;
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define BYTES (OX_BIT(OX_U8) | OX_BIT(OX_I8))
#define I32 OX_BIT(OX_I32)
#define F32 OX_BIT(OX_F32)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "EmbedLayerNormalization", .domain = "com.microsoft", .since = 1, .min_in = 1, .max_in = N_IN,
               .min_out = 1, .max_out = 3, .types = {I32, I32, HALVES, HALVES, HALVES, HALVES, HALVES, I32},
               .vars = "..TTTTT", OX_ATTRS(attrs), .attrs_bytes = sizeof(embed_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "QEmbedLayerNormalization", .domain = "com.microsoft", .since = 1, .min_in = 1,
               .max_in = N_IN_QUANT, .min_out = 1, .max_out = 2,
               .types = {I32, I32, BYTES, BYTES, BYTES, BYTES, BYTES, I32}, .vars = "..TTTTT......TTTTT",
               .more_types = (const uint32_t[]){F32, F32, F32, F32, F32, BYTES, BYTES, BYTES, BYTES, BYTES},
               OX_ATTRS(attrs), .attrs_bytes = sizeof(embed_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_embed_layer_norm = {ops, OX_COUNT(ops)};
