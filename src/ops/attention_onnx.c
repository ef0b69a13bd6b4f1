/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_onnx.c - the standard's Attention (23 and later): 3-D or 4-D inputs, grouped heads, caches, masks. */
#include <math.h>

#include "ops/attention/attn_common.h"
#include "ops/shared/as_real.h"

typedef struct attention_attrs {
  int64_t is_causal, q_num_heads, kv_num_heads, qk_matmul_output_mode, left_window_size, right_window_size, nan_to_zero;
  float scale, softcap;
  bool has_scale;
} attention_attrs;

#define ATTRS                                                                                                   \
  OX_ATTR_INT(attention_attrs, is_causal, 0), OX_ATTR_INT_IN(attention_attrs, q_num_heads, 0, 0, OX_COUNT_MAX), \
      OX_ATTR_INT_IN(attention_attrs, kv_num_heads, 0, 0, OX_COUNT_MAX),                                        \
      OX_ATTR_INT_IN(attention_attrs, qk_matmul_output_mode, 0, 0, 3),                                          \
      OX_ATTR_INT_IN(attention_attrs, left_window_size, -1, -1, OX_COUNT_MAX),                                  \
      OX_ATTR_INT_IN(attention_attrs, right_window_size, -1, -1, OX_COUNT_MAX),                                 \
      OX_ATTR_FLOAT_HAS(attention_attrs, scale, 0), OX_ATTR_FLOAT(attention_attrs, softcap, 0)
static const ox_attr_def attrs[] = {ATTRS};
/* nan_to_zero: weights that are NaN count as zeros, as behind Where(IsNaN(w), 0, w) */
static const ox_attr_def own_attrs[] = {ATTRS, OX_ATTR_INT_IN(attention_attrs, nan_to_zero, 0, 0, 1)};

enum { Q, K, V, MASK, PAST_K, PAST_V, NONPAD, WINDOW_MASK };
enum { Y, PRESENT_K, PRESENT_V, QK };

/* Sizes, -1 where not known. */
typedef struct sizes {
  int64_t batch, heads, kv_heads, q_len, kv_len, past, total, d, dv;
  bool flat; /* 3-D inputs */
} sizes;

static ox_status *split_heads(int64_t hidden, int64_t heads, const char *what, int64_t *out) {
  if (heads <= 0) return ox_fail(OX_INVALID_MODEL, "3-D %s needs q_num_heads and kv_num_heads", what);
  if (hidden >= 0 && hidden % heads)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: hidden size %lld does not divide by %lld heads", what, (long long)hidden,
                   (long long)heads);
  *out = hidden < 0 ? -1 : hidden / heads;
  return NULL;
}

static bool differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

static ox_status *check_sizes(const sizes *s, const ox_shape *k, const ox_shape *v) {
  char kt[OX_SHAPE_TEXT], vt[OX_SHAPE_TEXT];
  int len = s->flat ? 1 : 2;
  if (differ(s->batch, k->dim[0]) || differ(s->batch, v->dim[0]) || differ(k->dim[len], v->dim[len]) ||
      (!s->flat && (differ(k->dim[1], v->dim[1]) || differ(s->d, k->dim[3]))))
    return ox_fail(OX_SHAPE_MISMATCH, "K %s and V %s do not fit Q (batch %lld, head size %lld)", ox_shape_text(k, kt),
                   ox_shape_text(v, vt), (long long)s->batch, (long long)s->d);
  if (s->kv_heads == 0 || (s->heads >= 0 && s->kv_heads > 0 && s->heads % s->kv_heads))
    return ox_fail(OX_SHAPE_MISMATCH, "%lld query heads do not divide by %lld key heads", (long long)s->heads,
                   (long long)s->kv_heads);
  return NULL;
}

/* |shape[i]| of input i; NULL: omitted. */
static ox_status *read_sizes(const attention_attrs *a, const ox_shape *const *shape, sizes *s) {
  const ox_shape *q = shape[Q], *k = shape[K], *v = shape[V];
  *s = (sizes){-1, -1, -1, -1, -1, 0, -1, -1, -1, false};
  if (q->rank < 0 || k->rank < 0 || v->rank < 0) return s->past = -1, NULL;
  if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank)
    return ox_fail(OX_SHAPE_MISMATCH, "Q, K and V must all be 3-D or all 4-D, got ranks %d, %d, %d", (int)q->rank,
                   (int)k->rank, (int)v->rank);
  s->flat = q->rank == 3;
  s->batch = q->dim[0];
  if (s->flat) {
    int64_t kd;
    s->heads = a->q_num_heads, s->kv_heads = a->kv_num_heads, s->q_len = q->dim[1], s->kv_len = k->dim[1];
    OX_TRY(split_heads(q->dim[2], s->heads, "Q", &s->d));
    OX_TRY(split_heads(k->dim[2], s->kv_heads, "K", &kd));
    OX_TRY(split_heads(v->dim[2], s->kv_heads, "V", &s->dv));
    if (differ(s->d, kd))
      return ox_fail(OX_SHAPE_MISMATCH, "head sizes of Q and K differ: %lld, %lld", (long long)s->d, (long long)kd);
  } else {
    s->heads = q->dim[1], s->kv_heads = k->dim[1], s->q_len = q->dim[2], s->kv_len = k->dim[2];
    s->d = q->dim[3], s->dv = v->dim[3];
  }
  OX_TRY(check_sizes(s, k, v));
  if (shape[PAST_K]) s->past = shape[PAST_K]->rank == 4 ? shape[PAST_K]->dim[2] : -1;
  s->total = ox_dim_add(s->past, s->kv_len);
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *shape[7] = {NULL};
  sizes s;
  for (uint32_t i = 0; i < 7; i++) shape[i] = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(read_sizes(c->attrs, shape, &s));
  if (!shape[PAST_K] != !shape[PAST_V])
    return ox_fail(OX_INVALID_MODEL, "past_key and past_value come together or not at all");
  ox_shape y = s.flat ? ox_shape_of(3, (int64_t[]){s.batch, s.q_len, ox_dim_mul(s.heads, s.dv)})
                      : ox_shape_of(4, (int64_t[]){s.batch, s.heads, s.q_len, s.dv});
  ox_shape pk = ox_shape_of(4, (int64_t[]){s.batch, s.kv_heads, s.total, s.d});
  ox_shape pv = ox_shape_of(4, (int64_t[]){s.batch, s.kv_heads, s.total, s.dv});
  ox_shape qk = ox_shape_of(4, (int64_t[]){s.batch, s.heads, s.q_len, s.total});
  bool known = shape[Q]->rank >= 0 && shape[K]->rank >= 0 && shape[V]->rank >= 0;
  ox_infer_out(c, Y, c->in[Q]->dtype, known ? &y : NULL);
  ox_infer_out(c, PRESENT_K, c->in[K]->dtype, &pk);
  ox_infer_out(c, PRESENT_V, c->in[V]->dtype, &pv);
  ox_infer_out(c, QK, c->in[Q]->dtype, &qk);
  return NULL;
}

/* Values that are converted as a whole must lie in a row. */
static ox_status *load(ox_load_ctx *c) {
  bool past = c->n_in > PAST_V && c->in_type[PAST_K] && c->in_type[PAST_V];
  c->past_in = past && c->in_type[Q]->dtype == c->in_type[V]->dtype ? PAST_K : 0;
  return NULL;
}

/* ---- prepare ---- */

/* V and the mask have types of their own. One that the product over Q's type cannot read is converted as a whole. */
typedef struct converted {
  bool on;
  int64_t n;
  size_t at; /* in shared memory */
} converted;

typedef struct attention_prep {
  sizes s;
  ox_attn a;
  attn_append key, value;
  bool appends, copies_k, copies_v; /* stage 0: with a past; into the present outputs */
  bool late;                  /* the head that a tile of the product reads is joined by that tile, not by stage 0 */
  size_t k_at, v_at, lens_at; /* in shared memory */
  converted v, mask;          /* stage 1 */
} attention_prep;

static ox_status *check_past(const ox_kernel_ctx *c, const sizes *s) {
  const ox_shape want_k = ox_shape_of(4, (int64_t[]){s->batch, s->kv_heads, s->past, s->d});
  const ox_shape want_v = ox_shape_of(4, (int64_t[]){s->batch, s->kv_heads, s->past, s->dv});
  char got[OX_SHAPE_TEXT], want[OX_SHAPE_TEXT];
  for (int i = 0; i < 2; i++) {
    const ox_tensor *t = c->in[PAST_K + i], *fresh = c->in[K + i];
    const ox_shape *w = i ? &want_v : &want_k;
    if (!ox_shape_equal(&t->shape, w) || t->dtype != fresh->dtype)
      return ox_fail(OX_SHAPE_MISMATCH, "%s: wanted %s %s, got %s %s", i ? "past_value" : "past_key",
                     ox_dtype_name(fresh->dtype), ox_shape_text(w, want), ox_dtype_name(t->dtype),
                     ox_shape_text(&t->shape, got));
  }
  return NULL;
}

static ox_as_real work_type(const ox_kernel_ctx *c) { return c->in[Q]->dtype == OX_F64 ? OX_AS_DOUBLE : OX_AS_FLOAT; }

/* Integer masks are added to the scores, too. */
static void find_converted(const ox_kernel_ctx *c, attention_prep *p) {
  bool wide = c->in[Q]->dtype == OX_F64;
  p->v = (converted){.on = wide != (c->in[V]->dtype == OX_F64), .n = ox_shape_count(&c->in[V]->shape)};
  if (p->appends) p->v.n = p->s.batch * p->s.kv_heads * p->s.total * p->s.dv;
  if (!ox_ctx_has(c, MASK)) return;
  uint32_t mask = OX_BIT(c->in[MASK]->dtype), read = wide ? OX_BIT(OX_F64) : OX_T_FLOAT & ~OX_BIT(OX_F64);
  p->mask = (converted){.on = !(mask & (read | OX_BIT(OX_BOOL))), .n = ox_shape_count(&c->in[MASK]->shape)};
}

/* Plans the shared memory that stage 0 writes: the cache if it is not an output, lengths per batch item. */
static ox_status *book_shared(ox_kernel_ctx *c, attention_prep *p) {
  const sizes *s = &p->s;
  size_t k = 0, v = 0, rows = (size_t)(s->batch * s->kv_heads) * (size_t)s->total;
  if (p->appends && !p->copies_k) k = rows * (size_t)s->d * ox_attn_item(c->in[K]->dtype);
  if (p->appends && !p->copies_v) v = rows * (size_t)s->dv * ox_attn_item(c->in[V]->dtype);
  p->k_at = 0, p->v_at = OX_ROUND_UP(k, OX_ALIGN_BYTES);
  p->lens_at = p->v_at + OX_ROUND_UP(v, OX_ALIGN_BYTES);
  c->shared_bytes = p->lens_at + 2 * (size_t)s->batch * sizeof(int32_t) + OX_PAD_BYTES;
  c->shared_bytes = OX_ROUND_UP(c->shared_bytes, OX_ALIGN_BYTES);
  if (p->v.on) OX_TRY(ox_as_real_room(c, work_type(c), p->v.n, &p->v.at));
  if (p->mask.on) OX_TRY(ox_as_real_room(c, work_type(c), p->mask.n, &p->mask.at));
  return NULL;
}

static ox_attn_mat layout(const sizes *s, const ox_tensor *t, int64_t heads, int64_t rows, int64_t width) {
  return s->flat ? ox_attn_bsnh(t, heads, rows, width) : ox_attn_bnsh(t, heads, rows, width);
}

/* [windows, heads, rows, keys]: batch item b belongs to window b % windows. */
static ox_status *fill_window_mask(const ox_kernel_ctx *c, const sizes *s, ox_attn_bias *out) {
  const ox_tensor *t = c->in[WINDOW_MASK];
  const int64_t windows = t->shape.rank == 4 ? t->shape.dim[0] : 0;
  if (windows < 1 || s->batch % windows || t->shape.dim[3] != s->total)
    return ox_fail(OX_SHAPE_MISMATCH, "Attention: the mask of windows does not fit a batch of %lld and %lld keys",
                   (long long)s->batch, (long long)s->total);
  OX_TRY(ox_attn_bias_of(t, "the mask of windows", windows, s->heads, s->q_len, s->total, out));
  out->period = windows;
  return NULL;
}

static ox_status *fill_attn(const ox_kernel_ctx *c, attention_prep *p) {
  const attention_attrs *at = c->attrs;
  const sizes *s = &p->s;
  ox_attn *a = &p->a;
  *a = (ox_attn){.batch = s->batch,
                 .heads = s->heads,
                 .kv_heads = s->kv_heads,
                 .q_len = s->q_len,
                 .kv_len = s->total,
                 .d = s->d,
                 .dv = s->dv,
                 .softcap = at->softcap,
                 .left = at->left_window_size,
                 .right = at->is_causal ? 0 : at->right_window_size,
                 .offset = s->past,
                 .scale = at->has_scale ? (double)at->scale : 1 / sqrt((double)OX_MAX(s->d, 1)),
                 .qk_forbidden = -INFINITY,
                 .nan_to_zero = at->nan_to_zero != 0,
                 .qk_mode = ox_ctx_wants(c, QK) ? (ox_attn_qk)at->qk_matmul_output_mode : OX_ATTN_QK_NONE};
  a->q = layout(s, c->in[Q], s->heads, s->q_len, s->d);
  a->out = layout(s, c->out[Y], s->heads, s->q_len, s->dv);
  a->k = layout(s, c->in[K], s->kv_heads, s->kv_len, s->d);
  a->v = layout(s, c->in[V], s->kv_heads, s->kv_len, s->dv);
  p->key = (attn_append){.fresh = a->k, .n_past = s->past, .n_fresh = s->kv_len, .width = s->d};
  p->value = (attn_append){.fresh = a->v, .n_past = s->past, .n_fresh = s->kv_len, .width = s->dv};
  ox_tensor none = {.dtype = c->in[K]->dtype};
  p->key.past = ox_attn_bnsh(&none, s->kv_heads, s->past, s->d);
  p->key.to = ox_attn_bnsh(&none, s->kv_heads, s->total, s->d);
  none.dtype = c->in[V]->dtype;
  p->value.past = ox_attn_bnsh(&none, s->kv_heads, s->past, s->dv);
  p->value.to = ox_attn_bnsh(&none, s->kv_heads, s->total, s->dv);
  if (p->appends) a->k = p->key.to, a->v = p->value.to;
  if (ox_ctx_has(c, MASK)) {
    ox_attn_bias *mask = &a->bias[0];
    OX_TRY(ox_attn_bias_of(c->in[MASK], "attn_mask", s->batch, s->heads, s->q_len, s->total, mask));
    /* Before version 24 a mask of one key broadcasts; from then on keys beyond the mask's width are masked out. */
    if (c->op_version < 24 && mask->n == 1) mask->key = 0, mask->n = s->total;
  }
  if (ox_ctx_has(c, WINDOW_MASK)) OX_TRY(fill_window_mask(c, s, &a->bias[1]));
  uint32_t work = work_type(c) == OX_AS_DOUBLE ? OX_F64 : OX_F32;
  if (p->v.on) a->v.dtype = work;
  if (p->mask.on) a->bias[0].dtype = work;
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *shape[7] = {NULL};
  attention_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  for (uint32_t i = 0; i < 7; i++) shape[i] = ox_ctx_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(read_sizes(c->attrs, shape, &p->s));
  if (c->in[Q]->dtype != c->in[K]->dtype)
    return ox_fail(OX_INVALID_MODEL, "Attention: Q is %s, K is %s", ox_dtype_name(c->in[Q]->dtype),
                   ox_dtype_name(c->in[K]->dtype));
  p->appends = shape[PAST_K] != NULL;
  p->copies_k = ox_ctx_wants(c, PRESENT_K), p->copies_v = ox_ctx_wants(c, PRESENT_V);
  if (p->appends) OX_TRY(check_past(c, &p->s));
  if (shape[NONPAD] && (shape[NONPAD]->rank != 1 || shape[NONPAD]->dim[0] != p->s.batch))
    return ox_fail(OX_SHAPE_MISMATCH, "nonpad_kv_seqlen must have one item per batch item");
  find_converted(c, p);
  OX_TRY(fill_attn(c, p));
  OX_TRY(book_shared(c, p));
  bool joins = p->appends || p->copies_k || p->copies_v;
  p->late = joins && !p->v.on && ox_attn_tile_is_head(c, &p->a);
  c->n_tiles[0] = joins && !p->late ? p->s.batch * p->s.kv_heads : shape[NONPAD] ? 1 : 0;
  c->n_tiles[1] = (p->v.on ? OX_CEIL_DIV(p->v.n, OX_AS_REAL_BLOCK) : 0) +
                  (p->mask.on ? OX_CEIL_DIV(p->mask.n, OX_AS_REAL_BLOCK) : 0);
  ox_attn_book(c, c->n_tiles[1] ? 2 : 1, &p->a);
  return NULL;
}

/* ---- run ---- */
static void read_lens(const ox_kernel_ctx *c, const attention_prep *p) {
  int32_t *lens = (int32_t *)((char *)c->shared + p->lens_at);
  for (int64_t b = 0; b < p->s.batch; b++) {
    int64_t n = ((const int64_t *)c->in[NONPAD]->data)[b];
    lens[b] = (int32_t)OX_MIN(OX_MAX(n, 0), OX_MIN(p->s.total, INT32_MAX));
    lens[p->s.batch + b] = (int32_t)(lens[b] - p->s.q_len);
  }
}

/* Keys and values of the past and the new ones of heads |tiles|, into the present ones. */
static void join_heads(const ox_kernel_ctx *c, const attention_prep *p, ox_range tiles) {
  attn_append k = p->key, v = p->value;
  k.fresh.p = c->in[K]->data, v.fresh.p = c->in[V]->data;
  if (p->appends) k.past.p = c->in[PAST_K]->data, v.past.p = c->in[PAST_V]->data;
  k.to.p = p->copies_k ? c->out[PRESENT_K]->data : (char *)c->shared + p->k_at;
  v.to.p = p->copies_v ? c->out[PRESENT_V]->data : (char *)c->shared + p->v_at;
  if (c->cache_rows) {
    ox_attn_spread(&k.past, p->s.kv_heads, c->cache_rows), ox_attn_spread(&v.past, p->s.kv_heads, c->cache_rows);
    ox_attn_spread(&k.to, p->s.kv_heads, c->cache_rows), ox_attn_spread(&v.to, p->s.kv_heads, c->cache_rows);
  }
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t b = t / p->s.kv_heads, h = t % p->s.kv_heads;
    if (p->appends || p->copies_k) ox_attn_append(&k, b, h);
    if (p->appends || p->copies_v) ox_attn_append(&v, b, h);
  }
}

/* All of V that the product reads: the past, too. */
static void *whole_v(const ox_kernel_ctx *c, const attention_prep *p) {
  if (!p->appends) return c->in[V]->data;
  return p->copies_v ? c->out[PRESENT_V]->data : (char *)c->shared + p->v_at;
}

static void run_converted(const ox_kernel_ctx *c, const attention_prep *p, ox_range tiles) {
  int64_t first = p->v.on ? OX_CEIL_DIV(p->v.n, OX_AS_REAL_BLOCK) : 0;
  ox_tensor v = *c->in[V];
  v.data = whole_v(c, p);
  for (int64_t t = tiles.begin; t < tiles.end; t++)
    if (t < first)
      ox_as_real_block(c, work_type(c), &v, p->v.n, t, p->v.at);
    else
      ox_as_real_block(c, work_type(c), c->in[MASK], p->mask.n, t - first, p->mask.at);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const attention_prep *p = c->prep;
  if (stage == 0) {
    if (tiles.begin == 0 && ox_ctx_has(c, NONPAD)) read_lens(c, p);
    if (!p->late) join_heads(c, p, tiles);
    return NULL;
  }
  if (stage + 1 < c->n_stages) {
    run_converted(c, p, tiles);
    return NULL;
  }
  ox_attn a = p->a;
  a.q.p = c->in[Q]->data, a.out.p = c->out[Y]->data;
  a.k.p = !p->appends ? c->in[K]->data : p->copies_k ? c->out[PRESENT_K]->data : (char *)c->shared + p->k_at;
  a.v.p = p->v.on ? ox_as_real_at(c, p->v.at) : whole_v(c, p);
  if (c->cache_rows)
    ox_attn_spread(&a.k, p->s.kv_heads, c->cache_rows), ox_attn_spread(&a.v, p->s.kv_heads, c->cache_rows);
  if (ox_ctx_has(c, WINDOW_MASK)) a.bias[1].p = c->in[WINDOW_MASK]->data;
  if (ox_ctx_has(c, MASK)) a.bias[0].p = p->mask.on ? ox_as_real_at(c, p->mask.at) : c->in[MASK]->data;
  if (ox_ctx_has(c, NONPAD)) {
    a.kv_lens = (const int32_t *)((char *)c->shared + p->lens_at);
    if (!p->appends) a.offsets = a.kv_lens + p->s.batch;
  }
  if (ox_ctx_wants(c, QK)) a.qk = c->out[QK]->data;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    if (p->late) join_heads(c, p, (ox_range){t, t + 1});
    ox_attn_run_tiles(c, &a, (ox_range){t, t + 1}, scratch);
  }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) { return ox_attn_flops(&((const attention_prep *)c->prep)->a); }

#define ATTENTION                                                                  \
  .name = "Attention", .min_in = 3, .min_out = 1, .max_out = 4,                    \
  .types = {OX_T_FLOAT, OX_T_FLOAT, OX_T_FLOAT,     OX_T_NUMBER | OX_BIT(OX_BOOL), \
            OX_T_FLOAT, OX_T_FLOAT, OX_BIT(OX_I64), OX_BIT(OX_F32)},               \
  .vars = "TTU.TU", .attrs_bytes = sizeof(attention_attrs), .infer = infer
#define ATTENTION_KERNEL .load = load, .prepare = prepare, .run = run, .flops = flops

static const ox_op ops[] = {
    {OX_SCHEMA(ATTENTION, .since = 23, .max_in = 7, OX_ATTRS(attrs)), OX_KERNEL(ATTENTION_KERNEL)},
    /* made by the optimizer in models of any operator set */
    {OX_SCHEMA(ATTENTION, .domain = "ai.onyx", .since = 1, .max_in = 8, OX_ATTRS(own_attrs)),
     OX_KERNEL(ATTENTION_KERNEL)},
};
const ox_op_set ox_ops_attention_onnx = {ops, OX_COUNT(ops)};
