/* SPDX-License-Identifier: Apache-2.0
 * ops/group_query_attention.c - com.microsoft.GroupQueryAttention: causal, grouped heads, a cache whose filled length
 * is an input, rotary embedding inside. Lengths are content, so the run's first stage settles them. */
#include <math.h>
#include <string.h>

#include "kern/attention/rotary.h"
#include "ops/attention/attn_common.h"
#include "ops/move/deferred.h"

typedef struct gqa_attrs {
  int64_t num_heads, kv_num_heads, do_rotary, rotary_interleaved, local_window_size, smooth_softmax, qk_output, causal;
  int64_t sliding_window_cache;
  float scale, softcap;
} gqa_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_REQUIRED(gqa_attrs, num_heads),
    OX_ATTR_INT_REQUIRED(gqa_attrs, kv_num_heads),
    OX_ATTR_INT(gqa_attrs, do_rotary, 0),
    OX_ATTR_INT(gqa_attrs, rotary_interleaved, 0),
    OX_ATTR_INT(gqa_attrs, local_window_size, -1),
    OX_ATTR_INT(gqa_attrs, smooth_softmax, 0),
    OX_ATTR_INT(gqa_attrs, qk_output, 0),
    OX_ATTR_INT(gqa_attrs, causal, 1),
    OX_ATTR_INT(gqa_attrs, sliding_window_cache, 0),
    OX_ATTR_FLOAT(gqa_attrs, scale, 0),
    OX_ATTR_FLOAT(gqa_attrs, softcap, 0),
};

enum { Q, K, V, PAST_K, PAST_V, LENS, TOTAL, COS, SIN, POS, ADD, SINK, K_SCALE, V_SCALE, Q_NORM, K_NORM, N_IN };
enum { OUT, PRESENT_K, PRESENT_V, QK };

/* Sizes, -1 where not known. */
typedef struct sizes {
  int64_t batch, heads, kv_heads, q_len, d, past; /* past: rows the past buffers have */
  bool packed;
} sizes;

static ox_status *bad_shape(const char *what, const ox_shape *s) {
  char text[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "GroupQueryAttention: %s %s does not fit", what, ox_shape_text(s, text));
}

static bool differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

static ox_status *read_sizes(const gqa_attrs *a, const ox_shape *const *shape, sizes *s) {
  const ox_shape *q = shape[Q];
  *s = (sizes){-1, a->num_heads, a->kv_num_heads, -1, -1, 0, !shape[K]};
  if (a->num_heads <= 0 || a->kv_num_heads <= 0 || a->num_heads % a->kv_num_heads)
    return ox_fail(OX_INVALID_MODEL, "num_heads %lld, kv_num_heads %lld", (long long)a->num_heads,
                   (long long)a->kv_num_heads);
  if (!shape[PAST_K] != !shape[PAST_V])
    return ox_fail(OX_INVALID_MODEL, "past_key and past_value come together or not at all");
  if (shape[PAST_K]) s->past = shape[PAST_K]->rank == 4 ? shape[PAST_K]->dim[2] : -1;
  if (q->rank < 0) return NULL;
  int64_t parts = s->heads + (s->packed ? 2 * s->kv_heads : 0);
  if (q->rank != 3 || (q->dim[2] >= 0 && q->dim[2] % parts)) return bad_shape("query", q);
  s->batch = q->dim[0], s->q_len = q->dim[1], s->d = q->dim[2] < 0 ? -1 : q->dim[2] / parts;
  for (int i = K; !s->packed && i <= V; i++) {
    if (!shape[i]) return ox_fail(OX_INVALID_MODEL, "GroupQueryAttention: key and value come together");
    if (shape[i]->rank < 0) continue;
    if (shape[i]->rank != 3 || differ(shape[i]->dim[0], s->batch) || differ(shape[i]->dim[1], s->q_len) ||
        differ(shape[i]->dim[2], ox_dim_mul(s->kv_heads, s->d)))
      return bad_shape(i == K ? "key" : "value", shape[i]);
  }
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const gqa_attrs *a = c->attrs;
  const ox_shape *shape[N_IN];
  sizes s;
  int64_t total = -1;
  int n;
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
  if (shape[K_SCALE] || shape[V_SCALE] || shape[Q_NORM] || shape[K_NORM] || a->sliding_window_cache)
    return ox_fail(OX_NOT_IMPLEMENTED, "GroupQueryAttention with a quantized or sliding cache, or q and k norms");
  if (!shape[LENS] || !shape[TOTAL])
    return ox_fail(OX_INVALID_MODEL, "GroupQueryAttention needs seqlens_k and total_sequence_length");
  OX_TRY(read_sizes(a, shape, &s));
  if (ox_infer_ints(c, TOTAL, &total, 1, &n) != 1 || n != 1) total = -1;
  int64_t present = total < 0 || s.past < 0 ? -1 : OX_MAX(total, s.past);
  ox_shape out = ox_shape_of(3, (int64_t[]){s.batch, s.q_len, ox_dim_mul(s.heads, s.d)});
  ox_shape cache = ox_shape_of(4, (int64_t[]){s.batch, s.kv_heads, present, s.d});
  ox_shape qk = ox_shape_of(4, (int64_t[]){s.batch, s.heads, s.q_len, total});
  ox_infer_out(c, OUT, c->in[Q]->dtype, &out);
  ox_infer_out(c, PRESENT_K, c->in[Q]->dtype, &cache);
  ox_infer_out(c, PRESENT_V, c->in[Q]->dtype, &cache);
  ox_infer_out(c, QK, c->in[Q]->dtype, &qk);
  return NULL;
}

/* ---- prepare ---- */
typedef struct gqa_prep {
  sizes s;
  int64_t half, angles;          /* rotary */
  bool few;                      /* one tile per head of k does everything */
  ox_attn a;                     /* kv_len and what follows from it: of the run */
  size_t lens_at, sink_at, q_at; /* in shared memory, behind gqa_run */
} gqa_prep;

/* What the first stage settles. */
typedef struct gqa_run {
  int64_t total, present; /* keys; rows of the present buffers */
  void *present_k, *present_v, *qk;
  char *qk_scratch; /* a tile's scratch grows with the keys if qk is wanted */
  size_t qk_scratch_bytes;
} gqa_run;

static ox_status *check_rotary(const ox_kernel_ctx *c, gqa_prep *p) {
  const gqa_attrs *a = c->attrs;
  if (!a->do_rotary) return NULL;
  if (!ox_ctx_has(c, COS) || !ox_ctx_has(c, SIN))
    return ox_fail(OX_INVALID_MODEL, "do_rotary needs cos_cache and sin_cache");
  const ox_shape *cs = &c->in[COS]->shape;
  if (cs->rank != 2 || !ox_shape_equal(cs, &c->in[SIN]->shape) || 2 * cs->dim[1] > p->s.d)
    return bad_shape("cos_cache", cs);
  p->half = cs->dim[1], p->angles = cs->dim[0];
  if (ox_ctx_has(c, POS) && ox_shape_count(&c->in[POS]->shape) < p->s.batch * p->s.q_len)
    return bad_shape("position_ids", &c->in[POS]->shape);
  return NULL;
}

static ox_status *check_inputs(const ox_kernel_ctx *c, gqa_prep *p) {
  const sizes *s = &p->s;
  const ox_shape want = ox_shape_of(4, (int64_t[]){s->batch, s->kv_heads, s->past, s->d});
  static const uint8_t same[] = {K, V, PAST_K, PAST_V, COS, SIN, ADD, SINK};
  for (size_t i = 0; i < sizeof same; i++)
    if (ox_ctx_has(c, same[i]) && c->in[same[i]]->dtype != c->in[Q]->dtype)
      return ox_fail(OX_SHAPE_MISMATCH, "GroupQueryAttention: input %u is %s, the query %s", (unsigned)same[i],
                     ox_dtype_name(c->in[same[i]]->dtype), ox_dtype_name(c->in[Q]->dtype));
  for (uint32_t i = PAST_K; i <= PAST_V; i++)
    if (ox_ctx_has(c, i) && !ox_shape_equal(&c->in[i]->shape, &want)) return bad_shape("past", &c->in[i]->shape);
  if (ox_shape_count(&c->in[LENS]->shape) != s->batch) return bad_shape("seqlens_k", &c->in[LENS]->shape);
  if (ox_shape_count(&c->in[TOTAL]->shape) != 1) return bad_shape("total_sequence_length", &c->in[TOTAL]->shape);
  if (ox_ctx_has(c, SINK) && ox_shape_count(&c->in[SINK]->shape) != s->heads)
    return bad_shape("head_sink", &c->in[SINK]->shape);
  return check_rotary(c, p);
}

static void lay_out(const ox_kernel_ctx *c, gqa_prep *p) {
  const gqa_attrs *at = c->attrs;
  const sizes *s = &p->s;
  uint32_t t = c->in[Q]->dtype;
  int64_t row = (s->heads + (s->packed ? 2 * s->kv_heads : 0)) * s->d;
  p->a = (ox_attn){.batch = s->batch,
                   .heads = s->heads,
                   .kv_heads = s->kv_heads,
                   .q_len = s->q_len,
                   .d = s->d,
                   .dv = s->d,
                   .softcap = at->softcap,
                   .qk_mode = OX_ATTN_QK_NONE,
                   .scale = at->scale != 0 ? (double)at->scale : 1 / sqrt((double)OX_MAX(s->d, 1)),
                   .left = at->local_window_size > 0 ? at->local_window_size - 1 : -1,
                   .right = at->causal ? 0 : -1,
                   .kv_len = INT32_MAX};
  p->a.q = (ox_attn_mat){NULL, t, s->q_len * row, s->d, row};
  if (at->do_rotary) p->a.q = (ox_attn_mat){NULL, t, s->heads * s->q_len * s->d, s->q_len * s->d, s->d};
  p->a.out = (ox_attn_mat){NULL, t, s->q_len * s->heads * s->d, s->d, s->heads * s->d};
  p->a.k = p->a.v = (ox_attn_mat){NULL, t, 0, 0, s->d};
  if (ox_ctx_wants(c, QK) && at->qk_output) p->a.qk_mode = at->qk_output == 1 ? OX_ATTN_QK_BIASED : OX_ATTN_QK_SOFTMAX;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *shape[N_IN];
  gqa_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_ctx_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(read_sizes(c->attrs, shape, &p->s));
  OX_TRY(check_inputs(c, p));
  const sizes *s = &p->s;
  lay_out(c, p);
  size_t rows = (size_t)(s->batch * s->heads * s->q_len), lens = 2 * (size_t)s->batch * sizeof(int32_t);
  p->lens_at = OX_ROUND_UP(sizeof(gqa_run), OX_ALIGN_BYTES);
  p->sink_at = p->lens_at + OX_ROUND_UP(lens, OX_ALIGN_BYTES);
  p->q_at = p->sink_at + OX_ROUND_UP((size_t)s->heads * sizeof(float), OX_ALIGN_BYTES);
  c->shared_bytes = p->q_at + (p->half ? rows * (size_t)s->d * ox_attn_item(c->in[Q]->dtype) : 0) + OX_PAD_BYTES;
  p->few = s->heads / s->kv_heads * s->q_len <= OX_ATTN_FEW;
  c->n_tiles[0] = 1, c->n_tiles[1] = s->batch * s->kv_heads;
  ox_attn book = p->a; /* scratch for any number of keys, unless qk is wanted */
  book.qk_mode = OX_ATTN_QK_NONE;
  ox_attn_book(c, p->few ? 1 : 2, &book);
  return NULL;
}

/* ---- stage 0: lengths, outputs ---- */
static int32_t *lens_of(const ox_kernel_ctx *c) {
  return (int32_t *)((char *)c->shared + ((const gqa_prep *)c->prep)->lens_at);
}

static ox_status *read_lens(const ox_kernel_ctx *c, const gqa_run *r) {
  const sizes *s = &((const gqa_prep *)c->prep)->s;
  int32_t *lens = lens_of(c), *offsets = lens + s->batch;
  for (int64_t b = 0; b < s->batch; b++) {
    int64_t n = (int64_t)((const int32_t *)c->in[LENS]->data)[b] + 1, first = s->q_len == r->total ? 0 : n - s->q_len;
    if (n < 0 || n > r->total || first < 0 || first > s->past || first + s->q_len > r->present)
      return ox_fail(OX_INVALID_ARGUMENT,
                     "seqlens_k[%lld] is %lld: %lld new keys behind a past of %lld do not make a total of %lld",
                     (long long)b, (long long)n - 1, (long long)s->q_len, (long long)s->past, (long long)r->total);
    lens[b] = (int32_t)n, offsets[b] = (int32_t)first;
  }
  return NULL;
}

static ox_status *make_outputs(const ox_kernel_ctx *c, gqa_run *r) {
  const gqa_prep *p = c->prep;
  const sizes *s = &p->s;
  ox_shape cache = ox_shape_of(4, (int64_t[]){s->batch, s->kv_heads, r->present, s->d});
  ox_shape qk = ox_shape_of(4, (int64_t[]){s->batch, s->heads, s->q_len, r->total});
  size_t bytes;
  if (!ox_dtype_bytes(c->in[Q]->dtype, ox_shape_count(&cache), &bytes)) return ox_oom();
  void **to[] = {&r->present_k, &r->present_v};
  for (uint32_t i = 0; i < 2; i++) {
    if (ox_ctx_wants(c, PRESENT_K + i))
      OX_TRY(ox_output_at_run(c, PRESENT_K + i, &cache, to[i]));
    else if (!(*to[i] = ox_ctx_run_alloc(c, OX_MAX(bytes, 1))))
      return ox_oom();
  }
  if (!ox_ctx_wants(c, QK)) return NULL;
  OX_TRY(ox_output_at_run(c, QK, &qk, &r->qk));
  if (p->a.qk_mode == OX_ATTN_QK_NONE) return NULL;
  ox_attn a = p->a;
  a.kv_len = r->total;
  const ox_attn_variant *v = ox_attn_select(a.q.dtype, c->isa);
  r->qk_scratch_bytes = OX_ROUND_UP(ox_attn_scratch(&a, v), OX_ALIGN_BYTES);
  r->qk_scratch = ox_ctx_run_alloc(c, OX_MAX(r->qk_scratch_bytes * (size_t)ox_attn_tiles(&a, v), 1));
  return r->qk_scratch ? NULL : ox_oom();
}

static ox_status *begin(const ox_kernel_ctx *c) {
  const gqa_prep *p = c->prep;
  gqa_run *r = c->shared;
  memset(r, 0, sizeof *r);
  r->total = ((const int32_t *)c->in[TOTAL]->data)[0];
  if (r->total < 0 || r->total > ox_dim_add(p->s.past, p->s.q_len))
    return ox_fail(OX_INVALID_ARGUMENT, "total_sequence_length is %lld behind a past of %lld, %lld new tokens",
                   (long long)r->total, (long long)p->s.past, (long long)p->s.q_len);
  r->present = OX_MAX(r->total, p->s.past);
  OX_TRY(read_lens(c, r));
  float *sink = (float *)((char *)c->shared + p->sink_at);
  for (int64_t h = 0; h < p->s.heads; h++) {
    const uint16_t *half = ox_ctx_has(c, SINK) ? c->in[SINK]->data : NULL;
    if (!half)
      sink[h] = 0;
    else if (c->in[SINK]->dtype == OX_F32)
      sink[h] = ((const float *)c->in[SINK]->data)[h];
    else
      sink[h] = c->in[SINK]->dtype == OX_F16 ? ox_f16_to_f32(half[h]) : ox_bf16_to_f32(half[h]);
  }
  return make_outputs(c, r);
}

/* ---- the cache and the rotation ---- */
static char *element(const ox_attn_mat *m, int64_t b, int64_t h, int64_t row) {
  return (char *)m->p + (size_t)(b * m->batch + h * m->head + row * m->row) * ox_attn_item(m->dtype);
}

/* Rows of one head, rotated from |from| to rows |skip| and up of |to|. */
static ox_status *rotate(const ox_kernel_ctx *c, const ox_attn_mat *from, int64_t h, const ox_attn_mat *to,
                         int64_t to_h, int64_t b, int64_t skip) {
  const gqa_prep *p = c->prep;
  size_t item = ox_attn_item(from->dtype);
  bool pairs = ((const gqa_attrs *)c->attrs)->rotary_interleaved != 0;
  for (int64_t i = 0; i < p->s.q_len; i++) {
    int64_t at = lens_of(c)[p->s.batch + b] + i;
    if (ox_ctx_has(c, POS)) at = ((const int64_t *)c->in[POS]->data)[b * p->s.q_len + i];
    if (at < 0 || at >= p->angles)
      return ox_fail(OX_INVALID_ARGUMENT, "position %lld is outside the rotary caches of %lld", (long long)at,
                     (long long)p->angles);
    size_t angle = (size_t)(at * p->half) * item;
    ox_rotary_row(from->dtype, element(from, b, h, i), (const char *)c->in[COS]->data + angle,
                  (const char *)c->in[SIN]->data + angle, p->half, p->s.d, pairs, element(to, b, to_h, skip + i));
  }
  return NULL;
}

/* Appends head |hk| of batch item |b| to the cache, and rotates it and the query heads that share it. */
static ox_status *append(const ox_kernel_ctx *c, const ox_attn *a, int64_t b, int64_t hk) {
  const gqa_prep *p = c->prep;
  const sizes *s = &p->s;
  size_t item = ox_attn_item(a->q.dtype), head = (size_t)(s->heads * s->d) * item;
  int64_t row = (s->packed ? s->heads + 2 * s->kv_heads : s->kv_heads) * s->d, n = lens_of(c)[s->batch + b];
  ox_attn_mat q = {c->in[Q]->data, a->q.dtype, 0, s->d, (s->packed ? s->heads + 2 * s->kv_heads : s->heads) * s->d};
  ox_attn_mat k = {NULL, a->q.dtype, s->q_len * row, s->d, row}, v = k, past = {NULL, a->q.dtype, 0, 0, s->d};
  q.batch = s->q_len * q.row;
  past.head = s->past * s->d, past.batch = s->kv_heads * past.head;
  k.p = s->packed ? (char *)c->in[Q]->data + head : c->in[K]->data;
  v.p = s->packed ? (char *)k.p + (size_t)(s->kv_heads * s->d) * item : c->in[V]->data;
  if (n) past.p = c->in[PAST_K]->data;
  attn_append ka = {past, k, a->k, n, p->half ? 0 : s->q_len, s->d};
  if (n) past.p = c->in[PAST_V]->data;
  attn_append va = {past, v, a->v, n, s->q_len, s->d};
  ox_attn_append(&ka, b, hk), ox_attn_append(&va, b, hk);
  if (a->k.head > (n + s->q_len) * s->d) { /* rows that no key fills yet */
    size_t rest = (size_t)(a->k.head - (n + s->q_len) * s->d) * item;
    memset(element(&a->k, b, hk, n + s->q_len), 0, rest), memset(element(&a->v, b, hk, n + s->q_len), 0, rest);
  }
  if (!p->half) return NULL;
  OX_TRY(rotate(c, &k, hk, &a->k, hk, b, n));
  int64_t per = s->heads / s->kv_heads;
  for (int64_t h = hk * per; h < (hk + 1) * per; h++) OX_TRY(rotate(c, &q, h, &a->q, h, b, 0));
  return NULL;
}

static ox_status *bind(const ox_kernel_ctx *c, ox_attn *a) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  *a = p->a;
  a->kv_len = r->total;
  a->q.p = p->half ? (char *)c->shared + p->q_at : c->in[Q]->data;
  a->out.p = c->out[OUT]->data;
  a->k.p = r->present_k, a->v.p = r->present_v;
  a->k.head = a->v.head = r->present * p->s.d, a->k.batch = a->v.batch = p->s.kv_heads * a->k.head;
  a->kv_lens = lens_of(c), a->offsets = a->kv_lens + p->s.batch;
  a->qk = r->qk;
  if (ox_ctx_has(c, SINK) || ((const gqa_attrs *)c->attrs)->smooth_softmax)
    a->sink = (const float *)((const char *)c->shared + p->sink_at);
  if (ox_ctx_has(c, ADD))
    return ox_attn_bias_of(c->in[ADD], "attention_bias", a->batch, a->heads, a->q_len, a->kv_len, &a->bias[0]);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  ox_attn a;
  if (stage == 0) return begin(c);
  OX_TRY(bind(c, &a));
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (stage == 1) OX_TRY(append(c, &a, t / a.kv_heads, t % a.kv_heads));
    void *own = r->qk_scratch ? r->qk_scratch + (size_t)t * r->qk_scratch_bytes : scratch;
    if (p->few || stage == 2) ox_attn_run_tiles(c, &a, (ox_range){t, t + 1}, own);
  }
  return NULL;
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define CACHE (HALVES | OX_BIT(OX_U8) | OX_BIT(OX_I8) | OX_BIT(OX_F8E4M3FN))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GroupQueryAttention", .domain = "com.microsoft", .since = 1, .min_in = 1, .max_in = N_IN,
               .min_out = 1, .max_out = 4,
               .types = {HALVES, HALVES, HALVES, CACHE, CACHE, OX_BIT(OX_I32), OX_BIT(OX_I32), HALVES},
               .vars = "TTTCC..TT.TT..TT",
               .more_types = (const uint32_t[]){HALVES, OX_BIT(OX_I64), HALVES, HALVES, OX_BIT(OX_F32), OX_BIT(OX_F32),
                                                HALVES, HALVES},
               .value_in = 1u << TOTAL, OX_ATTRS(attrs), .attrs_bytes = sizeof(gqa_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_group_query_attention = {ops, OX_COUNT(ops)};
