/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_linear.c - LinearClassifier and LinearRegressor of ai.onnx.ml. */
#include <string.h>

#include "kern/ml/row_products.h"
#include "kern/softmax/softmax.h"
#include "kern/unary/unary.h"
#include "ops/ml/ml_rows.h"
#include "ops/ml/ml_trees.h"

typedef struct linear_attrs {
  ox_floats coefficients, intercepts;
  ox_strs classlabels_strings;
  ox_ints classlabels_ints;
  const char *post_transform;
  int64_t targets, multi_class;
} linear_attrs;

static const ox_attr_def classifier_attrs[] = {
    OX_ATTR_FLOATS(linear_attrs, coefficients),        OX_ATTR_FLOATS(linear_attrs, intercepts),
    OX_ATTR_STRS(linear_attrs, classlabels_strings),   OX_ATTR_INTS(linear_attrs, classlabels_ints),
    OX_ATTR_STR(linear_attrs, post_transform, "NONE"), OX_ATTR_INT(linear_attrs, multi_class, 0),
};
static const ox_attr_def regressor_attrs[] = {
    OX_ATTR_FLOATS(linear_attrs, coefficients),
    OX_ATTR_FLOATS(linear_attrs, intercepts),
    OX_ATTR_STR(linear_attrs, post_transform, "NONE"),
    OX_ATTR_INT_IN(linear_attrs, targets, 1, 1, OX_COUNT_MAX),
};

typedef struct linear {
  ox_arena arena;
  ox_row_panels m;         /* a row of coefficients per score */
  const float *intercepts; /* NULL: zeros */
  ox_ml_transform transform;
  bool classifier, second; /* second: one score, two labels */
} linear;

static size_t label_count(const linear_attrs *a) {
  return a->classlabels_strings.n ? a->classlabels_strings.n : a->classlabels_ints.n;
}

/* Scores a classifier computes for a row. */
static int64_t score_count(const linear_attrs *a) {
  return (int64_t)(a->intercepts.n ? a->intercepts.n : label_count(a));
}

static bool adds_second(const linear_attrs *a) { return score_count(a) == 1 && label_count(a) == 2; }

static ox_status *load_common(ox_load_ctx *c, int64_t scores, linear **out) {
  const linear_attrs *a = c->attrs;
  linear *s = OX_LOAD_NEW(c, linear);
  if (!s) return ox_oom();
  ox_arena_init(&s->arena, c->alloc);
  if (!ox_ml_transform_find(a->post_transform, &s->transform))
    return ox_fail(OX_INVALID_MODEL, "unknown post_transform \"%.40s\"", a->post_transform);
  if (scores <= 0 || !a->coefficients.n || a->coefficients.n % (size_t)scores)
    return ox_fail(OX_INVALID_MODEL, "%zu coefficients for %lld scores", a->coefficients.n, (long long)scores);
  if (a->intercepts.n && (int64_t)a->intercepts.n != scores)
    return ox_fail(OX_INVALID_MODEL, "%zu intercepts for %lld scores", a->intercepts.n, (long long)scores);
  s->intercepts = a->intercepts.n ? a->intercepts.v : NULL;
  c->state = *out = s;
  int64_t k = (int64_t)a->coefficients.n / scores, rows, features;
  /* old converters wrote more coefficients than X has features; the leading ones count, row after row */
  OX_TRY(ox_ml_rows(&c->in_type[0]->shape, &rows, &features));
  if (features > 0 && features < k) k = features;
  return ox_row_panels_build(&s->m, a->coefficients.v, scores, k, &s->arena) ? NULL : ox_oom();
}

static ox_status *load_classifier(ox_load_ctx *c) {
  const linear_attrs *a = c->attrs;
  linear *s;
  OX_TRY(load_common(c, score_count(a), &s));
  s->classifier = true, s->second = adds_second(a);
  if (score_count(a) > 1 && (int64_t)label_count(a) < score_count(a))
    return ox_fail(OX_INVALID_MODEL, "%zu labels for %lld scores", label_count(a), (long long)score_count(a));
  return NULL;
}

static ox_status *load_regressor(ox_load_ctx *c) {
  linear *s;
  return load_common(c, ((const linear_attrs *)c->attrs)->targets, &s);
}

static ox_status *infer_classifier(ox_infer_ctx *c) {
  const linear_attrs *a = c->attrs;
  int64_t rows, features;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &features));
  ox_shape y = ox_shape_of(1, &rows), z = ox_shape_of(2, (int64_t[]){rows, adds_second(a) ? 2 : score_count(a)});
  ox_infer_out(c, 0, a->classlabels_strings.n ? OX_STRING : OX_I64, &y);
  ox_infer_out(c, 1, OX_F32, &z);
  return NULL;
}

static ox_status *infer_regressor(ox_infer_ctx *c) {
  int64_t rows, features, targets = ((const linear_attrs *)c->attrs)->targets;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &features));
  ox_shape y = ox_shape_of(2, (int64_t[]){rows, targets > 0 ? targets : -1});
  ox_infer_out(c, 0, OX_F32, &y);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const linear *s = c->state;
  return ox_ml_rows_plan(c, s->m.k, (size_t)s->m.n * sizeof(float), (size_t)(s->m.n + 2) * sizeof(double));
}

static void put_label(const ox_kernel_ctx *c, int64_t row, const float *s) {
  const linear_attrs *a = c->attrs;
  int64_t n = score_count(a), best = 0;
  bool strings = a->classlabels_strings.n > 0, own = n > 1 || label_count(a) == 2;
  for (int64_t k = 1; k < n; k++)
    if (s[k] > s[best]) best = k;
  if (n == 1) best = s[0] > 0;
  if (strings)
    ((ox_str *)c->out[0]->data)[row] = own ? a->classlabels_strings.v[best] : (ox_str){best ? "1" : "0", 1};
  else
    ((int64_t *)c->out[0]->data)[row] = own ? a->classlabels_ints.v[best] : best;
}

/* Scores of |n| rows that the float kernels transform together. False: not such scores. */
static bool transform_rows(const ox_kernel_ctx *c, const linear *s, const float *scores, int64_t n, float *out) {
  if (s->m.n == 1 && (s->second || s->transform == OX_ML_PROBIT)) return false;
  size_t all = (size_t)(n * s->m.n), width = (size_t)s->m.n;
  const ox_softmax_table *t = ox_softmax_select(c->isa);
  if (s->transform == OX_ML_NONE || width == 1) { /* a regressor's only score stays as it is, too */
    memcpy(out, scores, all * sizeof *out);
  } else if (s->transform == OX_ML_LOGISTIC) {
    ox_unary_f32_select(c->isa)->fn[OX_UN_SIGMOID](scores, out, all, NULL);
  } else if (s->transform != OX_ML_SOFTMAX) {
    return false;
  } else if (width <= t->short_most) {
    t->short_rows(scores, out, (size_t)n, width, 0);
  } else {
    for (size_t r = 0; r < (size_t)n; r++) t->row(scores + r * width, out + r * width, width);
  }
  return true;
}

static void transform_row(const linear *s, const float *scores, double *row, float *out) {
  int64_t width = s->second ? 2 : s->m.n;
  row[s->m.n] = 0;
  for (int64_t k = 0; k < s->m.n; k++) row[k] = scores[k];
  ox_ml_scores_write(row, s->m.n, s->transform, s->second ? OX_ML_COMPLEMENT : OX_ML_ONE, row);
  for (int64_t k = 0; k < width; k++) out[k] = (float)row[k];
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const linear *s = c->state;
  double *row = ox_ml_rows_scratch(c, scratch);
  float *scores = (float *)(row + s->m.n + 2);
  uint32_t z = s->classifier ? 1 : 0;
  for (int64_t tile = tiles.begin; tile < tiles.end; tile++) {
    int64_t first, n, width = s->second ? 2 : s->m.n;
    const float *x = ox_ml_rows_at(c, tile, scratch, &first, &n);
    ox_row_products_run(&s->m, c->isa, false, x, n, scores, s->m.n);
    for (int64_t r = 0; s->intercepts && r < n; r++)
      for (int64_t k = 0; k < s->m.n; k++) scores[r * s->m.n + k] += s->intercepts[k];
    for (int64_t r = 0; s->classifier && ox_ctx_wants(c, 0) && r < n; r++) put_label(c, first + r, scores + r * s->m.n);
    if (!ox_ctx_wants(c, z)) continue;
    float *out = (float *)c->out[z]->data + first * width;
    if (transform_rows(c, s, scores, n, out)) continue;
    for (int64_t r = 0; r < n; r++) transform_row(s, scores + r * s->m.n, row, out + r * width);
  }
  return NULL;
}

#define NUMBERS (OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_I32) | OX_BIT(OX_I64))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "LinearClassifier", .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1, .min_out = 1,
               .max_out = 2, .types = {NUMBERS}, OX_ATTRS(classifier_attrs), .attrs_bytes = sizeof(linear_attrs),
               .infer = infer_classifier),
     OX_KERNEL(.load = load_classifier, .unload = ox_unload_arena, .prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "LinearRegressor", .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1,
               .types = {NUMBERS}, OX_ATTRS(regressor_attrs), .attrs_bytes = sizeof(linear_attrs),
               .infer = infer_regressor),
     OX_KERNEL(.load = load_regressor, .unload = ox_unload_arena, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_ml_linear = {ops, OX_COUNT(ops)};
