/* SPDX-License-Identifier: Apache-2.0
 * ops/multi_head_attention.c - com.microsoft.MultiHeadAttention: projected q, k and v, separate or packed; and
 * DecoderMaskedMultiHeadAttention, which has the same inputs in another order. */
#include "ops/attention/attn_multi.h"

typedef struct mha_attrs {
  int64_t num_heads, unidirectional;
  float scale, mask_filter_value;
} mha_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_REQUIRED(mha_attrs, num_heads),
    OX_ATTR_INT(mha_attrs, unidirectional, 0),
    OX_ATTR_FLOAT(mha_attrs, scale, 0),
    OX_ATTR_FLOAT(mha_attrs, mask_filter_value, -10000.0f),
};

enum { Q, K, V, BIAS, MASK, ADD, PAST_K, PAST_V, PAST_LEN, INDIRECTION, N_IN };
enum { OUT, PRESENT_K, PRESENT_V, QK };

/* Sizes, -1 where not known, and how the inputs lie. */
typedef struct sizes {
  int64_t batch, heads, q_len, kv_len, past, d, dv;
  bool packed_qkv, packed_kv, headed; /* headed: k and v are [batch, heads, length, size] */
} sizes;

static int64_t divide(int64_t hidden, int64_t heads) { return hidden < 0 ? -1 : hidden / heads; }
static bool differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

static ox_status *bad_shape(const char *what, const ox_shape *s) {
  char text[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "MultiHeadAttention: %s %s does not fit", what, ox_shape_text(s, text));
}

static ox_status *read_kv(const ox_shape *const *shape, sizes *s) {
  const ox_shape *k = shape[K], *v = shape[V];
  if (!k) return ox_fail(OX_INVALID_MODEL, "MultiHeadAttention: query is not packed and key is missing");
  if (k->rank < 0) return s->kv_len = s->dv = -1, NULL;
  if (differ(s->batch, k->dim[0])) return bad_shape("key", k);
  if (k->rank == 5 && !v) {
    if (differ(k->dim[2], s->heads) || differ(k->dim[3], 2) || differ(k->dim[4], s->d))
      return bad_shape("packed key", k);
    s->packed_kv = true, s->kv_len = k->dim[1], s->dv = s->d;
    return NULL;
  }
  if (!v) return ox_fail(OX_INVALID_MODEL, "MultiHeadAttention: value is missing");
  if (v->rank >= 0 && v->rank != k->rank) return bad_shape("value", v);
  s->headed = k->rank == 4;
  if (k->rank != 3 && k->rank != 4) return bad_shape("key", k);
  s->kv_len = k->dim[s->headed ? 2 : 1];
  if (s->headed ? differ(k->dim[1], s->heads) || differ(k->dim[3], s->d) : differ(divide(k->dim[2], s->heads), s->d))
    return bad_shape("key", k);
  s->dv = v->rank < 0 ? -1 : s->headed ? v->dim[3] : divide(v->dim[2], s->heads);
  if (v->rank >= 0 && (differ(v->dim[0], s->batch) || differ(v->dim[s->headed ? 2 : 1], s->kv_len) ||
                       (s->headed ? differ(v->dim[1], s->heads) : v->dim[2] >= 0 && v->dim[2] % s->heads)))
    return bad_shape("value", v);
  return NULL;
}

static ox_status *read_sizes(const mha_attrs *a, const ox_shape *const *shape, sizes *s) {
  const ox_shape *q = shape[Q];
  *s = (sizes){-1, a->num_heads, -1, -1, 0, -1, -1, false, false, false};
  if (a->num_heads <= 0) return ox_fail(OX_INVALID_MODEL, "num_heads is %lld", (long long)a->num_heads);
  if (shape[PAST_K]) s->past = shape[PAST_K]->rank == 4 ? shape[PAST_K]->dim[2] : -1;
  if (!shape[PAST_K] != !shape[PAST_V])
    return ox_fail(OX_INVALID_MODEL, "past_key and past_value come together or not at all");
  if (q->rank < 0) return NULL;
  if (q->rank != 3 && q->rank != 5) return bad_shape("query", q);
  s->batch = q->dim[0], s->q_len = q->dim[1];
  if (q->rank == 5) {
    if (differ(q->dim[2], s->heads) || differ(q->dim[3], 3) || shape[K] || shape[V])
      return bad_shape("packed query", q);
    s->packed_qkv = true, s->kv_len = s->q_len, s->d = s->dv = q->dim[4];
    return NULL;
  }
  if (q->dim[2] >= 0 && q->dim[2] % s->heads) return bad_shape("query", q);
  s->d = divide(q->dim[2], s->heads);
  return read_kv(shape, s);
}

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *shape[N_IN];
  sizes s;
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(read_sizes(c->attrs, shape, &s));
  if (shape[PAST_LEN] || shape[INDIRECTION])
    return ox_fail(OX_NOT_IMPLEMENTED, "MultiHeadAttention with a shared cache buffer or beam indirection");
  int64_t total = ox_dim_add(s.past, s.kv_len);
  ox_shape out = ox_shape_of(3, (int64_t[]){s.batch, s.q_len, ox_dim_mul(s.heads, s.dv)});
  ox_shape pk = ox_shape_of(4, (int64_t[]){s.batch, s.heads, total, s.d});
  ox_shape pv = ox_shape_of(4, (int64_t[]){s.batch, s.heads, total, s.dv});
  ox_shape qk = ox_shape_of(4, (int64_t[]){s.batch, s.heads, s.q_len, total});
  ox_infer_out(c, OUT, c->in[Q]->dtype, &out);
  ox_infer_out(c, PRESENT_K, c->in[Q]->dtype, &pk);
  ox_infer_out(c, PRESENT_V, c->in[Q]->dtype, &pv);
  ox_infer_out(c, QK, c->in[Q]->dtype, &qk);
  return NULL;
}

/* ---- prepare ---- */
typedef struct mha_prep {
  sizes s;
  attn_multi m;
} mha_prep;

/* Matrices of heads that lie |stride| elements apart within rows of |row| elements. */
static ox_attn_mat within(uint32_t dtype, int64_t len, int64_t row, int64_t stride) {
  return (ox_attn_mat){NULL, dtype, len * row, stride, row};
}

static void lay_out(const ox_kernel_ctx *c, const sizes *s, attn_multi *m) {
  uint32_t t = c->in[Q]->dtype;
  ox_tensor none = {.dtype = t};
  m->q = m->k = within(t, s->q_len, s->heads * s->d, s->d);
  if (s->packed_qkv) {
    m->q = m->k = m->v = within(t, s->q_len, s->heads * 3 * s->d, 3 * s->d);
  } else if (s->packed_kv) {
    m->k = m->v = within(t, s->kv_len, s->heads * 2 * s->d, 2 * s->d);
  } else if (s->headed) {
    m->k = ox_attn_bnsh(&none, s->heads, s->kv_len, s->d), m->v = ox_attn_bnsh(&none, s->heads, s->kv_len, s->dv);
  } else {
    m->k = ox_attn_bsnh(&none, s->heads, s->kv_len, s->d), m->v = ox_attn_bsnh(&none, s->heads, s->kv_len, s->dv);
  }
  m->past_k = ox_attn_bnsh(&none, s->heads, s->past, s->d), m->past_v = ox_attn_bnsh(&none, s->heads, s->past, s->dv);
  m->out = ox_attn_bsnh(&none, s->heads, s->q_len, s->dv);
}

static ox_status *check_inputs(const ox_kernel_ctx *c, const sizes *s) {
  const ox_shape want_k = ox_shape_of(4, (int64_t[]){s->batch, s->heads, s->past, s->d});
  const ox_shape want_v = ox_shape_of(4, (int64_t[]){s->batch, s->heads, s->past, s->dv});
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i] && i != MASK && i != PAST_LEN && i != INDIRECTION && c->in[i]->dtype != c->in[Q]->dtype)
      return ox_fail(OX_SHAPE_MISMATCH, "MultiHeadAttention: input %u is %s, the query %s", (unsigned)i,
                     ox_dtype_name(c->in[i]->dtype), ox_dtype_name(c->in[Q]->dtype));
  if (ox_ctx_has(c, PAST_K) && !ox_shape_equal(&c->in[PAST_K]->shape, &want_k))
    return bad_shape("past_key", &c->in[PAST_K]->shape);
  if (ox_ctx_has(c, PAST_V) && !ox_shape_equal(&c->in[PAST_V]->shape, &want_v))
    return bad_shape("past_value", &c->in[PAST_V]->shape);
  if (ox_ctx_has(c, BIAS) && ox_shape_count(&c->in[BIAS]->shape) != s->heads * (2 * s->d + s->dv))
    return bad_shape("bias", &c->in[BIAS]->shape);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const mha_attrs *a = c->attrs;
  const ox_shape *shape[N_IN];
  mha_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_ctx_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(read_sizes(a, shape, &p->s));
  OX_TRY(check_inputs(c, &p->s));
  const sizes *s = &p->s;
  p->m = (attn_multi){.batch = s->batch,
                      .heads = s->heads,
                      .q_len = s->q_len,
                      .kv_len = s->kv_len,
                      .past = s->past,
                      .d = s->d,
                      .dv = s->dv,
                      .dtype = c->in[Q]->dtype,
                      .scale = a->scale,
                      .filter = a->mask_filter_value,
                      .causal = a->unidirectional != 0 && s->q_len > 1,
                      .qk_mode = ox_ctx_wants(c, QK) ? OX_ATTN_QK_BIASED : OX_ATTN_QK_NONE};
  lay_out(c, s, &p->m);
  p->m.q_bias = ox_ctx_has(c, BIAS), p->m.kv_bias = p->m.q_bias && !s->headed;
  p->m.wants_k = ox_ctx_wants(c, PRESENT_K), p->m.wants_v = ox_ctx_wants(c, PRESENT_V);
  p->m.mask = ox_ctx_has(c, MASK) ? c->in[MASK] : NULL;
  p->m.add = ox_ctx_has(c, ADD) ? c->in[ADD] : NULL;
  return attn_multi_plan(c, &p->m, 0, 0);
}

static const void *data_of(const ox_kernel_ctx *c, uint32_t i) { return ox_ctx_has(c, i) ? c->in[i]->data : NULL; }
static void *out_of(const ox_kernel_ctx *c, uint32_t i) { return ox_ctx_wants(c, i) ? c->out[i]->data : NULL; }

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const mha_prep *p = c->prep;
  size_t head = (size_t)p->s.d * ox_attn_item(p->m.dtype);
  attn_multi_io io = {.q = c->in[Q]->data,
                      .k = data_of(c, K),
                      .v = data_of(c, V),
                      .past_k = data_of(c, PAST_K),
                      .past_v = data_of(c, PAST_V),
                      .bias = data_of(c, BIAS),
                      .add = data_of(c, ADD),
                      .mask = data_of(c, MASK),
                      .out = out_of(c, OUT),
                      .present_k = out_of(c, PRESENT_K),
                      .present_v = out_of(c, PRESENT_V),
                      .qk = out_of(c, QK)};
  if (p->s.packed_qkv) io.k = (const char *)io.q + head, io.v = (const char *)io.q + 2 * head;
  if (p->s.packed_kv) io.v = (const char *)io.k + head;
  attn_multi_run(c, &p->m, &io, stage, tiles, scratch);
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const ox_attn *a = &((const mha_prep *)c->prep)->m.a;
  return 2.0 * (double)(a->batch * a->heads) * (double)a->q_len * (double)a->kv_len * (double)(a->d + a->dv);
}

/* ---- DecoderMaskedMultiHeadAttention ---- */
/* Where the inputs of MultiHeadAttention are. */
static const uint8_t decoder_order[N_IN] = {0, 1, 2, 10, 3, 4, 5, 6, 7, 9};
enum { N_DECODER = 11 };

static ox_status *infer_decoder(ox_infer_ctx *c) {
  const ox_type *in[N_IN];
  ox_infer_ctx sub = *c;
  for (uint32_t i = 0; i < N_IN; i++) in[i] = ox_infer_has(c, decoder_order[i]) ? c->in[decoder_order[i]] : NULL;
  sub.in = in, sub.n_in = N_IN;
  return infer(&sub);
}

static ox_kernel_ctx reorder(const ox_kernel_ctx *c, const ox_tensor **in) {
  ox_kernel_ctx sub = *c;
  for (uint32_t i = 0; i < N_IN; i++) in[i] = ox_ctx_has(c, decoder_order[i]) ? c->in[decoder_order[i]] : NULL;
  sub.in = in, sub.n_in = N_IN;
  return sub;
}

static ox_status *prepare_decoder(ox_kernel_ctx *c) {
  const ox_tensor *in[N_IN];
  ox_kernel_ctx sub = reorder(c, in);
  ox_status *st = prepare(&sub);
  sub.in = c->in, sub.n_in = c->n_in;
  *c = sub;
  return st;
}

static ox_status *run_decoder(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const ox_tensor *in[N_IN];
  ox_kernel_ctx sub = reorder(c, in);
  return run(&sub, stage, tiles, scratch);
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define I32 OX_BIT(OX_I32)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MultiHeadAttention", .domain = "com.microsoft", .since = 1, .min_in = 1, .max_in = N_IN,
               .min_out = 1, .max_out = 4, .types = {HALVES, HALVES, HALVES, HALVES, I32, HALVES, HALVES, HALVES},
               .vars = "TTTT.TTT", .more_types = (const uint32_t[]){I32, I32}, OX_ATTRS(attrs),
               .attrs_bytes = sizeof(mha_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run, .flops = flops)},
    {OX_SCHEMA(.name = "DecoderMaskedMultiHeadAttention", .domain = "com.microsoft", .since = 1, .min_in = 1,
               .max_in = N_DECODER, .min_out = 1, .max_out = 4,
               .types = {HALVES, HALVES, HALVES, I32, HALVES, HALVES, HALVES, I32}, .vars = "TTT.TTT...T",
               .more_types = (const uint32_t[]){I32, I32, HALVES}, OX_ATTRS(attrs), .attrs_bytes = sizeof(mha_attrs),
               .infer = infer_decoder),
     OX_KERNEL(.prepare = prepare_decoder, .run = run_decoder, .flops = flops)},
};
const ox_op_set ox_ops_multi_head_attention = {ops, OX_COUNT(ops)};
