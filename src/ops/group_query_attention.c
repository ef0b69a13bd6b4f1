/* SPDX-License-Identifier: Apache-2.0
 * ops/group_query_attention.c - com.microsoft.GroupQueryAttention: causal, grouped heads, a cache whose filled length
 * is an input, rotary embedding inside. Lengths are content, so the run's first stage settles them. The cache may be
 * quantized, and may hold no more than a window of the last rows (sliding_window_cache). */
#include <math.h>
#include <string.h>

#include "ops/attention/gqa.h"
#include "ops/move/deferred.h"
#include "ops/shared/float_element.h"

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_REQUIRED_IN(gqa_attrs, num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(gqa_attrs, kv_num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT(gqa_attrs, do_rotary, 0),
    OX_ATTR_INT(gqa_attrs, rotary_interleaved, 0),
    OX_ATTR_INT_IN(gqa_attrs, local_window_size, -1, -1, OX_COUNT_MAX),
    OX_ATTR_INT(gqa_attrs, smooth_softmax, 0),
    OX_ATTR_INT(gqa_attrs, qk_output, 0),
    OX_ATTR_INT(gqa_attrs, causal, 1),
    OX_ATTR_INT(gqa_attrs, sliding_window_cache, 0),
    OX_ATTR_INT(gqa_attrs, kv_cache_bit_width, 0),
    OX_ATTR_FLOAT(gqa_attrs, scale, 0),
    OX_ATTR_FLOAT(gqa_attrs, softcap, 0),
    OX_ATTR_FLOAT(gqa_attrs, qk_norm_epsilon, 1e-6f),
};

static ox_status *bad_shape(const char *what, const ox_shape *s) {
  char text[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "GroupQueryAttention: %s %s does not fit", what, ox_shape_text(s, text));
}

static bool differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

static ox_status *read_sizes(const gqa_attrs *a, const ox_shape *const *shape, gqa_sizes *s) {
  const ox_shape *q = shape[Q];
  *s = (gqa_sizes){-1, a->num_heads, a->kv_num_heads, -1, -1, 0, -1, !shape[K]};
  if (a->num_heads % a->kv_num_heads)
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
  gqa_sizes s;
  int64_t total = -1;
  int n;
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
  if (!shape[LENS] || !shape[TOTAL])
    return ox_fail(OX_INVALID_MODEL, "GroupQueryAttention needs seqlens_k and total_sequence_length");
  OX_TRY(read_sizes(a, shape, &s));
  if (ox_infer_ints(c, TOTAL, &total, 1, &n) != 1 || n != 1) total = -1;
  uint32_t type = c->in[shape[PAST_K] ? PAST_K : Q]->dtype;
  int64_t present = a->sliding_window_cache ? s.past : total < 0 || s.past < 0 ? -1 : OX_MAX(total, s.past);
  ox_shape out = ox_shape_of(3, (int64_t[]){s.batch, s.q_len, ox_dim_mul(s.heads, s.d)});
  ox_shape cache = ox_shape_of(4, (int64_t[]){s.batch, s.kv_heads, present, gqa_width(type, s.d)});
  ox_shape qk = ox_shape_of(4, (int64_t[]){s.batch, s.heads, s.q_len, total});
  ox_infer_out(c, OUT, c->in[Q]->dtype, &out);
  ox_infer_out(c, PRESENT_K, type, &cache);
  ox_infer_out(c, PRESENT_V, type, &cache);
  ox_infer_out(c, QK, c->in[Q]->dtype, &qk);
  return NULL;
}

/* A window moves within its buffer. */
static ox_status *load(ox_load_ctx *c) {
  const gqa_attrs *a = c->attrs;
  bool past = c->n_in > PAST_V && c->in_type[PAST_K] && c->in_type[PAST_V];
  c->past_in = past && !a->sliding_window_cache ? PAST_K : 0;
  return NULL;
}

/* ---- prepare ---- */
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

/* Checks the type of the cache, and scales of a quantized one. */
static ox_status *check_cache(const ox_kernel_ctx *c, gqa_prep *p) {
  const gqa_attrs *a = c->attrs;
  const gqa_sizes *s = &p->s;
  const ox_tensor *past = ox_ctx_has(c, PAST_K) ? c->in[PAST_K] : NULL;
  p->cache = past ? past->dtype : c->in[Q]->dtype, p->quantized = p->cache != c->in[Q]->dtype;
  p->s.width = p->quantized ? gqa_width(p->cache, s->d) : s->d;
  p->staged = p->quantized || a->sliding_window_cache;
  p->transformed = p->half || ox_ctx_has(c, Q_NORM);
  if (a->sliding_window_cache && (!past || a->local_window_size <= 0 || a->local_window_size > s->past))
    return ox_fail(OX_INVALID_ARGUMENT,
                   "GroupQueryAttention: sliding_window_cache with a window of %lld and a cache of %lld rows",
                   (long long)a->local_window_size, (long long)s->past);
  if (!p->quantized || gqa_is_real(p->cache)) return NULL;
  if (p->cache != OX_U8 && p->cache != OX_I8 && p->cache != OX_F8E4M3FN)
    return ox_fail(OX_INVALID_MODEL, "GroupQueryAttention: a cache of %s for a query of %s", ox_dtype_name(p->cache),
                   ox_dtype_name(c->in[Q]->dtype));
  if (a->kv_cache_bit_width && a->kv_cache_bit_width != (p->cache == OX_U8 ? 4 : 8))
    return ox_fail(OX_INVALID_MODEL, "GroupQueryAttention: kv_cache_bit_width %lld, but the cache is %s",
                   (long long)a->kv_cache_bit_width, ox_dtype_name(p->cache));
  for (uint32_t i = K_SCALE; i <= V_SCALE; i++) {
    if (!ox_ctx_has(c, i)) return ox_fail(OX_INVALID_MODEL, "GroupQueryAttention: a quantized cache without scales");
    const ox_shape *t = &c->in[i]->shape;
    const int64_t most[4] = {s->batch, s->kv_heads, 1, s->d};
    if (t->rank > 4) return bad_shape("a scale", t);
    for (int k = 0; k < t->rank; k++)
      if (t->dim[k] != 1 && t->dim[k] != most[4 - t->rank + k]) return bad_shape("a scale", t);
  }
  return NULL;
}

static ox_status *check_norms(const ox_kernel_ctx *c, const gqa_prep *p) {
  if (ox_ctx_has(c, Q_NORM) != ox_ctx_has(c, K_NORM))
    return ox_fail(OX_INVALID_MODEL, "q_norm_weight and k_norm_weight come together or not at all");
  for (uint32_t i = Q_NORM; i <= K_NORM; i++)
    if (ox_ctx_has(c, i) && ox_shape_count(&c->in[i]->shape) != p->s.d)
      return bad_shape("a norm's weight", &c->in[i]->shape);
  return NULL;
}

static ox_status *check_inputs(const ox_kernel_ctx *c, gqa_prep *p) {
  const gqa_sizes *s = &p->s;
  OX_TRY(check_rotary(c, p));
  OX_TRY(check_cache(c, p));
  const ox_shape want = ox_shape_of(4, (int64_t[]){s->batch, s->kv_heads, s->past, s->width});
  for (uint32_t i = PAST_K; i <= PAST_V; i++)
    if (ox_ctx_has(c, i) && (!ox_shape_equal(&c->in[i]->shape, &want) || c->in[i]->dtype != p->cache))
      return bad_shape("past", &c->in[i]->shape);
  if (ox_shape_count(&c->in[LENS]->shape) != s->batch) return bad_shape("seqlens_k", &c->in[LENS]->shape);
  if (ox_shape_count(&c->in[TOTAL]->shape) != 1) return bad_shape("total_sequence_length", &c->in[TOTAL]->shape);
  if (ox_ctx_has(c, SINK) && ox_shape_count(&c->in[SINK]->shape) != s->heads)
    return bad_shape("head_sink", &c->in[SINK]->shape);
  return check_norms(c, p);
}

static ox_status *lay_out(const ox_kernel_ctx *c, gqa_prep *p) {
  const gqa_attrs *at = c->attrs;
  const gqa_sizes *s = &p->s;
  uint32_t t = c->in[Q]->dtype, seen = p->quantized ? OX_F32 : t;
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
  if (p->transformed) p->a.q = (ox_attn_mat){NULL, t, s->heads * s->q_len * s->d, s->q_len * s->d, s->d};
  p->a.out = (ox_attn_mat){NULL, t, s->q_len * s->heads * s->d, s->d, s->heads * s->d};
  p->a.k = p->a.v = (ox_attn_mat){NULL, seen, 0, 0, s->d};
  if (ox_ctx_wants(c, QK) && at->qk_output) p->a.qk_mode = at->qk_output == 1 ? OX_ATTN_QK_BIASED : OX_ATTN_QK_SOFTMAX;
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *shape[N_IN];
  gqa_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_ctx_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(read_sizes(c->attrs, shape, &p->s));
  OX_TRY(check_inputs(c, p));
  const gqa_sizes *s = &p->s;
  OX_TRY(lay_out(c, p));
  size_t rows = (size_t)(s->batch * s->heads * s->q_len);
  size_t lens = (size_t)s->batch * (sizeof(gqa_lens) + 2 * sizeof(int32_t));
  p->lens_at = OX_ROUND_UP(sizeof(gqa_run), OX_ALIGN_BYTES);
  p->sink_at = p->lens_at + OX_ROUND_UP(lens, OX_ALIGN_BYTES);
  p->q_at = p->sink_at + OX_ROUND_UP((size_t)s->heads * sizeof(float), OX_ALIGN_BYTES);
  c->shared_bytes = p->q_at + (p->transformed ? rows * (size_t)s->d * ox_attn_item(c->in[Q]->dtype) : 0) + OX_PAD_BYTES;
  p->few = s->heads / s->kv_heads * s->q_len <= OX_ATTN_FEW;
  c->n_tiles[0] = 1, c->n_tiles[1] = s->batch * s->kv_heads;
  ox_attn book = p->a; /* the scratch does not depend on the number of keys, unless qk is an output */
  book.qk_mode = OX_ATTN_QK_NONE;
  ox_attn_book(c, p->few ? 1 : 2, &book);
  p->spread = ((const gqa_attrs *)c->attrs)->sliding_window_cache && p->a.qk_mode != OX_ATTN_QK_NONE;
  if (p->spread) c->n_tiles[c->n_stages++] = s->batch * s->heads;
  return NULL;
}

/* ---- stage 0: lengths, outputs ---- */
/* For all batch items: the number of keys that its rows may read, then the position of its first row among them. */
static int32_t *seen_of(const ox_kernel_ctx *c) {
  return (int32_t *)(void *)(gqa_lens_of(c) + ((const gqa_prep *)c->prep)->s.batch);
}

/* Rows that a cache of |rows| holds after |n| tokens if it keeps a window: when it is full, it drops as many rows as it
 * has beyond the window. */
static int64_t resident(int64_t n, int64_t rows, int64_t window) {
  int64_t group = rows - window + 1;
  return n <= rows ? n : n - group * OX_CEIL_DIV(n - rows, group);
}

static ox_status *read_lens(const ox_kernel_ctx *c, gqa_run *r) {
  const gqa_attrs *a = c->attrs;
  const gqa_sizes *s = &((const gqa_prep *)c->prep)->s;
  gqa_lens *lens = gqa_lens_of(c);
  int32_t *seen = seen_of(c), *offsets = seen + s->batch;
  bool slides = a->sliding_window_cache;
  r->rows = slides ? 0 : r->total;
  for (int64_t b = 0; b < s->batch; b++) {
    int64_t n = (int64_t)((const int32_t *)c->in[LENS]->data)[b] + 1, first = r->prompt ? 0 : n - s->q_len;
    bool fits = slides || (first <= s->past && first + s->q_len <= r->present);
    if (n < 0 || n > r->total || first < 0 || !fits)
      return ox_fail(OX_INVALID_ARGUMENT,
                     "seqlens_k[%lld] is %lld: %lld new keys behind a past of %lld do not make a total of %lld",
                     (long long)b, (long long)n - 1, (long long)s->q_len, (long long)s->past, (long long)r->total);
    int64_t kept = slides ? resident(first, s->past, a->local_window_size) : first;
    int64_t fresh = slides ? n - first : s->q_len;
    int64_t stays = slides ? resident(n, s->past, a->local_window_size) : kept + fresh;
    lens[b] = (gqa_lens){(int32_t)first, (int32_t)kept, (int32_t)fresh, (int32_t)stays};
    seen[b] = (int32_t)(slides ? kept + fresh : n), offsets[b] = (int32_t)kept;
    r->rows = OX_MAX(r->rows, kept + fresh);
  }
  return NULL;
}

/* Memory of the run for [batch, heads, rows, width]. */
static ox_status *room(const ox_kernel_ctx *c, uint32_t type, int64_t heads, int64_t rows, int64_t width, void **out) {
  ox_shape s = ox_shape_of(4, (int64_t[]){((const gqa_prep *)c->prep)->s.batch, heads, rows, width});
  size_t bytes;
  if (!ox_dtype_bytes(type, ox_shape_count(&s), &bytes)) return ox_oom();
  *out = ox_ctx_run_alloc(c, OX_MAX(bytes, 1));
  return *out ? NULL : ox_oom();
}

static ox_status *make_outputs(const ox_kernel_ctx *c, gqa_run *r) {
  const gqa_prep *p = c->prep;
  const gqa_sizes *s = &p->s;
  ox_shape cache = ox_shape_of(4, (int64_t[]){s->batch, s->kv_heads, r->present, s->width});
  ox_shape qk = ox_shape_of(4, (int64_t[]){s->batch, s->heads, s->q_len, r->total});
  void **to[] = {&r->present_k, &r->present_v};
  for (uint32_t i = 0; i < 2; i++) {
    if (ox_ctx_wants(c, PRESENT_K + i))
      OX_TRY(ox_output_at_run(c, PRESENT_K + i, &cache, to[i]));
    else
      OX_TRY(room(c, p->cache, s->kv_heads, r->present, s->width, to[i]));
  }
  if (!ox_ctx_wants(c, QK)) return NULL;
  OX_TRY(ox_output_at_run(c, QK, &qk, &r->qk));
  if (p->a.qk_mode == OX_ATTN_QK_NONE) return NULL;
  if (p->spread) OX_TRY(room(c, p->a.q.dtype, s->heads * s->q_len, r->rows, 1, &r->seen_qk));
  ox_attn a = p->a;
  a.kv_len = p->spread ? r->rows : r->total;
  const ox_attn_variant *v = ox_attn_select(a.q.dtype, c->isa);
  r->qk_scratch_bytes = OX_ROUND_UP(ox_attn_scratch(&a, v), OX_ALIGN_BYTES);
  r->qk_scratch = ox_ctx_run_alloc(c, OX_MAX(r->qk_scratch_bytes * (size_t)ox_attn_tiles(&a, v), 1));
  return r->qk_scratch ? NULL : ox_oom();
}

/* Allocates what the first stage prepares for attention. */
static ox_status *make_staged(const ox_kernel_ctx *c, gqa_run *r) {
  const gqa_prep *p = c->prep;
  const gqa_sizes *s = &p->s;
  void *spare;
  if (p->quantized || ox_ctx_has(c, Q_NORM)) {
    OX_TRY(room(c, OX_U8, s->kv_heads, 1, (int64_t)gqa_spare_bytes(p), &spare));
    r->spare = spare;
  }
  if (!p->staged) return NULL;
  OX_TRY(room(c, p->a.k.dtype, s->kv_heads, r->rows, s->d, &r->staged_k));
  OX_TRY(room(c, p->a.v.dtype, s->kv_heads, r->rows, s->d, &r->staged_v));
  bool slides = ((const gqa_attrs *)c->attrs)->sliding_window_cache;
  if (!slides || !ox_ctx_has(c, ADD)) return NULL;
  ox_attn_bias whole;
  const ox_shape *add = &c->in[ADD]->shape;
  OX_TRY(ox_attn_bias_of(c->in[ADD], "attention_bias", s->batch, s->heads, s->q_len, r->total, &whole));
  if (add->rank != 4 || add->dim[3] != r->total) return bad_shape("attention_bias", add);
  return room(c, c->in[ADD]->dtype, s->heads, s->q_len, r->rows, &r->bias);
}

static ox_status *begin(const ox_kernel_ctx *c) {
  const gqa_prep *p = c->prep;
  gqa_run *r = c->shared;
  memset(r, 0, sizeof *r);
  r->total = ((const int32_t *)c->in[TOTAL]->data)[0];
  bool slides = ((const gqa_attrs *)c->attrs)->sliding_window_cache;
  if (r->total < 0 || (!slides && r->total > ox_dim_add(p->s.past, p->s.q_len)))
    return ox_fail(OX_INVALID_ARGUMENT, "total_sequence_length is %lld behind a past of %lld, %lld new tokens",
                   (long long)r->total, (long long)p->s.past, (long long)p->s.q_len);
  r->prompt = p->s.q_len == r->total;
  r->present = slides ? p->s.past : OX_MAX(r->total, p->s.past);
  OX_TRY(read_lens(c, r));
  float *sink = (float *)((char *)c->shared + p->sink_at);
  for (int64_t h = 0; h < p->s.heads; h++) sink[h] = ox_ctx_has(c, SINK) ? ox_float_at(c->in[SINK], h) : 0;
  OX_TRY(make_staged(c, r));
  return make_outputs(c, r);
}

/* ---- the product ---- */
static ox_status *bind(const ox_kernel_ctx *c, ox_attn *a) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  *a = p->a;
  a->kv_len = r->rows;
  a->q.p = p->transformed ? (char *)c->shared + p->q_at : c->in[Q]->data;
  a->out.p = c->out[OUT]->data;
  a->k.p = p->staged ? r->staged_k : r->present_k, a->v.p = p->staged ? r->staged_v : r->present_v;
  int64_t rows = p->staged ? r->rows : c->cache_rows ? c->cache_rows : r->present;
  ox_attn_spread(&a->k, p->s.kv_heads, rows), ox_attn_spread(&a->v, p->s.kv_heads, rows);
  a->kv_lens = seen_of(c), a->offsets = a->kv_lens + p->s.batch;
  a->qk = p->spread ? r->seen_qk : r->qk;
  if (ox_ctx_has(c, SINK) || ((const gqa_attrs *)c->attrs)->smooth_softmax)
    a->sink = (const float *)((const char *)c->shared + p->sink_at);
  if (r->bias)
    a->bias[0] = (ox_attn_bias){
        r->bias, c->in[ADD]->dtype, a->heads * a->q_len * r->rows, a->q_len * r->rows, r->rows, 1, r->rows, 0};
  else if (ox_ctx_has(c, ADD))
    return ox_attn_bias_of(c->in[ADD], "attention_bias", a->batch, a->heads, a->q_len, a->kv_len, &a->bias[0]);
  return NULL;
}

/* Writes the scores of head |t| of all batch items by the keys' positions; 0 for keys that have left the cache and for
 * masked ones. */
static void spread_qk(const ox_kernel_ctx *c, int64_t t) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  const gqa_lens *l = gqa_lens_of(c) + t / p->s.heads;
  size_t item = ox_dtype_bits(p->a.q.dtype) / 8;
  int64_t from = l->first - l->kept, n = l->kept + l->fresh;
  for (int64_t row = t * p->s.q_len; row < (t + 1) * p->s.q_len && r->total; row++) {
    char *to = (char *)r->qk + (size_t)(row * r->total) * item;
    memset(to, 0, (size_t)r->total * item);
    memcpy(to + (size_t)from * item, (const char *)r->seen_qk + (size_t)(row * r->rows) * item, (size_t)n * item);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const gqa_prep *p = c->prep;
  const gqa_run *r = c->shared;
  ox_attn a;
  if (stage == 0) return begin(c);
  if (p->spread && stage + 1 == c->n_stages) {
    for (int64_t t = tiles.begin; t < tiles.end; t++) spread_qk(c, t);
    return NULL;
  }
  OX_TRY(bind(c, &a));
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (stage == 1) OX_TRY(gqa_append(c, &a, t / a.kv_heads, t % a.kv_heads));
    void *own = r->qk_scratch ? r->qk_scratch + (size_t)t * r->qk_scratch_bytes : scratch;
    if (p->few || stage == 2) ox_attn_run_tiles(c, &a, (ox_range){t, t + 1}, own);
  }
  return NULL;
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define CACHE (HALVES | OX_BIT(OX_U8) | OX_BIT(OX_I8) | OX_BIT(OX_F8E4M3FN))
/* Counts as many keys as the cache has room for; the actual number is known only in a run. */
static double flops(const ox_kernel_ctx *c) {
  ox_attn a = ((const gqa_prep *)c->prep)->a;
  a.kv_len = ox_ctx_wants(c, PRESENT_K) ? c->out[PRESENT_K]->shape.dim[2] : a.q_len;
  return ox_attn_flops(&a);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GroupQueryAttention", .domain = "com.microsoft", .since = 1, .min_in = 1, .max_in = N_IN,
               .min_out = 1, .max_out = 4,
               .types = {HALVES, HALVES, HALVES, CACHE, CACHE, OX_BIT(OX_I32), OX_BIT(OX_I32), HALVES},
               .vars = "TTTCC..TT.TT..TT",
               .more_types = (const uint32_t[]){HALVES, OX_BIT(OX_I64), HALVES, HALVES, OX_BIT(OX_F32), OX_BIT(OX_F32),
                                                HALVES, HALVES},
               .value_in = 1u << TOTAL, .traits = OX_OUT0_SHAPED, OX_ATTRS(attrs), .attrs_bytes = sizeof(gqa_attrs),
               .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_group_query_attention = {ops, OX_COUNT(ops)};
