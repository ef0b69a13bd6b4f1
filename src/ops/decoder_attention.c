/* SPDX-License-Identifier: Apache-2.0
 * ops/decoder_attention.c - com.microsoft.DecoderAttention: projections and attention of a decoder's layer, to
 * itself or to an encoder, with a cache; three inputs select which of these. Computed in float: stage 0 determines
 * the lengths, stage 1 does the rest, a tile per head of a batch entry. */
#include <math.h>
#include <string.h>

#include "kern/softmax/softmax.h"
#include "ops/move/deferred.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

enum { Q, K, Q_WEIGHT, KV_WEIGHT, BIAS, MASK, K_CACHE, V_CACHE, STATIC_KV, USE_PAST, LAYER_STATE, HAS_MASK };
enum { OUT, NEW_K, NEW_V };
typedef struct decoder_attrs {
  int64_t num_heads;
  float mask_filter_value;
} decoder_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_INT_REQUIRED_IN(decoder_attrs, num_heads, 1, OX_COUNT_MAX),
                                        OX_ATTR_FLOAT(decoder_attrs, mask_filter_value, -10000)};

typedef struct decoder_prep {
  int64_t len, batch, hidden, heads, d, keys; /* rows of the query, of the key */
} decoder_prep;

/* Set by the first stage of a run. */
typedef struct decoder_run {
  bool cross, masked;
  int64_t past, fresh; /* rows of the cache that are read, rows that are projected */
  void *new_k, *new_v; /* outputs; NULL: not wanted */
  float *work;         /* keys and values of every head: 2 (past + fresh) d */
} decoder_run;

static ox_status *infer(ox_infer_ctx *c) {
  int64_t heads = ((const decoder_attrs *)c->attrs)->num_heads, hidden = ox_infer_dim(c, Q, 2);
  int64_t batch = ox_infer_dim(c, Q, 1);
  for (uint32_t i = STATIC_KV; i <= HAS_MASK; i++) {
    if (!ox_infer_has(c, i)) return ox_fail(OX_INVALID_MODEL, "%s: input %u is required", c->op, i);
    if (ox_shape_count(&c->in[i]->shape) > 1)
      return ox_fail(OX_SHAPE_MISMATCH, "%s: input %u must be a scalar", c->op, i);
  }
  if (hidden >= 0 && hidden % heads)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: %lld heads of %lld", c->op, (long long)heads, (long long)hidden);
  int64_t d = hidden < 0 ? -1 : hidden / heads;
  OX_TRY(ox_infer_shape_is(c, Q, 3, (int64_t[]){-1, -1, -1}));
  OX_TRY(ox_infer_shape_is(c, K, 3, (int64_t[]){-1, batch, hidden}));
  OX_TRY(ox_infer_shape_is(c, Q_WEIGHT, 2, (int64_t[]){hidden, hidden}));
  OX_TRY(ox_infer_shape_is(c, KV_WEIGHT, 2, (int64_t[]){hidden, ox_dim_mul(hidden, 2)}));
  OX_TRY(ox_infer_shape_is(c, BIAS, 1, (int64_t[]){ox_dim_mul(hidden, 3)}));
  OX_TRY(ox_infer_shape_is(c, MASK, 2, (int64_t[]){batch, -1}));
  for (uint32_t i = K_CACHE; i <= V_CACHE; i++) OX_TRY(ox_infer_shape_is(c, i, 4, (int64_t[]){batch, heads, -1, d}));
  uint32_t type = ox_infer_dtype_of(c, Q, BIAS);
  ox_shape cache = ox_shape_of(4, (int64_t[]){batch, heads, -1, d});
  ox_infer_out(c, OUT, type, &c->in[Q]->shape);
  ox_infer_out(c, NEW_K, type, &cache);
  ox_infer_out(c, NEW_V, type, &cache);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *q = &c->in[Q]->shape;
  decoder_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  int64_t heads = ((const decoder_attrs *)c->attrs)->num_heads;
  *p = (decoder_prep){q->dim[0], q->dim[1], q->dim[2], heads, q->dim[2] / heads, c->in[K]->shape.dim[0]};
  for (uint32_t i = STATIC_KV; i <= HAS_MASK; i++)
    if (ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "DecoderAttention: input %u must be a scalar", i);
  c->shared_bytes = sizeof(decoder_run);
  c->n_stages = 2, c->n_tiles[0] = 1, c->n_tiles[1] = p->batch * heads;
  c->scratch_per_worker = (size_t)p->hidden * 5 * sizeof(float);
  return NULL;
}

static bool flag(const ox_kernel_ctx *c, uint32_t i) { return *(const uint8_t *)c->in[i]->data != 0; }

static ox_status *begin(const ox_kernel_ctx *c, const decoder_prep *p) {
  decoder_run *r = c->shared;
  memset(r, 0, sizeof *r);
  r->cross = flag(c, STATIC_KV), r->masked = flag(c, HAS_MASK);
  bool cached = flag(c, USE_PAST) && flag(c, LAYER_STATE);
  if (cached && (!ox_ctx_has(c, K_CACHE) || !ox_ctx_has(c, V_CACHE)))
    return ox_fail(OX_INVALID_ARGUMENT, "DecoderAttention: the cache is to be used and is not there");
  if (cached) r->past = c->in[K_CACHE]->shape.dim[2];
  if (cached && c->in[V_CACHE]->shape.dim[2] != r->past)
    return ox_fail(OX_SHAPE_MISMATCH, "DecoderAttention: caches of %lld and %lld rows", (long long)r->past,
                   (long long)c->in[V_CACHE]->shape.dim[2]);
  r->fresh = !r->cross ? p->len : cached ? 0 : p->keys;
  int64_t rows = r->past + r->fresh, count;
  if (r->masked && (!ox_ctx_has(c, MASK) || c->in[MASK]->shape.dim[1] != rows))
    return ox_fail(OX_SHAPE_MISMATCH, "DecoderAttention: key_padding_mask is not for %lld keys", (long long)rows);
  ox_shape cache = ox_shape_of(4, (int64_t[]){p->batch, p->heads, rows, p->d});
  if (ox_ctx_wants(c, NEW_K)) OX_TRY(ox_output_at_run(c, NEW_K, &cache, &r->new_k));
  if (ox_ctx_wants(c, NEW_V)) OX_TRY(ox_output_at_run(c, NEW_V, &cache, &r->new_v));
  if (!ox_mul_i64_ok(p->batch * p->hidden, 2, &count) || !ox_mul_i64_ok(count, rows, &count) ||
      !ox_add_i64_ok(count, rows * p->batch * p->heads, &count))
    return ox_fail(OX_LIMIT, "DecoderAttention: too long");
  r->work = ox_ctx_run_array(c, OX_MAX(count, 1), sizeof(float));
  return r->work ? NULL : ox_oom();
}

/* Row |row| of input |i| times the |n| columns from |col| on of the weights at input |w|, plus their bias. */
static void project(const ox_kernel_ctx *c, const decoder_prep *p, uint32_t i, int64_t row, uint32_t w, int64_t col,
                    int64_t bias, float *spare, float *y) {
  int64_t width = c->in[w]->shape.dim[1];
  const float *x = ox_as_float_in(c, i, row * p->hidden, p->hidden, spare);
  ox_convert_select(c->isa)->load_f32[c->in[BIAS]->dtype](c->in[BIAS]->data, (size_t)bias, (size_t)p->d, y);
  for (int64_t k = 0; k < p->hidden; k++) {
    const float *m = ox_as_float_in(c, w, k * width + col, p->d, spare + p->hidden);
    for (int64_t j = 0; j < p->d; j++) y[j] += x[k] * m[j];
  }
}

/* Keys (|part| 0) or values of a head: the cache's, then new ones; all of them go to the new cache. */
static void make_rows(const ox_kernel_ctx *c, const decoder_prep *p, int64_t b, int64_t h, int part, float *spare,
                      float *rows) {
  const decoder_run *r = c->shared;
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t n = r->past + r->fresh, at = (b * p->heads + h) * p->d;
  uint32_t cache = part ? V_CACHE : K_CACHE, output = part ? NEW_V : NEW_K, type = c->in[Q]->dtype;
  if (r->past) cv->load_f32[type](c->in[cache]->data, (size_t)(at * r->past), (size_t)(r->past * p->d), rows);
  for (int64_t i = 0; i < r->fresh; i++)
    project(c, p, r->cross ? K : Q, i * p->batch + b, KV_WEIGHT, part * p->hidden + h * p->d,
            (1 + part) * p->hidden + h * p->d, spare, rows + (r->past + i) * p->d);
  void *to = part ? r->new_v : r->new_k;
  if (ox_ctx_wants(c, output) && n) cv->store_f32[type](rows, to, (size_t)(at * n), (size_t)(n * p->d), NULL);
}

static void attend(const ox_kernel_ctx *c, const decoder_prep *p, int64_t b, int64_t h, float *scratch) {
  const decoder_run *r = c->shared;
  int64_t n = r->past + r->fresh, head = b * p->heads + h;
  float *k = r->work + head * n * (2 * p->d + 1), *v = k + n * p->d, *scores = v + n * p->d;
  float *q = scratch, *y = q + p->d, *spare = y + p->d;
  float filter = ((const decoder_attrs *)c->attrs)->mask_filter_value,
        scale = (float)(1 / sqrt((double)OX_MAX(p->d, 1)));
  const uint8_t *mask = r->masked ? (const uint8_t *)c->in[MASK]->data + b * n : NULL;
  make_rows(c, p, b, h, 0, spare, k), make_rows(c, p, b, h, 1, spare, v);
  for (int64_t i = 0; i < p->len; i++) {
    project(c, p, Q, i * p->batch + b, Q_WEIGHT, h * p->d, h * p->d, spare, q);
    for (int64_t j = 0; j < n; j++) {
      float dot = 0;
      for (int64_t l = 0; l < p->d; l++) dot += q[l] * k[j * p->d + l];
      scores[j] = dot * scale + (mask && mask[j] ? filter : 0);
    }
    ox_softmax_select(c->isa)->row(scores, scores, (size_t)n);
    for (int64_t l = 0; l < p->d; l++) y[l] = 0;
    for (int64_t j = 0; j < n; j++)
      for (int64_t l = 0; l < p->d; l++) y[l] += scores[j] * v[j * p->d + l];
    if (ox_ctx_wants(c, OUT))
      ox_convert_select(c->isa)->store_f32[c->out[OUT]->dtype](
          y, c->out[OUT]->data, (size_t)((i * p->batch + b) * p->hidden + h * p->d), (size_t)p->d, NULL);
    if (ox_ctx_stopped_each(c, i, 16)) return;
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const decoder_prep *p = c->prep;
  if (stage == 0) return begin(c, p);
  for (int64_t t = tiles.begin; t < tiles.end; t++) attend(c, p, t / p->heads, t % p->heads, scratch);
  return NULL;
}

#define T (OX_BIT(OX_F32) | OX_BIT(OX_F16))
#define YES OX_BIT(OX_BOOL)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "DecoderAttention", .domain = "com.microsoft", .since = 1, .types = {T, T, T, T, T, YES, T, T},
               .more_types = (const uint32_t[]){YES, YES, YES, YES}, .vars = "TTTTT.TT", .min_in = 5, .max_in = 12,
               .min_out = 1, .max_out = 3, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(decoder_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_decoder_attention = {ops, OX_COUNT(ops)};
