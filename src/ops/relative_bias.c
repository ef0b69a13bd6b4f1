/* SPDX-License-Identifier: Apache-2.0
 * ops/relative_bias.c - com.microsoft's biases of attention by distance: RelativePositionBias (T5's buckets),
 * GatedRelativePositionBias (WavLM's gate on such a bias), and GemmaRotaryEmbedding. Computed in float. */
#include <math.h>
#include <string.h>

#include "ops/move/deferred.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

enum { HALVES = OX_BIT(OX_F32) | OX_BIT(OX_F16) };

static float float_at(const ox_kernel_ctx *c, uint32_t i, int64_t at) {
  float v;
  ox_convert_select(c->isa)->load_f32[c->in[i]->dtype](c->in[i]->data, (size_t)at, 1, &v);
  return v;
}

/* ---- RelativePositionBias ---- */

enum { TABLE, QUERY_LENGTH, KEY_LENGTH };
typedef struct {
  int64_t max_distance, is_bidirectional;
} bias_attrs;
static const ox_attr_def bias_rows[] = {OX_ATTR_INT_REQUIRED_IN(bias_attrs, max_distance, 1, OX_COUNT_MAX),
                                        OX_ATTR_INT(bias_attrs, is_bidirectional, 0)};

static ox_status *bias_infer(ox_infer_ctx *c) {
  int64_t length[2] = {-1, -1};
  int n;
  OX_TRY(ox_infer_shape_is(c, TABLE, 2, (int64_t[]){-1, -1}));
  if (ox_infer_dim(c, TABLE, 0) >= 0 && ox_infer_dim(c, TABLE, 0) < 4)
    return ox_fail(OX_SHAPE_MISMATCH, "RelativePositionBias: %lld buckets, wanted at least 4",
                   (long long)ox_infer_dim(c, TABLE, 0));
  for (uint32_t i = QUERY_LENGTH; i <= KEY_LENGTH; i++) {
    int64_t v;
    if (ox_infer_ints(c, i, &v, 1, &n) != 1 || n != 1) continue;
    if (v < 0) return ox_fail(OX_INVALID_ARGUMENT, "RelativePositionBias: length %lld", (long long)v);
    length[i - QUERY_LENGTH] = v;
  }
  ox_shape s = ox_shape_of(4, (int64_t[]){1, ox_infer_dim(c, TABLE, 1), length[0], length[1]});
  ox_infer_out(c, 0, c->in[TABLE]->dtype, &s);
  return NULL;
}

/* T5's bucket for a key |distance| before the query: one per distance for near keys, logarithmic for far ones. In
 * float, as in the models that were trained with it. */
static int64_t bucket_of(const bias_attrs *a, int64_t distance, int64_t buckets) {
  int64_t first = 0;
  if (a->is_bidirectional) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = distance < 0 ? -distance : distance;
  } else {
    distance = distance < 0 ? -distance : 0;
  }
  int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  float share = logf((float)distance / (float)exact) / logf((float)a->max_distance / (float)exact);
  float far = (float)exact + share * (float)(buckets - exact);
  return first + (far < (float)(buckets - 1) ? ox_i64_of((double)far) : buckets - 1); /* far may be NaN */
}

/* The table lies head by head, though its shape is [buckets, heads]. */
static ox_status *bias_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const bias_attrs *a = c->attrs;
  int64_t buckets = c->in[TABLE]->shape.dim[0], heads = c->in[TABLE]->shape.dim[1];
  int64_t rows = ox_int_at(c->in[QUERY_LENGTH], 0), columns = ox_int_at(c->in[KEY_LENGTH], 0);
  if (rows < 0 || columns < 0)
    return ox_fail(OX_INVALID_ARGUMENT, "RelativePositionBias: lengths %lld and %lld", (long long)rows,
                   (long long)columns);
  ox_shape s = ox_shape_of(4, (int64_t[]){1, heads, rows, columns});
  size_t item = ox_dtype_bits(c->in[TABLE]->dtype) / 8;
  void *out;
  OX_TRY(ox_output_at_run(c, 0, &s, &out));
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      int64_t bucket = bucket_of(a, j - i, buckets);
      for (int64_t h = 0; h < heads; h++)
        memcpy((char *)out + (size_t)((h * rows + i) * columns + j) * item,
               (const char *)c->in[TABLE]->data + (size_t)(h * buckets + bucket) * item, item);
    }
    if (ox_ctx_stopped_each(c, i, 16)) return NULL;
  }
  return NULL;
}

/* ---- GatedRelativePositionBias ---- */

enum { QUERY, QUERY_BIAS, REL_POS, WEIGHT, BIAS, ECO_A, OFFSET };
typedef struct {
  int64_t num_heads;
} gate_attrs;
static const ox_attr_def gate_rows[] = {OX_ATTR_INT_REQUIRED_IN(gate_attrs, num_heads, 1, OX_COUNT_MAX)};
typedef struct {
  int64_t batch, heads, length, size, d; /* size: of a head; d: columns of the weight */
} gate_prep;

static ox_status *gate_infer(ox_infer_ctx *c) {
  int64_t heads = ((const gate_attrs *)c->attrs)->num_heads;
  bool packed = ox_infer_has(c, OFFSET);
  OX_TRY(ox_infer_shape_is(c, QUERY, packed ? 2 : 3, (int64_t[]){-1, -1, -1}));
  int64_t hidden = ox_infer_dim(c, QUERY, packed ? 1 : 2), d = ox_infer_dim(c, WEIGHT, 1);
  int64_t length = packed ? ox_infer_dim(c, OFFSET, 1) : ox_infer_dim(c, QUERY, 1);
  if (hidden >= 0 && hidden % heads)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: %lld heads of %lld", c->op, (long long)heads, (long long)hidden);
  if (d >= 0 && d % 2) return ox_fail(OX_SHAPE_MISMATCH, "%s: weight has %lld columns", c->op, (long long)d);
  OX_TRY(ox_infer_shape_is(c, QUERY_BIAS, 1, &hidden));
  OX_TRY(ox_infer_shape_is(c, REL_POS, 4, (int64_t[]){1, heads, length, length}));
  OX_TRY(ox_infer_shape_is(c, WEIGHT, 2, (int64_t[]){hidden < 0 ? -1 : hidden / heads, d}));
  OX_TRY(ox_infer_shape_is(c, BIAS, 1, &d));
  OX_TRY(ox_infer_shape_is(c, ECO_A, 4, (int64_t[]){1, heads, 1, 1}));
  OX_TRY(ox_infer_shape_is(c, OFFSET, 2, (int64_t[]){-1, length}));
  if (length < 0) length = ox_infer_dim(c, REL_POS, 2);
  ox_shape s = ox_shape_of(
      4, (int64_t[]){packed ? ox_infer_dim(c, OFFSET, 0) : ox_infer_dim(c, QUERY, 0), heads, length, length});
  ox_infer_out(c, 0, ox_infer_dtype_of(c, QUERY, ECO_A), &s);
  return NULL;
}

static ox_status *gate_prepare(ox_kernel_ctx *c) {
  gate_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  const ox_shape *s = &c->out[0]->shape;
  if (!p) return ox_oom();
  *p = (gate_prep){s->dim[0], s->dim[1], s->dim[2], c->in[WEIGHT]->shape.dim[0], c->in[WEIGHT]->shape.dim[1]};
  bool packed = ox_ctx_has(c, OFFSET);
  int64_t places = p->batch * p->length;
  c->shared_bytes = packed ? (size_t)places * sizeof(int32_t) : 0;
  c->n_stages = 2, c->n_tiles[0] = packed, c->n_tiles[1] = p->batch * p->heads;
  c->scratch_per_worker = (size_t)OX_MAX(p->length, 1) * sizeof(float);
  return NULL;
}

/* Finds the row of a packed query at each position; padding has a query of zeros. */
static ox_status *find_rows(const ox_kernel_ctx *c, const gate_prep *p) {
  int32_t *row = c->shared;
  int64_t places = p->batch * p->length, tokens = c->in[QUERY]->shape.dim[0];
  if (tokens > places)
    return ox_fail(OX_SHAPE_MISMATCH, "GatedRelativePositionBias: %lld tokens for %lld places", (long long)tokens,
                   (long long)places);
  for (int64_t i = 0; i < places; i++) row[i] = -1;
  for (int64_t t = 0; t < tokens; t++) {
    int64_t at = ((const int32_t *)c->in[OFFSET]->data)[t];
    if (at < 0 || at >= places)
      return ox_fail(OX_INVALID_ARGUMENT, "GatedRelativePositionBias: token %lld has offset %lld of %lld", (long long)t,
                     (long long)at, (long long)places);
    row[at] = (int32_t)t;
  }
  return NULL;
}

/* Both halves of the gate for head |h| of query row |row|, before the sigmoid. */
static void gate_sums(const ox_kernel_ctx *c, const gate_prep *p, int64_t row, int64_t h, float sum[2]) {
  int64_t hidden = p->heads * p->size;
  for (int half = 0; half < 2; half++) {
    sum[half] = 0;
    for (int64_t j = half * p->d / 2; j < (half + 1) * p->d / 2; j++) {
      float v = float_at(c, BIAS, j);
      for (int64_t k = 0; k < p->size; k++) {
        float q = row < 0 ? 0 : float_at(c, QUERY, row * hidden + h * p->size + k);
        v += (q + float_at(c, QUERY_BIAS, h * p->size + k)) * float_at(c, WEIGHT, k * p->d + j);
      }
      sum[half] += v;
    }
  }
}

static ox_status *gate_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const gate_prep *p = c->prep;
  const int32_t *row = ox_ctx_has(c, OFFSET) ? c->shared : NULL;
  if (stage == 0) return find_rows(c, p);
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t b = t / p->heads, h = t % p->heads;
    for (int64_t i = 0; i < p->length; i++) {
      float sum[2], *spare = scratch, *y = ox_as_float_out(c, 0, (t * p->length + i) * p->length, spare);
      int64_t place = b * p->length + i;
      gate_sums(c, p, row ? row[place] : place, h, sum);
      float u = 1 / (1 + expf(-sum[0])), r = 1 / (1 + expf(-sum[1]));
      float gate = u * (r * float_at(c, ECO_A, h) - 1) + 2;
      const float *rel = ox_as_float_in(c, REL_POS, (h * p->length + i) * p->length, p->length, spare);
      for (int64_t j = 0; j < p->length; j++) y[j] = gate * rel[j];
      ox_as_float_done(c, 0, (t * p->length + i) * p->length, p->length, y);
      if (ox_ctx_stopped_each(c, i, 16)) return NULL;
    }
  }
  return NULL;
}

/* ---- GemmaRotaryEmbedding: x cos(emb) + rotated x sin(emb), for q and k ---- */

enum { EMB, Q, Q_ROT, K, K_ROT };

static ox_status *gemma_infer(ox_infer_ctx *c) {
  int64_t batch = ox_infer_dim(c, EMB, 0), length = ox_infer_dim(c, EMB, 1), d = ox_infer_dim(c, EMB, 2);
  OX_TRY(ox_infer_shape_is(c, EMB, 3, (int64_t[]){-1, -1, -1}));
  for (uint32_t i = Q; i <= K_ROT; i++) OX_TRY(ox_infer_shape_is(c, i, 4, (int64_t[]){batch, -1, length, d}));
  for (uint32_t i = Q; i <= K; i += 2) {
    if (c->in[i]->shape.rank == 4) OX_TRY(ox_infer_shape_is(c, i + 1, 4, c->in[i]->shape.dim));
    ox_infer_out(c, (i - Q) / 2, c->in[i]->dtype, &c->in[i]->shape);
  }
  return NULL;
}

static ox_status *gemma_prepare(ox_kernel_ctx *c) {
  const ox_shape *e = &c->in[EMB]->shape;
  return ox_ctx_plan(c, e->dim[0] * e->dim[1], (size_t)e->dim[2] * 5 * sizeof(float));
}

/* A tile is a token. Rounds to 16 bits what the operator rounds: cosine, sine and both products. */
static void round_halves(const ox_kernel_ctx *c, float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint16_t half;
    ox_convert_select(c->isa)->store_f32[OX_F16](&x[i], &half, 0, 1, NULL);
    ox_convert_select(c->isa)->load_f32[OX_F16](&half, 0, 1, &x[i]);
  }
}

static ox_status *gemma_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const ox_shape *e = &c->in[EMB]->shape;
  int64_t length = e->dim[1], d = e->dim[2];
  float *cosine = scratch, *sine = cosine + d, *x = sine + d, *turned = x + d;
  const ox_convert *cv = ox_convert_select(c->isa);
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    const float *emb = (const float *)c->in[EMB]->data + t * d;
    for (int64_t i = 0; i < d; i++) cosine[i] = cosf(emb[i]), sine[i] = sinf(emb[i]);
    round_halves(c, cosine, 2 * d);
    for (uint32_t o = 0; o < 2; o++) {
      int64_t heads = c->in[Q + 2 * o]->shape.dim[1];
      for (int64_t h = 0; h < heads && ox_ctx_wants(c, o); h++) {
        size_t at = (size_t)(((t / length * heads + h) * length + t % length) * d);
        cv->load_f32[OX_F16](c->in[Q + 2 * o]->data, at, (size_t)d, x);
        cv->load_f32[OX_F16](c->in[Q + 2 * o + 1]->data, at, (size_t)d, turned);
        for (int64_t i = 0; i < d; i++) x[i] *= cosine[i], turned[i] *= sine[i];
        round_halves(c, x, 2 * d);
        for (int64_t i = 0; i < d; i++) x[i] += turned[i];
        cv->store_f32[OX_F16](x, c->out[o]->data, at, (size_t)d, NULL);
      }
    }
  }
  return NULL;
}

#define MS .domain = "com.microsoft", .since = 1
#define F16 OX_BIT(OX_F16)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "RelativePositionBias", MS, .types = {HALVES, OX_BIT(OX_I64)}, .vars = ".UU", .min_in = 3,
               .max_in = 3, .value_in = 6, OX_ATTRS(bias_rows), .attrs_bytes = sizeof(bias_attrs), .infer = bias_infer),
     OX_KERNEL(.run = bias_run)},
    {OX_SCHEMA(.name = "GatedRelativePositionBias", MS,
               .types = {HALVES, HALVES, HALVES, HALVES, HALVES, HALVES, OX_BIT(OX_I32)}, .vars = "TTTTTT", .min_in = 6,
               .max_in = 7, OX_ATTRS(gate_rows), .attrs_bytes = sizeof(gate_attrs), .infer = gate_infer),
     OX_KERNEL(.prepare = gate_prepare, .run = gate_run)},
    {OX_SCHEMA(.name = "GemmaRotaryEmbedding", MS, .types = {OX_BIT(OX_F32), F16, F16, F16, F16}, .vars = ".TTTT",
               .min_in = 5, .max_in = 5, .min_out = 2, .max_out = 2, .infer = gemma_infer),
     OX_KERNEL(.prepare = gemma_prepare, .run = gemma_run)},
};
const ox_op_set ox_ops_relative_bias = {ops, OX_COUNT(ops)};
