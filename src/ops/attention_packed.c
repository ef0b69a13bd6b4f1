/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_packed.c - com.microsoft.Attention and QAttention: one product (of floats, or of bytes) makes q, k and
 * v from the input, then multi-head attention with integer masks and a cache of keys and values in one tensor. */
#include "ops/attention/attn_multi.h"
#include "ops/matmul/product_plain.h"

typedef struct packed_attrs {
  int64_t num_heads, unidirectional, do_rotary, past_present_share_buffer;
  ox_ints qkv_hidden_sizes;
  float scale, mask_filter_value;
} packed_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_REQUIRED_IN(packed_attrs, num_heads, 1, OX_COUNT_MAX),
    OX_ATTR_INT(packed_attrs, unidirectional, 0),
    OX_ATTR_INT(packed_attrs, do_rotary, 0),
    OX_ATTR_INT(packed_attrs, past_present_share_buffer, 0),
    OX_ATTR_INTS_IN(packed_attrs, qkv_hidden_sizes, 0, OX_COUNT_MAX),
    OX_ATTR_FLOAT(packed_attrs, scale, 0),
    OX_ATTR_FLOAT(packed_attrs, mask_filter_value, -10000.0f),
};

enum { X, W, BIAS, N_IN = 9 };
enum { OUT, PRESENT };

/* Inputs whose indices differ between the two operators; PAST_LEN is out of range for QAttention. */
typedef struct slots {
  uint32_t mask, past, add, past_len, type; /* type: the input that has the result's element type */
  bool quantized;
} slots;
static const slots plain_slots = {3, 4, 5, 6, X, false}, quantized_slots = {5, 8, 99, 99, BIAS, true};
static const ox_product_i8_inputs quantized_in = {X, W, 6, 7, 3, 4, -1, -1, BIAS, -1};

/* Sizes, -1 where not known. */
typedef struct sizes {
  int64_t batch, heads, len, past, d, dv;
} sizes;

static ox_status *read_sizes(const packed_attrs *a, const ox_shape *x, const ox_shape *w, const ox_shape *past,
                             sizes *s) {
  int64_t hidden = -1, v_hidden = -1;
  char text[OX_SHAPE_TEXT];
  *s = (sizes){-1, a->num_heads, -1, 0, -1, -1};
  if (a->qkv_hidden_sizes.n && (a->qkv_hidden_sizes.n != 3 || a->qkv_hidden_sizes.v[0] != a->qkv_hidden_sizes.v[1]))
    return ox_fail(OX_INVALID_MODEL, "qkv_hidden_sizes must be three numbers, the first two equal");
  if (a->qkv_hidden_sizes.n)
    hidden = a->qkv_hidden_sizes.v[0], v_hidden = a->qkv_hidden_sizes.v[2];
  else if (w->rank == 2 && w->dim[1] >= 0)
    hidden = v_hidden = w->dim[1] / 3;
  if ((w->rank >= 0 && w->rank != 2) || (x->rank >= 0 && x->rank != 3) ||
      (w->rank == 2 && w->dim[1] >= 0 && w->dim[1] != 2 * hidden + v_hidden) ||
      (hidden >= 0 && (hidden % s->heads || v_hidden % s->heads)))
    return ox_fail(OX_SHAPE_MISMATCH, "Attention: weights %s do not fit %lld heads", ox_shape_text(w, text),
                   (long long)s->heads);
  if (x->rank == 3) s->batch = x->dim[0], s->len = x->dim[1];
  if (hidden >= 0) s->d = hidden / s->heads, s->dv = v_hidden / s->heads;
  if (past) s->past = past->rank == 5 ? past->dim[3] : -1;
  return NULL;
}

static ox_status *infer_with(ox_infer_ctx *c, const slots *in) {
  const packed_attrs *a = c->attrs;
  sizes s;
  const ox_shape *past = ox_infer_has(c, in->past) ? &c->in[in->past]->shape : NULL;
  OX_TRY(read_sizes(a, &c->in[X]->shape, &c->in[W]->shape, past, &s));
  if (a->do_rotary || a->past_present_share_buffer || ox_infer_has(c, in->past_len))
    return ox_fail(OX_NOT_IMPLEMENTED, "Attention with rotary embedding inside or a shared cache buffer");
  ox_shape out = ox_shape_of(3, (int64_t[]){s.batch, s.len, ox_dim_mul(s.heads, s.dv)});
  ox_shape present = ox_shape_of(5, (int64_t[]){2, s.batch, s.heads, ox_dim_add(s.past, s.len), s.d});
  ox_infer_out(c, OUT, c->in[in->type]->dtype, &out);
  ox_infer_out(c, PRESENT, c->in[in->type]->dtype, &present);
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) { return infer_with(c, &plain_slots); }
static ox_status *infer_quantized(ox_infer_ctx *c) { return infer_with(c, &quantized_slots); }

static ox_status *load(ox_load_ctx *c) {
  ox_product_b *b = NULL;
  OX_TRY(ox_product_const(c, c->in_const[W], false, &b));
  c->state = b;
  if (b) c->consumed |= 1u << W;
  return NULL;
}

static ox_status *load_quantized(ox_load_ctx *c) {
  ox_product_i8_b *b = NULL;
  if (c->in_type[BIAS]->dtype != OX_F32) return NULL; /* products of 16-bit floats read W in place */
  OX_TRY(ox_product_i8_pack(c, c->in_const[W], false, &b));
  c->state = b;
  if (b) c->consumed |= 1u << W;
  return NULL;
}

static void unload_quantized(void *state, ox_alloc alloc) { ox_product_i8_unpack(state, alloc); }

/* ---- prepare ---- */
typedef struct packed_prep {
  const slots *in;
  sizes s;
  ox_product product;      /* [batch * len, 2 * hidden + v_hidden], into shared memory */
  ox_product_i8 quantized; /* the same of bytes */
  ox_shape qkv;
  size_t qkv_at, past_bytes, present_bytes; /* past_bytes: of the keys, which the values follow */
  attn_multi m;
} packed_prep;

/* The product's view of the node: its output lies in shared memory. */
static ox_kernel_ctx product_ctx(const ox_kernel_ctx *c, const packed_prep *p, ox_tensor *qkv, ox_tensor **out) {
  ox_kernel_ctx sub = *c;
  *qkv = ox_tensor_view(c->in[p->in->type]->dtype, &p->qkv, c->shared ? (char *)c->shared + p->qkv_at : NULL);
  *out = qkv;
  sub.out = out, sub.n_out = 1;
  return sub;
}

static ox_status *plan_product(ox_kernel_ctx *c, packed_prep *p) {
  const bool trans[4] = {false};
  ox_product *g = &p->product;
  ox_tensor qkv, *out;
  p->qkv = ox_shape_of(3, (int64_t[]){p->s.batch, p->s.len, c->in[W]->shape.dim[1]});
  ox_kernel_ctx sub = product_ctx(c, p, &qkv, &out);
  if (p->in->quantized) {
    p->quantized.in = quantized_in, p->quantized.out_type = qkv.dtype, p->quantized.alpha = 1;
    if (qkv.dtype == OX_F32)
      OX_TRY(ox_product_i8_plan(&sub, &p->quantized, c->state, trans));
    else
      OX_TRY(ox_product_plain_plan(&sub, &p->quantized, trans));
  } else {
    g->type = c->in[X]->dtype, g->in_a = X, g->in_b = W, g->epi.alpha = g->epi.beta = 1;
    OX_TRY(ox_product_shape(g, &c->in[X]->shape, &c->in[W]->shape, trans));
    if (ox_ctx_has(c, BIAS)) OX_TRY(ox_product_term(g, 0, BIAS, &c->in[BIAS]->shape, &p->qkv));
    OX_TRY(ox_product_plan(&sub, g, c->state));
  }
  c->form = sub.form, c->n_stages = sub.n_stages, c->scratch_per_worker = sub.scratch_per_worker;
  for (uint32_t i = 0; i < sub.n_stages; i++) c->n_tiles[i] = sub.n_tiles[i];
  p->qkv_at = OX_ROUND_UP(sub.shared_bytes, OX_ALIGN_BYTES);
  c->shared_bytes = p->qkv_at + qkv.bytes;
  return NULL;
}

static ox_status *check_past(const ox_kernel_ctx *c, const sizes *s, uint32_t past) {
  const ox_shape want = ox_shape_of(5, (int64_t[]){2, s->batch, s->heads, s->past, s->d});
  char text[OX_SHAPE_TEXT];
  if ((ox_ctx_has(c, past) || ox_ctx_wants(c, PRESENT)) && s->d != s->dv)
    return ox_fail(OX_SHAPE_MISMATCH, "Attention with a cache needs equal head sizes of k and v");
  if (ox_ctx_has(c, past) && !ox_shape_equal(&c->in[past]->shape, &want))
    return ox_fail(OX_SHAPE_MISMATCH, "Attention: past %s does not fit", ox_shape_text(&c->in[past]->shape, text));
  return NULL;
}

static ox_status *prepare_with(ox_kernel_ctx *c, const slots *in) {
  const packed_attrs *a = c->attrs;
  packed_prep *p = ox_ctx_alloc(c, sizeof *p);
  uint32_t past = in->past;
  if (!p) return ox_oom();
  c->prep = p, p->in = in;
  OX_TRY(read_sizes(a, &c->in[X]->shape, &c->in[W]->shape, ox_ctx_has(c, past) ? &c->in[past]->shape : NULL, &p->s));
  OX_TRY(check_past(c, &p->s, past));
  OX_TRY(plan_product(c, p));
  const sizes *s = &p->s;
  uint32_t t = c->in[in->type]->dtype;
  int64_t row = s->heads * (2 * s->d + s->dv);
  p->m = (attn_multi){.batch = s->batch,
                      .heads = s->heads,
                      .q_len = s->len,
                      .kv_len = s->len,
                      .past = s->past,
                      .d = s->d,
                      .dv = s->dv,
                      .dtype = t,
                      .scale = a->scale,
                      .filter = a->mask_filter_value,
                      .causal = a->unidirectional && s->len > 1,
                      .qk_mode = OX_ATTN_QK_NONE};
  ox_tensor none = {.dtype = t};
  p->m.q = p->m.k = (ox_attn_mat){NULL, t, s->len * row, s->d, row};
  p->m.v = (ox_attn_mat){NULL, t, s->len * row, s->dv, row};
  p->m.past_k = p->m.past_v = ox_attn_bnsh(&none, s->heads, s->past, s->d);
  p->m.out = ox_attn_bsnh(&none, s->heads, s->len, s->dv);
  p->m.wants_k = p->m.wants_v = ox_ctx_wants(c, PRESENT);
  p->m.mask = ox_ctx_has(c, in->mask) ? c->in[in->mask] : NULL;
  p->m.add = ox_ctx_has(c, in->add) ? c->in[in->add] : NULL;
  size_t head = (size_t)(s->batch * s->heads) * (size_t)s->d * ox_attn_item(t);
  p->past_bytes = head * (size_t)s->past, p->present_bytes = head * (size_t)(s->past + s->len);
  return attn_multi_plan(c, &p->m, c->n_stages, c->shared_bytes);
}

static ox_status *prepare(ox_kernel_ctx *c) { return prepare_with(c, &plain_slots); }
static ox_status *prepare_quantized(ox_kernel_ctx *c) { return prepare_with(c, &quantized_slots); }

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const packed_prep *p = c->prep;
  const slots *in = p->in;
  ox_tensor qkv, *out;
  ox_kernel_ctx sub = product_ctx(c, p, &qkv, &out);
  if (stage < p->m.stage && in->quantized && p->quantized.p.plain) {
    ox_product_plain_run(&sub, &p->quantized, tiles);
    return NULL;
  }
  if (stage < p->m.stage && in->quantized) return ox_product_i8_run(&sub, &p->quantized, stage, tiles, scratch);
  if (stage < p->m.stage) return ox_product_run(&sub, &p->product, stage, tiles, scratch);
  size_t hidden = (size_t)(p->s.heads * p->s.d) * ox_attn_item(p->m.dtype);
  const char *past = ox_ctx_has(c, in->past) ? c->in[in->past]->data : NULL;
  char *present = ox_ctx_wants(c, PRESENT) ? c->out[PRESENT]->data : NULL;
  attn_multi_io io = {.q = qkv.data,
                      .k = (char *)qkv.data + hidden,
                      .v = (char *)qkv.data + 2 * hidden,
                      .past_k = past,
                      .past_v = past ? past + p->past_bytes : NULL,
                      .add = ox_ctx_has(c, in->add) ? c->in[in->add]->data : NULL,
                      .mask = ox_ctx_has(c, in->mask) ? c->in[in->mask]->data : NULL,
                      .out = c->out[OUT]->data,
                      .present_k = present,
                      .present_v = present ? present + p->present_bytes : NULL};
  attn_multi_run(c, &p->m, &io, stage, tiles, scratch);
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const packed_prep *p = c->prep;
  double rows = (double)p->s.batch * (double)p->s.len, columns = (double)p->qkv.dim[2];
  return 2 * rows * columns * (double)c->in[X]->shape.dim[2] + ox_attn_flops(&p->m.a);
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define BYTES (OX_BIT(OX_U8) | OX_BIT(OX_I8))
#define REALS (OX_BIT(OX_F32) | OX_BIT(OX_F16))
#define I32 OX_BIT(OX_I32)
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Attention", .domain = "com.microsoft", .since = 1, .min_in = 2, .max_in = 7, .min_out = 1,
               .max_out = 2, .types = {HALVES, HALVES, HALVES, I32, HALVES, HALVES, I32}, .vars = "TTT.TT",
               OX_ATTRS(attrs), .attrs_bytes = sizeof(packed_attrs), .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops)},
    {OX_SCHEMA(.name = "QAttention", .domain = "com.microsoft", .since = 1, .min_in = 5, .max_in = N_IN, .min_out = 1,
               .max_out = 2, .types = {BYTES, BYTES, REALS, REALS, REALS, I32, BYTES, BYTES}, .vars = "TUVVV.TUV",
               .more_types = (const uint32_t[]){REALS}, OX_ATTRS(attrs), .attrs_bytes = sizeof(packed_attrs),
               .infer = infer_quantized),
     OX_KERNEL(.load = load_quantized, .unload = unload_quantized, .prepare = prepare_quantized, .run = run,
               .flops = flops)},
};
const ox_op_set ox_ops_attention_packed = {ops, OX_COUNT(ops)};
