/* SPDX-License-Identifier: Apache-2.0
 * ops/optimizers.c - Adagrad, Adam, Momentum (ai.onnx.preview.training): one step for any number of tensors. Inputs are
 * R, T, then all X, all G, and one or two groups of accumulators; outputs all X, then the accumulators. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "ops/shared/tiles.h"

typedef struct {
  float alpha, beta, epsilon, norm_coefficient, norm_coefficient_post, decay_factor;
  const char *mode;
} step_attrs;

static const ox_attr_def adagrad_table[] = {
    OX_ATTR_FLOAT(step_attrs, decay_factor, 0),
    OX_ATTR_FLOAT(step_attrs, epsilon, 1e-6f),
    OX_ATTR_FLOAT(step_attrs, norm_coefficient, 0),
};
static const ox_attr_def adam_table[] = {
    OX_ATTR_FLOAT(step_attrs, alpha, 0.9f),
    OX_ATTR_FLOAT(step_attrs, beta, 0.999f),
    OX_ATTR_FLOAT(step_attrs, epsilon, 1e-6f),
    OX_ATTR_FLOAT(step_attrs, norm_coefficient, 0),
    OX_ATTR_FLOAT(step_attrs, norm_coefficient_post, 0),
};
static const ox_attr_def momentum_table[] = {
    OX_ATTR_FLOAT(step_attrs, alpha, 0),
    OX_ATTR_FLOAT(step_attrs, beta, 0),
    OX_ATTR_FLOAT(step_attrs, norm_coefficient, 0),
    OX_ATTR_STR(step_attrs, mode, "standard"),
};

/* Accumulators per tensor: Adam has two. */
static uint32_t groups_of(const char *op) { return strcmp(op, "Adam") == 0 ? 2 : 1; }

static ox_status *infer(ox_infer_ctx *c) {
  uint32_t groups = groups_of(c->op), per = 2 + groups, count = (c->n_in - 2) / per;
  if (c->n_in < 2 + per || (c->n_in - 2) % per != 0)
    return ox_fail(OX_INVALID_MODEL, "%u inputs are not R, T and groups of %u", c->n_in, per);
  if (c->n_out > count * (1 + groups))
    return ox_fail(OX_INVALID_MODEL, "%u outputs, wanted %u", c->n_out, count * (1 + groups));
  for (uint32_t i = 2; i < c->n_in; i++) {
    const ox_type *x = c->in[2 + (i - 2) % count], *t = c->in[i];
    if (!x || !t) return ox_fail(OX_INVALID_MODEL, "input %u is missing", i);
    bool known = x->dtype && t->dtype && x->shape.rank >= 0 && t->shape.rank >= 0;
    bool same = x->dtype == t->dtype && x->shape.rank == t->shape.rank;
    for (int d = 0; known && same && d < x->shape.rank; d++)
      same = x->shape.dim[d] < 0 || t->shape.dim[d] < 0 || x->shape.dim[d] == t->shape.dim[d];
    if (known && !same) return ox_fail(OX_SHAPE_MISMATCH, "input %u differs in type or shape from its tensor", i);
  }
  for (uint32_t i = 0; i < c->n_out; i++) ox_infer_out(c, i, c->in[2 + i % count]->dtype, &c->in[2 + i % count]->shape);
  return NULL;
}

typedef enum { ADAGRAD, ADAM, STANDARD, NESTEROV } method;

static ox_status *load(ox_load_ctx *c) {
  const step_attrs *a = c->attrs;
  method *m = OX_LOAD_NEW(c, method);
  if (!m) return ox_oom();
  c->state = m;
  *m = strcmp(c->op, "Adagrad") == 0 ? ADAGRAD : strcmp(c->op, "Adam") == 0 ? ADAM : STANDARD;
  if (*m == STANDARD && strcmp(a->mode, "nesterov") == 0)
    *m = NESTEROV;
  else if (*m == STANDARD && strcmp(a->mode, "standard") != 0)
    return ox_fail(OX_INVALID_MODEL, "attribute 'mode': wanted standard or nesterov, got '%s'", a->mode);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  for (uint32_t i = 0; i < 2; i++)
    if (!c->in[i] || ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "input %u must be one number", i);
  uint32_t per = *(const method *)c->state == ADAM ? 4 : 3;
  return ox_ctx_plan(c, (c->n_in - 2) / per, 0); /* a tile per tensor */
}

typedef struct {
  double rate, alpha, beta, beta_now, epsilon, norm, post;
  method method;
} step;

/* One element: x and its accumulators are updated in place. */
static void advance(const step *s, double g, double *x, double *v, double *h) {
  g += s->norm * *x;
  switch (s->method) {
    case ADAGRAD:
      *v += g * g;
      *x -= s->rate * g / (sqrt(*v) + s->epsilon);
      break;
    case ADAM:
      *v = s->alpha * *v + (1 - s->alpha) * g;
      *h = s->beta * *h + (1 - s->beta) * g * g;
      *x = (1 - s->post) * (*x - s->rate * *v / (sqrt(*h) + s->epsilon));
      break;
    default:
      *v = s->alpha * *v + s->beta_now * g;
      *x -= s->rate * (s->method == NESTEROV ? g + s->alpha * *v : *v);
  }
}

static step step_of(const ox_kernel_ctx *c) {
  const step_attrs *a = c->attrs;
  const ox_convert *cv = ox_convert_select(c->isa);
  step s = {.alpha = (double)a->alpha,
            .beta = (double)a->beta,
            .epsilon = (double)a->epsilon,
            .norm = (double)a->norm_coefficient,
            .post = (double)a->norm_coefficient_post,
            .method = *(const method *)c->state};
  double t;
  cv->load_f64[c->in[0]->dtype](c->in[0]->data, 0, 1, &s.rate);
  cv->load_f64[c->in[1]->dtype](c->in[1]->data, 0, 1, &t);
  s.beta_now = t > 0 ? s.beta : 1;
  if (s.method == ADAGRAD) s.rate /= 1 + t * (double)a->decay_factor;
  if (s.method == ADAM && t > 0) s.rate *= sqrt(1 - pow(s.beta, t)) / (1 - pow(s.alpha, t));
  return s;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  enum { BLOCK = 256 };
  const ox_convert *cv = ox_convert_select(c->isa);
  step s = step_of(c);
  uint32_t groups = s.method == ADAM ? 2 : 1, count = (c->n_in - 2) / (2 + groups);
  double lane[4][BLOCK]; /* x, g, v, h */
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    const ox_tensor *x = c->in[2 + t];
    int64_t n = ox_shape_count(&x->shape);
    for (int64_t i = 0; i < n; i += BLOCK) {
      size_t m = (size_t)OX_MIN(n - i, BLOCK);
      for (uint32_t k = 0; k < 2 + groups; k++)
        cv->load_f64[x->dtype](c->in[2 + k * count + (uint32_t)t]->data, (size_t)i, m, lane[k]);
      for (size_t j = 0; j < m; j++) advance(&s, lane[1][j], &lane[0][j], &lane[2][j], &lane[3][j]);
      for (uint32_t k = 0; k < 1 + groups; k++) {
        uint32_t o = k * count + (uint32_t)t;
        if (ox_ctx_wants(c, o)) cv->store_f64[x->dtype](lane[k ? k + 1 : 0], c->out[o]->data, (size_t)i, m, NULL);
      }
    }
  }
  return NULL;
}

enum { T_REAL = OX_BIT(OX_F32) | OX_BIT(OX_F64) };
#define ROW(op, table)                                                                                                 \
  {                                                                                                                    \
    OX_SCHEMA(.name = op, .domain = "ai.onnx.preview.training", .since = 1, .types = {T_REAL, OX_BIT(OX_I64), T_REAL}, \
              .min_in = 3, .max_in = OX_VARIADIC, .min_out = 1, .max_out = OX_VARIADIC,                                \
              .attrs_bytes = sizeof(step_attrs), OX_ATTRS(table), .infer = infer),                                     \
        OX_KERNEL(.load = load, .prepare = prepare, .run = run)                                                        \
  }

static const ox_op ops[] = {
    ROW("Adagrad", adagrad_table),
    ROW("Adam", adam_table),
    ROW("Momentum", momentum_table),
};
const ox_op_set ox_ops_optimizers = {ops, OX_COUNT(ops)};
