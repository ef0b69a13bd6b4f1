/* SPDX-License-Identifier: Apache-2.0
 * ops/embed_layer_norm.c - com.microsoft.EmbedLayerNormalization: rows of two or three tables, added and normalised. */
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
  ox_infer_out(c, OUT, c->in[WORD]->dtype, &out);
  ox_infer_out(c, INDEX, OX_I32, &index);
  ox_infer_out(c, SUM, c->in[WORD]->dtype, &out);
  return NULL;
}

static bool is_table(const ox_kernel_ctx *c, uint32_t i, int rank, int64_t hidden) {
  const ox_tensor *t = c->in[i];
  return t->shape.rank == rank && t->shape.dim[rank - 1] == hidden && t->dtype == c->in[WORD]->dtype;
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
      (ox_ctx_has(c, MASK) && !ox_shape_equal(&c->in[MASK]->shape, ids)))
    return ox_fail(OX_SHAPE_MISMATCH, "EmbedLayerNormalization: segment_ids and mask must have the shape of input_ids");
  if (ox_ctx_has(c, POS_IDS)) {
    const ox_shape *p = &c->in[POS_IDS]->shape;
    if (p->rank != 2 || p->dim[1] != len || (p->dim[0] != 1 && p->dim[0] != batch))
      return ox_fail(OX_SHAPE_MISMATCH, "EmbedLayerNormalization: position_ids does not fit input_ids");
  }
  return ox_ctx_plan(c, batch * len, (size_t)hidden * sizeof(float));
}

static float at(const ox_tensor *t, int64_t i) {
  if (t->dtype == OX_F32) return ((const float *)t->data)[i];
  uint16_t h = ((const uint16_t *)t->data)[i];
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
    for (int64_t i = 0; i < n; i++) sum[i] += at(t, id * n + i);
  return NULL;
}

static void normalise(const ox_kernel_ctx *c, int64_t token, int64_t n, const float *sum) {
  double mean = 0, var = 0;
  for (int64_t i = 0; i < n; i++) mean += sum[i];
  mean /= (double)OX_MAX(n, 1);
  for (int64_t i = 0; i < n; i++) var += (sum[i] - mean) * (sum[i] - mean);
  float scale = (float)(1 / sqrt(var / (double)OX_MAX(n, 1) + ((const embed_attrs *)c->attrs)->epsilon));
  for (int64_t i = 0; i < n; i++)
    put(c->out[OUT], token * n + i, (sum[i] - (float)mean) * scale * at(c->in[GAMMA], i) + at(c->in[BETA], i));
}

/* How many leading positions of row |b| the mask keeps: up to its first zero. */
static int32_t mask_index(const ox_kernel_ctx *c, int64_t b, int64_t len) {
  int64_t n = 0;
  if (!ox_ctx_has(c, MASK)) return 0;
  while (n < len && ((const int32_t *)c->in[MASK]->data)[b * len + n] == 1) n++;
  return (int32_t)n;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  int64_t len = c->in[IDS]->shape.dim[1], n = c->in[WORD]->shape.dim[1];
  float *sum = scratch;
  for (int64_t token = tiles.begin; token < tiles.end; token++) {
    int64_t s = token % len, position = s;
    if (ox_ctx_has(c, POS_IDS))
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
static const ox_op_def defs[] = {
    {.name = "EmbedLayerNormalization",
     .domain = "com.microsoft",
     .since = 1,
     .min_in = 1,
     .max_in = N_IN,
     .min_out = 1,
     .max_out = 3,
     .types = {OX_BIT(OX_I32), OX_BIT(OX_I32), HALVES, HALVES, HALVES, HALVES, HALVES, OX_BIT(OX_I32)},
     OX_ATTRS(attrs),
     .attrs_bytes = sizeof(embed_attrs),
     .infer = infer,
     .prepare = prepare,
     .run = run},
};
const ox_op_set ox_ops_embed_layer_norm = {defs, OX_COUNT(defs)};
