/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_varlen.c - com.microsoft's PackedAttention and PackedMultiHeadAttention: sequences of different
 * lengths, concatenated without padding; each attends to itself. Computed in float: stage 0 computes q, k and v of
 * all tokens, stage 1 attends, a tile per sequence and head. */
#include <math.h>
#include <string.h>

#include "kern/softmax/softmax.h"
#include "ops/attention/attn_common.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"

typedef struct varlen_attrs {
  int64_t num_heads;
  float scale, mask_filter_value;
  ox_ints qkv_hidden_sizes;
} varlen_attrs;
static const ox_attr_def packed_rows[] = {OX_ATTR_INT_REQUIRED_IN(varlen_attrs, num_heads, 1, OX_COUNT_MAX),
                                          OX_ATTR_FLOAT(varlen_attrs, scale, 0),
                                          OX_ATTR_INTS_IN(varlen_attrs, qkv_hidden_sizes, 1, OX_COUNT_MAX)};
static const ox_attr_def multi_rows[] = {OX_ATTR_INT_REQUIRED_IN(varlen_attrs, num_heads, 1, OX_COUNT_MAX),
                                         OX_ATTR_FLOAT(varlen_attrs, scale, 0),
                                         OX_ATTR_FLOAT(varlen_attrs, mask_filter_value, -10000)};

/* Inputs; the index of the last ones depends on the operator. */
enum { INPUT, WEIGHTS, PROJECTION_BIAS, FIRST_PACKED = 3, QUERY = 0, KEY, VALUE, BIAS, FIRST_MULTI = 4 };
enum { OFFSET, LENGTHS, ADD }; /* from there on */

typedef struct varlen_prep {
  bool multi, whole; /* PackedMultiHeadAttention; whole: query holds keys and values, too */
  uint32_t first;
  int64_t batch, most, tokens, heads, hidden, v_hidden, in; /* most: of a sequence; in: PackedAttention's input */
  float scale;
  ox_attn_bias add;
} varlen_prep;

static int64_t row_of(const varlen_prep *p) { return 2 * p->hidden + p->v_hidden; }

/* ---- inference ---- */

static ox_status *check_tail(const ox_infer_ctx *c, uint32_t first, int64_t heads) {
  int64_t length = ox_infer_dim(c, first + OFFSET, 1);
  OX_TRY(ox_infer_shape_is(c, first + OFFSET, 2, (int64_t[]){-1, -1}));
  int64_t batch = ox_infer_dim(c, first + OFFSET, 0);
  OX_TRY(ox_infer_shape_is(c, first + LENGTHS, 1, (int64_t[]){batch < 0 ? -1 : batch + 1}));
  OX_TRY(ox_infer_shape_is(c, first + ADD, 4, (int64_t[]){-1, -1, length, length}));
  int64_t b = ox_infer_dim(c, first + ADD, 0), h = ox_infer_dim(c, first + ADD, 1);
  if ((b > 1 && batch >= 0 && b != batch) || (h > 1 && h != heads))
    return ox_fail(OX_SHAPE_MISMATCH, "%s: attention_bias of %lld x %lld for a batch of %lld, %lld heads", c->op,
                   (long long)b, (long long)h, (long long)batch, (long long)heads);
  return NULL;
}

static ox_status *check_heads(const char *op, int64_t heads, int64_t hidden, int64_t v_hidden) {
  if ((hidden < 0 || hidden % heads == 0) && (v_hidden < 0 || v_hidden % heads == 0)) return NULL;
  return ox_fail(OX_SHAPE_MISMATCH, "%s: %lld heads of %lld and %lld", op, (long long)heads, (long long)hidden,
                 (long long)v_hidden);
}

static ox_status *infer_packed(ox_infer_ctx *c) {
  const varlen_attrs *a = c->attrs;
  int64_t all = ox_infer_dim(c, WEIGHTS, 1), v_hidden = all < 0 ? -1 : all / 3;
  OX_TRY(ox_infer_shape_is(c, INPUT, 2, (int64_t[]){-1, -1}));
  OX_TRY(ox_infer_shape_is(c, WEIGHTS, 2, (int64_t[]){ox_infer_dim(c, INPUT, 1), -1}));
  OX_TRY(ox_infer_shape_is(c, PROJECTION_BIAS, 1, &all));
  const ox_ints *s = &a->qkv_hidden_sizes;
  if (s->n) {
    if (s->n != 3 || s->v[0] != s->v[1] || (all >= 0 && s->v[0] + s->v[1] + s->v[2] != all))
      return ox_fail(OX_INVALID_MODEL, "%s: qkv_hidden_sizes do not fit the weights", c->op);
    v_hidden = s->v[2];
  } else if (all >= 0 && all % 3) {
    return ox_fail(OX_SHAPE_MISMATCH, "%s: weights of %lld columns", c->op, (long long)all);
  }
  OX_TRY(check_heads(c->op, a->num_heads, s->n ? s->v[0] : v_hidden, v_hidden));
  OX_TRY(check_tail(c, FIRST_PACKED, a->num_heads));
  ox_shape y = ox_shape_of(2, (int64_t[]){ox_infer_dim(c, INPUT, 0), v_hidden});
  ox_infer_out(c, 0, ox_infer_dtype_of(c, INPUT, PROJECTION_BIAS), &y);
  return NULL;
}

static ox_status *infer_multi(ox_infer_ctx *c) {
  const varlen_attrs *a = c->attrs;
  int64_t tokens = ox_infer_dim(c, QUERY, 0), hidden = ox_infer_dim(c, QUERY, 1), v_hidden = ox_infer_dim(c, VALUE, 1);
  if (!ox_infer_has(c, FIRST_MULTI + OFFSET) || !ox_infer_has(c, FIRST_MULTI + LENGTHS))
    return ox_fail(OX_INVALID_MODEL, "%s needs token_offset and cumulative_sequence_length", c->op);
  if (ox_infer_has(c, KEY) != ox_infer_has(c, VALUE))
    return ox_fail(OX_INVALID_MODEL, "%s: key and value come together or not at all", c->op);
  if (!ox_infer_has(c, KEY)) {
    OX_TRY(ox_infer_shape_is(c, QUERY, 4, (int64_t[]){-1, a->num_heads, 3, -1}));
    hidden = v_hidden = ox_dim_mul(a->num_heads, ox_infer_dim(c, QUERY, 3));
  } else {
    OX_TRY(ox_infer_shape_is(c, QUERY, 2, (int64_t[]){-1, -1}));
    OX_TRY(ox_infer_shape_is(c, KEY, 2, (int64_t[]){tokens, hidden}));
    OX_TRY(ox_infer_shape_is(c, VALUE, 2, (int64_t[]){tokens, -1}));
  }
  OX_TRY(check_heads(c->op, a->num_heads, hidden, v_hidden));
  OX_TRY(ox_infer_shape_is(c, BIAS, 1, (int64_t[]){hidden < 0 || v_hidden < 0 ? -1 : 2 * hidden + v_hidden}));
  OX_TRY(check_tail(c, FIRST_MULTI, a->num_heads));
  ox_shape y = ox_shape_of(2, (int64_t[]){tokens, v_hidden});
  ox_infer_out(c, 0, ox_infer_dtype_of(c, QUERY, BIAS), &y);
  return NULL;
}

/* ---- prepare ---- */

static ox_status *prepare(ox_kernel_ctx *c, varlen_prep *p) {
  const varlen_attrs *a = c->attrs;
  const ox_shape *offset = &c->in[p->first + OFFSET]->shape;
  size_t at;
  p->batch = offset->dim[0], p->most = offset->dim[1], p->tokens = c->in[0]->shape.dim[0], p->heads = a->num_heads;
  p->v_hidden = c->out[0]->shape.dim[1];
  int64_t d = p->hidden / p->heads;
  p->scale = a->scale != 0 ? a->scale : (float)(1 / sqrt((double)OX_MAX(d, 1)));
  if (ox_ctx_has(c, p->first + ADD))
    OX_TRY(ox_attn_bias_of(c->in[p->first + ADD], "attention_bias", p->batch, p->heads, p->most, p->most, &p->add));
  int64_t count;
  if (!ox_mul_i64_ok(p->tokens, row_of(p), &count)) return ox_fail(OX_LIMIT, "too many tokens");
  OX_TRY(ox_as_real_room(c, OX_AS_FLOAT, count, &at));
  c->n_stages = 2, c->n_tiles[0] = p->tokens, c->n_tiles[1] = p->batch * p->heads;
  c->scratch_per_worker = (size_t)(p->most + p->v_hidden + p->in + row_of(p)) * sizeof(float);
  return NULL;
}

static ox_status *prepare_packed(ox_kernel_ctx *c) {
  const varlen_attrs *a = c->attrs;
  varlen_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->first = FIRST_PACKED, p->in = c->in[INPUT]->shape.dim[1];
  p->hidden = a->qkv_hidden_sizes.n ? a->qkv_hidden_sizes.v[0] : c->in[WEIGHTS]->shape.dim[1] / 3;
  return prepare(c, p);
}

static ox_status *prepare_multi(ox_kernel_ctx *c) {
  varlen_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->first = FIRST_MULTI, p->multi = true, p->whole = !ox_ctx_has(c, KEY);
  p->hidden = p->whole ? c->out[0]->shape.dim[1] : c->in[QUERY]->shape.dim[1];
  return prepare(c, p);
}

/* ---- run ---- */

static float *qkv_of(const ox_kernel_ctx *c, const varlen_prep *p, int64_t token) {
  return (float *)c->shared + token * row_of(p);
}

/* One token's row of weights' products. */
static void project(const ox_kernel_ctx *c, const varlen_prep *p, int64_t token, float *spare) {
  int64_t n = row_of(p);
  float *y = qkv_of(c, p, token), *x_room = spare, *w_room = spare + p->in;
  const float *x = ox_as_float_in(c, INPUT, token * p->in, p->in, x_room);
  ox_convert_select(c->isa)->load_f32[c->in[PROJECTION_BIAS]->dtype](c->in[PROJECTION_BIAS]->data, 0, (size_t)n, y);
  for (int64_t k = 0; k < p->in; k++) {
    const float *w = ox_as_float_in(c, WEIGHTS, k * n, n, w_room);
    for (int64_t j = 0; j < n; j++) y[j] += x[k] * w[j];
  }
}

/* One token's q, k and v side by side. */
static void collect(const ox_kernel_ctx *c, const varlen_prep *p, int64_t token, float *spare) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t type = c->in[QUERY]->dtype;
  int64_t d = p->hidden / p->heads, width = row_of(p);
  float *y = qkv_of(c, p, token);
  if (p->whole) {
    for (int64_t i = 0; i < 3 * p->heads; i++) /* [heads, 3, d] */
      cv->load_f32[type](c->in[QUERY]->data, (size_t)((token * 3 * p->heads + i) * d), (size_t)d,
                         y + i % 3 * p->hidden + i / 3 * d);
  } else {
    cv->load_f32[type](c->in[QUERY]->data, (size_t)(token * p->hidden), (size_t)p->hidden, y);
    cv->load_f32[type](c->in[KEY]->data, (size_t)(token * p->hidden), (size_t)p->hidden, y + p->hidden);
    cv->load_f32[type](c->in[VALUE]->data, (size_t)(token * p->v_hidden), (size_t)p->v_hidden, y + 2 * p->hidden);
  }
  if (!ox_ctx_has(c, BIAS)) return;
  const float *bias = ox_as_float_in(c, BIAS, 0, width, spare);
  for (int64_t i = 0; i < width; i++) y[i] += bias[i];
}

/* The first token of sequence |b|; *n: its length. */
static ox_status *sequence(const ox_kernel_ctx *c, const varlen_prep *p, int64_t b, int64_t *first, int64_t *n) {
  const int32_t *ends = c->in[p->first + LENGTHS]->data;
  *first = ends[b], *n = (int64_t)ends[b + 1] - ends[b];
  if (ends[0] == 0 && ends[p->batch] == p->tokens && *n >= 0 && *n <= p->most && *first >= 0 &&
      ends[b + 1] <= p->tokens)
    return NULL;
  return ox_fail(OX_INVALID_ARGUMENT,
                 "cumulative_sequence_length: sequence %lld from %lld to %lld, %lld tokens in all, %lld at most of one",
                 (long long)b, (long long)*first, (long long)ends[b + 1], (long long)p->tokens, (long long)p->most);
}

static float added(const ox_kernel_ctx *c, const varlen_prep *p, int64_t b, int64_t h, int64_t i, int64_t j) {
  int64_t at = b * p->add.batch + h * p->add.head + i * p->add.row + j * p->add.key;
  float v;
  ox_convert_select(0)->load_f32[p->add.dtype](c->in[p->first + ADD]->data, (size_t)at, 1, &v);
  return v;
}

static ox_status *attend(const ox_kernel_ctx *c, const varlen_prep *p, int64_t b, int64_t h, float *scores) {
  int64_t first, n, d = p->hidden / p->heads, dv = p->v_hidden / p->heads, row = row_of(p);
  bool add = ox_ctx_has(c, p->first + ADD);
  OX_TRY(sequence(c, p, b, &first, &n));
  for (int64_t i = 0; i < n; i++) {
    const float *q = qkv_of(c, p, first + i) + h * d, *k = qkv_of(c, p, first) + p->hidden + h * d;
    const float *v = qkv_of(c, p, first) + 2 * p->hidden + h * dv;
    int64_t at = (first + i) * p->v_hidden + h * dv;
    float *y = ox_as_float_out(c, 0, at, scores + p->most);
    for (int64_t j = 0; j < n; j++) {
      float dot = 0;
      for (int64_t l = 0; l < d; l++) dot += q[l] * k[j * row + l];
      scores[j] = dot * p->scale + (add ? added(c, p, b, h, i, j) : 0);
    }
    ox_softmax_select(c->isa)->row(scores, scores, (size_t)n);
    for (int64_t l = 0; l < dv; l++) y[l] = 0;
    for (int64_t j = 0; j < n; j++)
      for (int64_t l = 0; l < dv; l++) y[l] += scores[j] * v[j * row + l];
    ox_as_float_done(c, 0, at, dv, y);
    if (ox_ctx_stopped_each(c, i, 16)) return NULL;
  }
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const varlen_prep *p = c->prep;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (stage == 1)
      OX_TRY(attend(c, p, t / p->heads, t % p->heads, scratch));
    else
      (p->multi ? collect : project)(c, p, t, scratch);
    if (ox_ctx_stopped_each(c, t, 16)) return NULL;
  }
  return NULL;
}

enum { HALVES = OX_BIT(OX_F32) | OX_BIT(OX_F16), I32 = OX_BIT(OX_I32) };
#define MS .domain = "com.microsoft", .since = 1, .attrs_bytes = sizeof(varlen_attrs)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "PackedAttention", MS, .types = {HALVES, HALVES, HALVES, I32, I32, HALVES}, .vars = "TTT..T",
               .min_in = 5, .max_in = 6, OX_ATTRS(packed_rows), .infer = infer_packed),
     OX_KERNEL(.prepare = prepare_packed, .run = run)},
    {OX_SCHEMA(.name = "PackedMultiHeadAttention", MS, .types = {HALVES, HALVES, HALVES, HALVES, I32, I32, HALVES},
               .vars = "TTTT..T", .min_in = 1, .max_in = 7, OX_ATTRS(multi_rows), .infer = infer_multi),
     OX_KERNEL(.prepare = prepare_multi, .run = run)},
};
const ox_op_set ox_ops_attention_varlen = {ops, OX_COUNT(ops)};
