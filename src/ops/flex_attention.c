/* SPDX-License-Identifier: Apache-2.0
 * ops/flex_attention.c - ai.onnx.preview.FlexAttention: attention whose scores and weights go through bodies of the
 * model. A node without bodies has a kernel. */
#include <math.h>

#include "graph/control.h"
#include "ops/attention/attn_common.h"
#include "ops/shared/float_element.h"

typedef struct flex_attrs {
  ox_graph *score_mod, *prob_mod;
  int64_t softmax_precision;
  float scale;
  bool has_scale;
} flex_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_ROW_(flex_attrs, score_mod, "score_mod", OX_ATTR_GRAPH_KIND, false, OX_NO_FIELD, .i = 0),
    OX_ATTR_ROW_(flex_attrs, prob_mod, "prob_mod", OX_ATTR_GRAPH_KIND, false, OX_NO_FIELD, .i = 0),
    OX_ATTR_INT(flex_attrs, softmax_precision, 0),
    OX_ATTR_FLOAT_HAS(flex_attrs, scale, 0),
};

static bool differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

static ox_status *check_shapes(const ox_shape *q, const ox_shape *k, const ox_shape *v) {
  char tq[OX_SHAPE_TEXT], tk[OX_SHAPE_TEXT], tv[OX_SHAPE_TEXT];
  bool ok = q->rank == 4 && k->rank == 4 && v->rank == 4;
  ok = ok && !differ(q->dim[0], k->dim[0]) && !differ(k->dim[0], v->dim[0]) && !differ(k->dim[1], v->dim[1]) &&
       !differ(k->dim[2], v->dim[2]) && !differ(q->dim[3], k->dim[3]);
  if (ok && k->dim[1] >= 0 && q->dim[1] >= 0) ok = k->dim[1] > 0 && q->dim[1] % k->dim[1] == 0;
  if (ok) return NULL;
  return ox_fail(OX_SHAPE_MISMATCH, "FlexAttention: Q %s, K %s and V %s do not fit each other", ox_shape_text(q, tq),
                 ox_shape_text(k, tk), ox_shape_text(v, tv));
}

static ox_status *infer(ox_infer_ctx *c) {
  const flex_attrs *a = c->attrs;
  const ox_shape *q = &c->in[0]->shape, *k = &c->in[1]->shape, *v = &c->in[2]->shape;
  const ox_graph *bodies[] = {a->score_mod, a->prob_mod};
  for (size_t i = 0; i < OX_COUNT(bodies); i++)
    if (bodies[i] && (bodies[i]->n_inputs != 1 || bodies[i]->n_outputs != 1))
      return ox_fail(OX_INVALID_MODEL, "FlexAttention: a body must have one input and one output");
  if (a->softmax_precision && a->softmax_precision != OX_F32 && a->softmax_precision != OX_F64 &&
      a->softmax_precision != OX_F16 && a->softmax_precision != OX_BF16)
    return ox_fail(OX_INVALID_MODEL, "FlexAttention: softmax_precision %lld", (long long)a->softmax_precision);
  for (int i = 1; i < 3; i++)
    if (c->in[i]->dtype && c->in[0]->dtype && c->in[i]->dtype != c->in[0]->dtype)
      return ox_fail(OX_INVALID_MODEL, "FlexAttention: input %d is %s, Q %s", i, ox_dtype_name(c->in[i]->dtype),
                     ox_dtype_name(c->in[0]->dtype));
  ox_shape y = ox_shape_unknown();
  if (q->rank >= 0 && k->rank >= 0 && v->rank >= 0) {
    OX_TRY(check_shapes(q, k, v));
    y = ox_shape_of(4, (int64_t[]){q->dim[0], q->dim[1], q->dim[2], v->dim[3]});
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  const flex_attrs *a = c->attrs;
  if (!a->score_mod && !a->prob_mod) return NULL;
  return ox_fail(OX_NOT_IMPLEMENTED, "FlexAttention with bodies outside of a graph");
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *q = &c->in[0]->shape, *k = &c->in[1]->shape, *v = &c->in[2]->shape;
  const flex_attrs *at = c->attrs;
  ox_attn *a = ox_ctx_alloc(c, sizeof *a);
  if (!a) return ox_oom();
  c->prep = a;
  OX_TRY(check_shapes(q, k, v));
  *a = (ox_attn){.batch = q->dim[0],
                 .heads = q->dim[1],
                 .kv_heads = k->dim[1],
                 .q_len = q->dim[2],
                 .kv_len = k->dim[2],
                 .d = q->dim[3],
                 .dv = v->dim[3],
                 .left = -1,
                 .right = -1,
                 .qk_mode = OX_ATTN_QK_NONE,
                 .scale = at->has_scale ? (double)at->scale : 1 / sqrt((double)OX_MAX(q->dim[3], 1))};
  a->q = ox_attn_bnsh(c->in[0], a->heads, a->q_len, a->d), a->k = ox_attn_bnsh(c->in[1], a->kv_heads, a->kv_len, a->d);
  a->v = ox_attn_bnsh(c->in[2], a->kv_heads, a->kv_len, a->dv);
  a->out = ox_attn_bnsh(c->out[0], a->heads, a->q_len, a->dv);
  ox_attn_book(c, 0, a);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  ox_attn a = *(const ox_attn *)c->prep;
  a.q.p = c->in[0]->data, a.k.p = c->in[1]->data, a.v.p = c->in[2]->data, a.out.p = c->out[0]->data;
  ox_attn_run_tiles(c, &a, tiles, scratch);
  return NULL;
}

/* ---- with bodies, which take all scores at once. Simple loops, as the operator is a preview ---- */

typedef struct flex {
  const ox_tensor *q, *k, *v;
  int64_t batch, heads, kv_heads, rows, keys, d, dv;
  uint32_t precision;
} flex;

static double get(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_F64 ? ((const double *)t->data)[i] : (double)ox_float_at(t, i);
}

static void put(const ox_tensor *t, int64_t i, double v) {
  if (t->dtype == OX_F64)
    ((double *)t->data)[i] = v;
  else
    ox_float_put(t, i, (float)v);
}

static ox_status *new_tensor(const ox_control_ctx *c, uint32_t dtype, const ox_shape *shape, ox_tensor *out) {
  *out = ox_tensor_view(dtype, shape, NULL);
  return ox_control_room(c, out);
}

static int64_t kv_row(const flex *f, int64_t head, int64_t key) {
  int64_t b = head / f->heads, h = head % f->heads / (f->heads / f->kv_heads);
  return (b * f->kv_heads + h) * f->keys + key;
}

static void fill_scores(const flex *f, double scale, const ox_tensor *s) {
  if (!f->keys) return; /* without keys there is nothing to compute, however many rows there are */
  for (int64_t row = 0; row < f->batch * f->heads * f->rows; row++)
    for (int64_t t = 0; t < f->keys; t++) {
      double sum = 0;
      int64_t k = kv_row(f, row / f->rows, t) * f->d;
      for (int64_t i = 0; i < f->d; i++) sum += get(f->q, row * f->d + i) * get(f->k, k + i);
      put(s, row * f->keys + t, sum * scale);
    }
}

static void softmax(const flex *f, const ox_tensor *s, const ox_tensor *p) {
  if (!f->keys) return;
  for (int64_t row = 0; row < f->batch * f->heads * f->rows; row++) {
    double most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < f->keys; t++) most = fmax(most, get(s, row * f->keys + t));
    for (int64_t t = 0; t < f->keys; t++) sum += exp(get(s, row * f->keys + t) - most);
    for (int64_t t = 0; t < f->keys; t++) put(p, row * f->keys + t, exp(get(s, row * f->keys + t) - most) / sum);
  }
}

static void weigh(const flex *f, const ox_tensor *p, const ox_tensor *y) {
  if (!f->dv) return;
  for (int64_t row = 0; row < f->batch * f->heads * f->rows; row++)
    for (int64_t i = 0; i < f->dv; i++) {
      double sum = 0;
      for (int64_t t = 0; t < f->keys; t++)
        sum += get(p, row * f->keys + t) * get(f->v, kv_row(f, row / f->rows, t) * f->dv + i);
      put(y, row * f->dv + i, sum);
    }
}

/* |t| through the body |g|, if there is one; |t| becomes its output. */
static ox_status *modify(const ox_control_ctx *c, const char *name, const ox_graph *g, ox_tensor *t) {
  ox_body *b = ox_control_body(c, g);
  if (!b) return NULL;
  if (b->n_inputs != 1) return ox_fail(OX_INVALID_MODEL, "FlexAttention: %s must have one input", name);
  b->args[0] = t;
  OX_TRY(ox_body_run(c, b));
  const ox_tensor *out = ox_body_output(c, b, 0);
  if (out->dtype != t->dtype || !ox_shape_equal(&out->shape, &t->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "FlexAttention: %s changes type or shape", name);
  *t = *out;
  return NULL;
}

static ox_status *read_inputs(const ox_control_ctx *c, flex *f) {
  const flex_attrs *a = c->node->attrs;
  f->q = ox_control_in(c, 0), f->k = ox_control_in(c, 1), f->v = ox_control_in(c, 2);
  if (!f->q || !f->k || !f->v) return ox_fail(OX_SHAPE_MISMATCH, "FlexAttention needs Q, K and V");
  OX_TRY(check_shapes(&f->q->shape, &f->k->shape, &f->v->shape));
  const int64_t *q = f->q->shape.dim, *k = f->k->shape.dim, *v = f->v->shape.dim;
  f->batch = q[0], f->heads = q[1], f->kv_heads = k[1], f->rows = q[2], f->keys = k[2], f->d = q[3], f->dv = v[3];
  f->precision = a->softmax_precision ? (uint32_t)a->softmax_precision : f->q->dtype == OX_F64 ? OX_F64 : OX_F32;
  return NULL;
}

static ox_status *run_bodies(const ox_control_ctx *c) {
  const flex_attrs *a = c->node->attrs;
  ox_tensor *out = ox_control_out(c, 0), scores, weights;
  flex f = {0};
  OX_TRY(read_inputs(c, &f));
  if (!out) return NULL;
  ox_shape square = ox_shape_of(4, (int64_t[]){f.batch, f.heads, f.rows, f.keys});
  ox_shape shape = ox_shape_of(4, (int64_t[]){f.batch, f.heads, f.rows, f.dv});
  OX_TRY(new_tensor(c, f.precision, &square, &scores));
  fill_scores(&f, a->has_scale ? (double)a->scale : 1 / sqrt((double)OX_MAX(f.d, 1)), &scores);
  OX_TRY(modify(c, "score_mod", a->score_mod, &scores));
  OX_TRY(new_tensor(c, f.precision, &square, &weights));
  softmax(&f, &scores, &weights);
  OX_TRY(modify(c, "prob_mod", a->prob_mod, &weights));
  OX_TRY(new_tensor(c, f.q->dtype, &shape, out));
  weigh(&f, &weights, out);
  return NULL;
}

static const ox_control_def control = {.run = run_bodies};

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "FlexAttention", .domain = "ai.onnx.preview", .since = 1, .min_in = 3, .max_in = 3,
               .types = {OX_T_FLOAT}, .vars = "TTT",
               .traits = OX_NONDETERMINISTIC, /* bodies: neither folded nor merged */
               OX_ATTRS(attrs), .attrs_bytes = sizeof(flex_attrs), .infer = infer, .control = &control),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_flex_attention = {ops, OX_COUNT(ops)};
