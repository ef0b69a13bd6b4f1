/* SPDX-License-Identifier: Apache-2.0
 * ops/multi_head_attention.c - com.microsoft.MultiHeadAttention: projected q, k and v, separate or packed; and
 * DecoderMaskedMultiHeadAttention, which has the same inputs in another order. */
#include "ops/attention/attn_multi.h"
#include "ops/move/number.h"

typedef struct mha_attrs {
  int64_t num_heads, unidirectional;
  int64_t past_present_share_buffer; /* the decoder's */
  float scale, mask_filter_value;
} mha_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_REQUIRED_IN(mha_attrs, num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT(mha_attrs, unidirectional, 0),
    OX_ATTR_FLOAT(mha_attrs, scale, 0),
    OX_ATTR_FLOAT(mha_attrs, mask_filter_value, -10000.0f),
};
static const ox_attr_def decoder_attrs[] = {
    OX_ATTR_INT_REQUIRED_IN(mha_attrs, num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT(mha_attrs, past_present_share_buffer, 0),
    OX_ATTR_FLOAT(mha_attrs, scale, 0),
    OX_ATTR_FLOAT(mha_attrs, mask_filter_value, -10000.0f),
};

enum { Q, K, V, BIAS, MASK, ADD, PAST_K, PAST_V, PAST_LEN, INDIRECTION, BEAM_WIDTH, N_IN };
enum { N_MULTI_HEAD = BEAM_WIDTH }; /* MultiHeadAttention has no such input */
enum { OUT, PRESENT_K, PRESENT_V, QK };

/* Sizes, -1 where not known, and the layout of the inputs. */
typedef struct sizes {
  int64_t batch, heads, q_len, kv_len, past, d, dv;
  int64_t rows;                       /* of the cache's buffers, if they are for more than the past; else 0 */
  bool packed_qkv, packed_kv, headed; /* headed: k and v are [batch, heads, length, size] */
  bool packed_row;                    /* a row is that of q, then k, then v */
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

/* With past_sequence_length, the buffers of past and present have room for more. |len|: NULL if not known yet. */
static ox_status *read_past(const ox_shape *past, const ox_shape *len_shape, const ox_tensor *len, sizes *s) {
  int64_t rows = past->rank == 4 ? past->dim[2] : -1;
  s->past = rows;
  if (!len_shape) return NULL;
  if (ox_shape_count(len_shape) >= 0 && ox_shape_count(len_shape) != 1)
    return bad_shape("past_sequence_length", len_shape);
  s->rows = rows, s->past = len ? ox_integer_at(len, 0) : -1;
  if (!len || (s->past >= 0 && (rows < 0 || s->past <= rows))) return NULL;
  return ox_fail(OX_INVALID_ARGUMENT, "past_sequence_length is %lld in a buffer of %lld", (long long)s->past,
                 (long long)rows);
}

/* |packed_rows|: a query without keys may be rows of all three. */
static ox_status *read_sizes(const mha_attrs *a, const ox_shape *const *shape, const ox_tensor *past_len,
                             bool packed_rows, sizes *s) {
  const ox_shape *q = shape[Q];
  *s = (sizes){.batch = -1, .heads = a->num_heads, .q_len = -1, .kv_len = -1, .d = -1, .dv = -1};
  if (shape[PAST_K]) OX_TRY(read_past(shape[PAST_K], shape[PAST_LEN], past_len, s));
  if (a->past_present_share_buffer && shape[PAST_K] && !shape[PAST_LEN])
    return ox_fail(OX_INVALID_MODEL, "past_present_share_buffer needs past_sequence_length");
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
  if (packed_rows && !shape[K]) {
    if (q->dim[2] >= 0 && q->dim[2] % (3 * s->heads)) return bad_shape("packed query", q);
    s->packed_row = true, s->kv_len = s->q_len, s->d = s->dv = divide(q->dim[2], 3 * s->heads);
    return NULL;
  }
  if (q->dim[2] >= 0 && q->dim[2] % s->heads) return bad_shape("query", q);
  s->d = divide(q->dim[2], s->heads);
  return read_kv(shape, s);
}

static ox_status *infer_as(ox_infer_ctx *c, bool packed_rows) {
  const ox_shape *shape[N_IN];
  sizes s;
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(read_sizes(c->attrs, shape, shape[PAST_LEN] ? c->in_data[PAST_LEN] : NULL, packed_rows, &s));
  int64_t total = ox_dim_add(s.past, s.kv_len), rows = s.rows ? s.rows : total;
  ox_shape out = ox_shape_of(3, (int64_t[]){s.batch, s.q_len, ox_dim_mul(s.heads, s.dv)});
  ox_shape pk = ox_shape_of(4, (int64_t[]){s.batch, s.heads, rows, s.d});
  ox_shape pv = ox_shape_of(4, (int64_t[]){s.batch, s.heads, rows, s.dv});
  ox_shape qk = ox_shape_of(4, (int64_t[]){s.batch, s.heads, s.q_len, total});
  ox_infer_out(c, OUT, c->in[Q]->dtype, &out);
  ox_infer_out(c, PRESENT_K, c->in[Q]->dtype, &pk);
  ox_infer_out(c, PRESENT_V, c->in[Q]->dtype, &pv);
  ox_infer_out(c, QK, c->in[Q]->dtype, &qk);
  return NULL;
}
static ox_status *infer(ox_infer_ctx *c) { return infer_as(c, false); }

/* With past_sequence_length the model keeps a buffer of its own; beams read each other's rows. */
static ox_status *load(ox_load_ctx *c) {
  bool has[N_IN] = {false};
  for (uint32_t i = 0; i < N_MULTI_HEAD && i < c->n_in; i++) has[i] = c->in_type[i] != NULL;
  c->past_in = has[PAST_K] && has[PAST_V] && !has[PAST_LEN] && !has[INDIRECTION] ? PAST_K : 0;
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
  } else if (s->packed_row) {
    m->q = m->k = m->v = within(t, s->q_len, s->heads * 3 * s->d, s->d);
  } else if (s->packed_kv) {
    m->k = m->v = within(t, s->kv_len, s->heads * 2 * s->d, 2 * s->d);
  } else if (s->headed) {
    m->k = ox_attn_bnsh(&none, s->heads, s->kv_len, s->d), m->v = ox_attn_bnsh(&none, s->heads, s->kv_len, s->dv);
  } else {
    m->k = ox_attn_bsnh(&none, s->heads, s->kv_len, s->d), m->v = ox_attn_bsnh(&none, s->heads, s->kv_len, s->dv);
  }
  int64_t rows = s->rows ? s->rows : s->past;
  m->past_k = ox_attn_bnsh(&none, s->heads, rows, s->d), m->past_v = ox_attn_bnsh(&none, s->heads, rows, s->dv);
  m->out = ox_attn_bsnh(&none, s->heads, s->q_len, s->dv);
}

static ox_status *check_inputs(const ox_kernel_ctx *c, const sizes *s) {
  int64_t rows = s->rows ? s->rows : s->past;
  const ox_shape want_k = ox_shape_of(4, (int64_t[]){s->batch, s->heads, rows, s->d});
  const ox_shape want_v = ox_shape_of(4, (int64_t[]){s->batch, s->heads, rows, s->dv});
  if (s->rows && s->past + s->kv_len > s->rows)
    return ox_fail(OX_INVALID_ARGUMENT, "%lld rows behind a past of %lld do not go into a buffer of %lld",
                   (long long)s->kv_len, (long long)s->past, (long long)s->rows);
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i] && i != MASK && i < PAST_LEN && c->in[i]->dtype != c->in[Q]->dtype)
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

/* Items of a batch are beams, |width| for each sequence. */
static ox_status *plan_beams(const ox_kernel_ctx *c, const sizes *s, attn_multi *m) {
  const ox_shape *b = ox_ctx_has(c, INDIRECTION) ? &c->in[INDIRECTION]->shape : NULL;
  int64_t width = ox_ctx_has(c, BEAM_WIDTH) ? ox_integer_at(c->in[BEAM_WIDTH], 0) : b && b->rank == 3 ? b->dim[1] : 1;
  if (width == 1) return NULL;
  if (!b || width < 1) return ox_fail(OX_INVALID_ARGUMENT, "%lld beams without cache_indirection", (long long)width);
  if (b->rank != 3 || b->dim[1] != width || s->batch % width || b->dim[0] != s->batch / width || b->dim[2] < s->past)
    return bad_shape("cache_indirection", b);
  if (!ox_ctx_has(c, PAST_K)) return NULL;
  m->beam = width, m->beam_len = b->dim[2];
  return NULL;
}

static ox_status *prepare_as(ox_kernel_ctx *c, bool packed_rows) {
  const mha_attrs *a = c->attrs;
  const ox_shape *shape[N_IN];
  mha_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  for (uint32_t i = 0; i < N_IN; i++) shape[i] = ox_ctx_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(read_sizes(a, shape, shape[PAST_LEN] ? c->in[PAST_LEN] : NULL, packed_rows, &p->s));
  OX_TRY(check_inputs(c, &p->s));
  const sizes *s = &p->s;
  p->m = (attn_multi){.batch = s->batch,
                      .heads = s->heads,
                      .q_len = s->q_len,
                      .kv_len = s->kv_len,
                      .past = s->past,
                      .rows = s->rows,
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
  OX_TRY(plan_beams(c, s, &p->m));
  p->m.mask = ox_ctx_has(c, MASK) ? c->in[MASK] : NULL;
  p->m.add = ox_ctx_has(c, ADD) ? c->in[ADD] : NULL;
  return attn_multi_plan(c, &p->m, 0, 0);
}
static ox_status *prepare(ox_kernel_ctx *c) { return prepare_as(c, false); }

static const void *data_of(const ox_kernel_ctx *c, uint32_t i) { return ox_ctx_has(c, i) ? c->in[i]->data : NULL; }
static void *out_of(const ox_kernel_ctx *c, uint32_t i) { return ox_ctx_wants(c, i) ? c->out[i]->data : NULL; }

static ox_status *check_beams(const attn_multi *m, const int32_t *beams, ox_range tiles) {
  for (int64_t b = tiles.begin / m->heads; b * m->heads < tiles.end; b++)
    for (int64_t t = 0; t < m->past; t++)
      if (beams[b * m->beam_len + t] < 0 || beams[b * m->beam_len + t] >= m->beam)
        return ox_fail(OX_INVALID_ARGUMENT, "cache_indirection has beam %d of %lld", (int)beams[b * m->beam_len + t],
                       (long long)m->beam);
  return NULL;
}

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
                      .beams = data_of(c, INDIRECTION),
                      .out = out_of(c, OUT),
                      .present_k = out_of(c, PRESENT_K),
                      .present_v = out_of(c, PRESENT_V),
                      .qk = out_of(c, QK)};
  if (p->s.packed_qkv) io.k = (const char *)io.q + head, io.v = (const char *)io.q + 2 * head;
  if (p->s.packed_kv) io.v = (const char *)io.k + head;
  if (p->s.packed_row) io.k = (const char *)io.q + p->s.heads * head, io.v = (const char *)io.k + p->s.heads * head;
  if (p->m.beam && stage == 0) OX_TRY(check_beams(&p->m, io.beams, tiles));
  attn_multi_run(c, &p->m, &io, stage, tiles, scratch);
  return NULL;
}

static double flops(const ox_kernel_ctx *c) { return ox_attn_flops(&((const mha_prep *)c->prep)->m.a); }

/* ---- DecoderMaskedMultiHeadAttention ---- */
/* Where the inputs of MultiHeadAttention are. */
static const uint8_t decoder_order[N_IN] = {0, 1, 2, 10, 3, 4, 5, 6, 7, 9, 8};
enum { N_DECODER = 11 };

static ox_status *infer_decoder(ox_infer_ctx *c) {
  const ox_type *in[N_IN];
  const ox_tensor *data[N_IN];
  ox_infer_ctx sub = *c;
  for (uint32_t i = 0; i < N_IN; i++) {
    in[i] = ox_infer_has(c, decoder_order[i]) ? c->in[decoder_order[i]] : NULL;
    data[i] = in[i] ? c->in_data[decoder_order[i]] : NULL;
  }
  sub.in = in, sub.in_data = data, sub.n_in = N_IN;
  return infer_as(&sub, true);
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
  ox_status *st = prepare_as(&sub, true);
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
    {OX_SCHEMA(.name = "MultiHeadAttention", .domain = "com.microsoft", .since = 1, .min_in = 1, .max_in = N_MULTI_HEAD,
               .min_out = 1, .max_out = 4, .types = {HALVES, HALVES, HALVES, HALVES, I32, HALVES, HALVES, HALVES},
               .value_in = 1u << PAST_LEN, .traits = OX_OUT0_SHAPED, .vars = "TTTT.TTT",
               .more_types = (const uint32_t[]){I32, I32}, OX_ATTRS(attrs), .attrs_bytes = sizeof(mha_attrs),
               .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops)},
    {OX_SCHEMA(.name = "DecoderMaskedMultiHeadAttention", .domain = "com.microsoft", .since = 1, .min_in = 1,
               .max_in = N_DECODER, .min_out = 1, .max_out = 4,
               .types = {HALVES, HALVES, HALVES, I32, HALVES, HALVES, HALVES, I32}, .vars = "TTT.TTT...T",
               .more_types = (const uint32_t[]){I32, I32, HALVES}, .value_in = 3u << 7, .traits = OX_OUT0_SHAPED,
               OX_ATTRS(decoder_attrs), .attrs_bytes = sizeof(mha_attrs), .infer = infer_decoder),
     OX_KERNEL(.prepare = prepare_decoder, .run = run_decoder, .flops = flops)},
};
const ox_op_set ox_ops_multi_head_attention = {ops, OX_COUNT(ops)};
