/* SPDX-License-Identifier: Apache-2.0
 * exec/control_flex_attention.c - FlexAttention (ai.onnx.preview 1): attention whose scores and weights go through
 * bodies of the model. Scores exist as a whole, for the bodies want them so; plain loops, for the operator is a
 * preview. */
#include <math.h>
#include <string.h>

#include "exec/bodies.h"

typedef struct flex {
  const ox_tensor *q, *k, *v;
  int64_t batch, heads, kv_heads, rows, keys, d, dv;
  uint32_t precision;
} flex;

static double get(const ox_tensor *t, int64_t i) {
  if (t->dtype == OX_F32) return ((const float *)t->data)[i];
  if (t->dtype == OX_F64) return ((const double *)t->data)[i];
  uint16_t h = ((const uint16_t *)t->data)[i];
  return t->dtype == OX_F16 ? ox_f16_to_f32(h) : ox_bf16_to_f32(h);
}

static void put(const ox_tensor *t, int64_t i, double v) {
  if (t->dtype == OX_F32)
    ((float *)t->data)[i] = (float)v;
  else if (t->dtype == OX_F64)
    ((double *)t->data)[i] = v;
  else
    ((uint16_t *)t->data)[i] = t->dtype == OX_F16 ? ox_f16_from_f32((float)v) : ox_bf16_from_f32((float)v);
}

static ox_status *new_tensor(ox_context *c, uint32_t dtype, const ox_shape *shape, ox_tensor *out) {
  size_t bytes;
  if (!ox_dtype_bytes(dtype, ox_shape_count(shape), &bytes))
    return ox_fail(OX_LIMIT, "FlexAttention: scores too large");
  void *data = ox_dynpool_take(&c->dyn, bytes);
  if (!data) return ox_oom();
  *out = ox_tensor_view(dtype, shape, data);
  return NULL;
}

static int64_t kv_row(const flex *f, int64_t head, int64_t key) {
  int64_t b = head / f->heads, h = head % f->heads / (f->heads / f->kv_heads);
  return (b * f->kv_heads + h) * f->keys + key;
}

static void fill_scores(const flex *f, double scale, const ox_tensor *s) {
  for (int64_t row = 0; row < f->batch * f->heads * f->rows; row++)
    for (int64_t t = 0; t < f->keys; t++) {
      double sum = 0;
      int64_t k = kv_row(f, row / f->rows, t) * f->d;
      for (int64_t i = 0; i < f->d; i++) sum += get(f->q, row * f->d + i) * get(f->k, k + i);
      put(s, row * f->keys + t, sum * scale);
    }
}

static void softmax(const flex *f, const ox_tensor *s, const ox_tensor *p) {
  for (int64_t row = 0; row < f->batch * f->heads * f->rows; row++) {
    double most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < f->keys; t++) most = fmax(most, get(s, row * f->keys + t));
    for (int64_t t = 0; t < f->keys; t++) sum += exp(get(s, row * f->keys + t) - most);
    for (int64_t t = 0; t < f->keys; t++) put(p, row * f->keys + t, exp(get(s, row * f->keys + t) - most) / sum);
  }
}

static void weigh(const flex *f, const ox_tensor *p, const ox_tensor *y) {
  for (int64_t row = 0; row < f->batch * f->heads * f->rows; row++)
    for (int64_t i = 0; i < f->dv; i++) {
      double sum = 0;
      for (int64_t t = 0; t < f->keys; t++)
        sum += get(p, row * f->keys + t) * get(f->v, kv_row(f, row / f->rows, t) * f->dv + i);
      put(y, row * f->dv + i, sum);
    }
}

/* |t| through the body called |name|, if there is one; |t| becomes its output. */
static ox_status *modify(ox_context *c, ox_step *s, const char *name, ox_tensor *t) {
  ox_body *b = ox_control_body(c, s, name);
  if (!b) return NULL;
  if (b->n_inputs != 1) return ox_fail(OX_INVALID_MODEL, "FlexAttention: %s must have one input", name);
  b->args[0] = t;
  OX_TRY(ox_body_run(c, b));
  const ox_tensor *out = ox_body_output(b, 0);
  if (out->dtype != t->dtype || !ox_shape_equal(&out->shape, &t->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "FlexAttention: %s changes type or shape", name);
  *t = *out;
  return NULL;
}

static ox_status *read_inputs(ox_context *c, ox_step *s, flex *f) {
  const ox_node *n = ox_graph_node(c->plan->graph, s->unit->node);
  const ox_attr *precision = ox_node_attr(n, "softmax_precision");
  f->q = ox_control_input(c, s, 0), f->k = ox_control_input(c, s, 1), f->v = ox_control_input(c, s, 2);
  if (!f->q || !f->k || !f->v || f->q->shape.rank != 4 || f->k->shape.rank != 4 || f->v->shape.rank != 4)
    return ox_fail(OX_SHAPE_MISMATCH, "FlexAttention wants 4-D Q, K and V");
  const int64_t *q = f->q->shape.dim, *k = f->k->shape.dim, *v = f->v->shape.dim;
  f->batch = q[0], f->heads = q[1], f->kv_heads = k[1], f->rows = q[2], f->keys = k[2], f->d = q[3], f->dv = v[3];
  if (k[0] != f->batch || v[0] != f->batch || v[1] != f->kv_heads || v[2] != f->keys || k[3] != f->d ||
      f->kv_heads < 1 || f->heads % f->kv_heads)
    return ox_fail(OX_SHAPE_MISMATCH, "FlexAttention: Q, K and V do not fit each other");
  f->precision = f->q->dtype == OX_F64 ? OX_F64 : OX_F32;
  if (precision && precision->v.i) f->precision = (uint32_t)precision->v.i;
  return NULL;
}

ox_status *ox_flex_attention_run(ox_context *c, ox_step *s) {
  const ox_attr *scale = ox_node_attr(ox_graph_node(c->plan->graph, s->unit->node), "scale");
  ox_tensor *out = ox_control_output(c, s, 0), scores, weights;
  flex f = {0};
  OX_TRY(read_inputs(c, s, &f));
  if (!out) return NULL;
  ox_shape square = ox_shape_of(4, (int64_t[]){f.batch, f.heads, f.rows, f.keys});
  ox_shape shape = ox_shape_of(4, (int64_t[]){f.batch, f.heads, f.rows, f.dv});
  OX_TRY(new_tensor(c, f.precision, &square, &scores));
  fill_scores(&f, scale ? (double)scale->v.f : 1 / sqrt((double)OX_MAX(f.d, 1)), &scores);
  OX_TRY(modify(c, s, "score_mod", &scores));
  OX_TRY(new_tensor(c, f.precision, &square, &weights));
  softmax(&f, &scores, &weights);
  OX_TRY(modify(c, s, "prob_mod", &weights));
  OX_TRY(new_tensor(c, f.q->dtype, &shape, out));
  weigh(&f, &weights, out);
  return NULL;
}
