/* SPDX-License-Identifier: Apache-2.0
 * ops/embed_layer_norm.c - com.microsoft.EmbedLayerNormalization and QEmbedLayerNormalization: rows of two or three
 * tables (of floats, or of bytes with a scale and a zero point each), added and normalised. */
#include <math.h>

#include "graph/op_def.h"

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
    return ox_fail(OX_SHAPE_MISMATCH, "EmbedLayerNormalization wants 2-D ids and tables, got ranks %d and %d",
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

static ox_status *check_scales(ox_kernel_ctx *c, int64_t tokens) {
  for (uint32_t i = WORD; i <= BETA; i++)
    if (ox_ctx_has(c, i) &&
        (ox_shape_count(&c->in[i + TO_SCALE]->shape) != 1 || c->in[i + TO_SCALE]->dtype != OX_F32 ||
         ox_shape_count(&c->in[i + TO_ZERO]->shape) != 1 || c->in[i + TO_ZERO]->dtype != c->in[i]->dtype))
      return ox_fail(OX_SHAPE_MISMATCH, "QEmbedLayerNormalization: table %u wants one scale and one zero point",
                     (unsigned)i);
  return ox_ctx_plan(c, tokens, (size_t)c->in[WORD]->shape.dim[1] * sizeof(float));
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
  return ox_ctx_plan(c, batch * len, (size_t)hidden * sizeof(float));
}

/* Element |e| of the table that is input |table|. */
static float at(const ox_kernel_ctx *c, uint32_t table, int64_t e) {
  const ox_tensor *t = c->in[table];
  if (t->dtype == OX_F32) return ((const float *)t->data)[e];
  if (is_byte(t->dtype)) {
    const void *zero = c->in[table + TO_ZERO]->data;
    int q = t->dtype == OX_U8 ? ((const uint8_t *)t->data)[e] - *(const uint8_t *)zero
                              : ((const int8_t *)t->data)[e] - *(const int8_t *)zero;
    return (float)q * *(const float *)c->in[table + TO_SCALE]->data;
  }
  uint16_t h = ((const uint16_t *)t->data)[e];
  return t->dtype == OX_F16 ? ox_f16_to_f32(h) : ox_bf16_to_f32(h);
}

static void put(const ox_tensor *t, int64_t i, float v) {
  if (t->dtype == OX_F32)
    ((float *)t->data)[i] = v;
  else
    ((uint16_t *)t->data)[i] = t->dtype == OX_F16 ? ox_f16_from_f32(v) : ox_bf16_from_f32(v);
}

/* Adds row |id| of input |table| to |sum|. */
static ox_status *add_row(const ox_kernel_ctx *c, uint32_t table, int64_t id, float *sum) {
  const ox_tensor *t = c->in[table];
  int64_t n = t->shape.dim[1];
  if (id < 0 || id >= t->shape.dim[0])
    return ox_fail(OX_INVALID_ARGUMENT, "EmbedLayerNormalization: id %lld, the table has %lld rows", (long long)id,
                   (long long)t->shape.dim[0]);
  if (t->dtype == OX_F32)
    for (int64_t i = 0; i < n; i++) sum[i] += ((const float *)t->data)[id * n + i];
  else
    for (int64_t i = 0; i < n; i++) sum[i] += at(c, table, id * n + i);
  return NULL;
}

static void normalise(const ox_kernel_ctx *c, int64_t token, int64_t n, const float *sum) {
  double mean = 0, var = 0;
  for (int64_t i = 0; i < n; i++) mean += sum[i];
  mean /= (double)OX_MAX(n, 1);
  for (int64_t i = 0; i < n; i++) var += (sum[i] - mean) * (sum[i] - mean);
  float scale = (float)(1 / sqrt(var / (double)OX_MAX(n, 1) + ((const embed_attrs *)c->attrs)->epsilon));
  for (int64_t i = 0; i < n; i++)
    put(c->out[OUT], token * n + i, (float)(sum[i] - mean) * scale * at(c, GAMMA, i) + at(c, BETA, i));
}

/* How many positions of row |b| the mask marks with 1, wherever they are. */
static int32_t mask_index(const ox_kernel_ctx *c, int64_t b, int64_t len) {
  int32_t n = 0;
  if (!ox_ctx_has(c, MASK)) return 0;
  for (int64_t i = 0; i < len; i++) n += ((const int32_t *)c->in[MASK]->data)[b * len + i] == 1;
  return n;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  int64_t len = c->in[IDS]->shape.dim[1], n = c->in[WORD]->shape.dim[1];
  float *sum = scratch;
  for (int64_t token = tiles.begin; token < tiles.end; token++) {
    int64_t s = token % len, position = s;
    if (ox_ctx_has(c, POS_IDS) && !is_byte(c->in[WORD]->dtype))
      position = ((const int32_t *)c->in[POS_IDS]->data)[c->in[POS_IDS]->shape.dim[0] == 1 ? s : token];
    for (int64_t i = 0; i < n; i++) sum[i] = 0;
    OX_TRY(add_row(c, WORD, ((const int32_t *)c->in[IDS]->data)[token], sum));
    OX_TRY(add_row(c, POSITION, position, sum));
    if (ox_ctx_has(c, SEGMENTS)) OX_TRY(add_row(c, SEGMENT, ((const int32_t *)c->in[SEGMENTS]->data)[token], sum));
    for (int64_t i = 0; ox_ctx_wants(c, SUM) && i < n; i++) put(c->out[SUM], token * n + i, sum[i]);
    if (ox_ctx_wants(c, OUT)) normalise(c, token, n, sum);
    if (s == 0 && ox_ctx_wants(c, INDEX))
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
