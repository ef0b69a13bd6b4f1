/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_svm.c - SVMClassifier and SVMRegressor of ai.onnx.ml: support vectors (libsvm) or plain weights (liblinear).
 */
#include <math.h>
#include <string.h>

#include "kern/ml/row_products.h"
#include "kern/unary/unary.h"
#include "ops/ml/ml_rows.h"
#include "ops/ml/ml_trees.h"

typedef struct svm_attrs {
  ox_floats coefficients, support_vectors, rho, kernel_params, prob_a, prob_b;
  ox_ints vectors_per_class, classlabels_ints;
  ox_strs classlabels_strings;
  const char *kernel_type, *post_transform;
  int64_t n_supports, one_class;
} svm_attrs;

#define SVM_COMMON                                                                                                     \
  OX_ATTR_FLOATS(svm_attrs, coefficients), OX_ATTR_FLOATS(svm_attrs, support_vectors), OX_ATTR_FLOATS(svm_attrs, rho), \
      OX_ATTR_FLOATS(svm_attrs, kernel_params), OX_ATTR_STR(svm_attrs, kernel_type, "LINEAR"),                         \
      OX_ATTR_STR(svm_attrs, post_transform, "NONE")
static const ox_attr_def classifier_attrs[] = {
    SVM_COMMON,
    OX_ATTR_FLOATS(svm_attrs, prob_a),
    OX_ATTR_FLOATS(svm_attrs, prob_b),
    OX_ATTR_INTS_IN(svm_attrs, vectors_per_class, 0, OX_COUNT_MAX),
    OX_ATTR_INTS(svm_attrs, classlabels_ints),
    OX_ATTR_STRS(svm_attrs, classlabels_strings),
};
static const ox_attr_def regressor_attrs[] = {
    SVM_COMMON,
    OX_ATTR_INT_IN(svm_attrs, n_supports, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT(svm_attrs, one_class, 0),
};

typedef enum svm_kernel { LINEAR, POLY, RBF, SIGMOID } svm_kernel;

typedef struct svm {
  ox_arena arena;
  ox_row_panels m; /* support vectors, or the weights of a linear model */
  bool supports, all_positive;
  svm_kernel kernel;
  float gamma, coef0, degree;
  ox_ml_transform transform;
  int64_t classes, pairs, scores; /* classifier; scores: per row of the output */
  const int64_t *first;           /* of each class's vectors */
} svm;

/* ---- load ---- */
static ox_status *load_kernel(const svm_attrs *a, svm *s) {
  static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  int k = 0;
  while (k < 4 && strcmp(a->kernel_type, names[k])) k++;
  if (k == 4) return ox_fail(OX_INVALID_MODEL, "unknown kernel_type \"%.40s\"", a->kernel_type);
  s->kernel = s->supports ? (svm_kernel)k : LINEAR;
  if (!ox_ml_transform_find(a->post_transform, &s->transform))
    return ox_fail(OX_INVALID_MODEL, "unknown post_transform \"%.40s\"", a->post_transform);
  if (a->kernel_params.n && a->kernel_params.n < 3)
    return ox_fail(OX_INVALID_MODEL, "kernel_params has %zu items, wanted 3", a->kernel_params.n);
  if (a->kernel_params.n)
    s->gamma = a->kernel_params.v[0], s->coef0 = a->kernel_params.v[1], s->degree = a->kernel_params.v[2];
  if (!a->coefficients.n || !a->rho.n) return ox_fail(OX_INVALID_MODEL, "an SVM needs coefficients and rho");
  return NULL;
}

/* The matrix that rows of X are multiplied with: |n| rows from |v|. */
static ox_status *load_matrix(ox_floats v, int64_t n, svm *s) {
  if (n <= 0 || v.n % (size_t)n)
    return ox_fail(OX_INVALID_MODEL, "%zu numbers are not %lld vectors", v.n, (long long)n);
  return ox_row_panels_build(&s->m, v.v, n, (int64_t)v.n / n, &s->arena) ? NULL : ox_oom();
}

static size_t label_count(const svm_attrs *a) {
  return a->classlabels_strings.n ? a->classlabels_strings.n : a->classlabels_ints.n;
}

static ox_status *check_classifier(const svm_attrs *a, const svm *s, int64_t vectors) {
  if (a->vectors_per_class.n != (size_t)s->classes || a->coefficients.n < (size_t)((s->classes - 1) * vectors) ||
      a->rho.n < (size_t)s->pairs || a->prob_a.n != a->prob_b.n || (a->prob_a.n && a->prob_a.n < (size_t)s->pairs))
    return ox_fail(OX_INVALID_MODEL,
                   "%zu coefficients, %zu rho, %zu and %zu prob do not fit %lld classes, %lld vectors",
                   a->coefficients.n, a->rho.n, a->prob_a.n, a->prob_b.n, (long long)s->classes, (long long)vectors);
  return NULL;
}

static int64_t vector_count(const svm_attrs *a) {
  int64_t n = 0;
  for (size_t i = 0; i < a->vectors_per_class.n; i++) {
    if (a->vectors_per_class.v[i] < 0 || a->vectors_per_class.v[i] > INT32_MAX) return -1;
    n += a->vectors_per_class.v[i];
  }
  return n;
}

/* Scores per row of the output. */
static int64_t out_scores(const svm_attrs *a) {
  int64_t n = (int64_t)label_count(a);
  if (vector_count(a) <= 0 || a->prob_a.n) return n;
  return n > 2 ? n * (n - 1) / 2 : 2;
}

static svm *new_svm(ox_load_ctx *c) {
  svm *s = c->state = OX_LOAD_NEW(c, svm);
  if (s) ox_arena_init(&s->arena, c->alloc);
  return s;
}

static ox_status *load_classifier(ox_load_ctx *c) {
  const svm_attrs *a = c->attrs;
  svm *s = new_svm(c);
  int64_t vectors = vector_count(a), *first = OX_LOAD_ARRAY(c, int64_t, a->vectors_per_class.n + 1);
  if (!s || !first) return ox_oom();
  s->classes = (int64_t)label_count(a);
  if (s->classes <= 0 || s->classes > 65535 || vectors < 0)
    return ox_fail(OX_INVALID_MODEL, "SVMClassifier has %lld labels", (long long)s->classes);
  s->pairs = s->classes * (s->classes - 1) / 2;
  s->supports = vectors > 0, s->scores = out_scores(a);
  OX_TRY(load_kernel(a, s));
  for (size_t i = 0; i < a->vectors_per_class.n; i++) first[i + 1] = first[i] + a->vectors_per_class.v[i];
  s->first = first;
  s->all_positive = true;
  for (size_t i = 0; i < a->coefficients.n; i++) s->all_positive = s->all_positive && a->coefficients.v[i] >= 0;
  if (!s->supports) return load_matrix(a->coefficients, s->classes, s);
  OX_TRY(check_classifier(a, s, vectors));
  return load_matrix(a->support_vectors, vectors, s);
}

static ox_status *load_regressor(ox_load_ctx *c) {
  const svm_attrs *a = c->attrs;
  svm *s = new_svm(c);
  if (!s) return ox_oom();
  s->supports = a->n_supports > 0;
  OX_TRY(load_kernel(a, s));
  if (!s->supports) return load_matrix(a->coefficients, 1, s);
  if (a->coefficients.n < (size_t)a->n_supports)
    return ox_fail(OX_INVALID_MODEL, "%zu coefficients for %lld support vectors", a->coefficients.n,
                   (long long)a->n_supports);
  return load_matrix(a->support_vectors, a->n_supports, s);
}

/* ---- inference ---- */
static ox_status *infer_classifier(ox_infer_ctx *c) {
  const svm_attrs *a = c->attrs;
  int64_t rows, features;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &features));
  ox_shape y = ox_shape_of(1, &rows), z = ox_shape_of(2, (int64_t[]){rows, out_scores(a)});
  ox_infer_out(c, 0, a->classlabels_strings.n ? OX_STRING : OX_I64, &y);
  ox_infer_out(c, 1, OX_F32, &z);
  return NULL;
}

static ox_status *infer_regressor(ox_infer_ctx *c) {
  int64_t rows, features;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &features));
  ox_shape y = ox_shape_of(2, (int64_t[]){rows, 1});
  ox_infer_out(c, 0, OX_F32, &y);
  return NULL;
}

/* ---- run ---- */
typedef struct svm_scratch {
  float *kernels; /* [tile rows, vectors] */
  double *s;      /* scores of a row */
  float *pair;    /* pairwise probabilities, then the matrix of the coupling */
  float *q, *qp, *p;
  int64_t *votes;
} svm_scratch;

static size_t once_bytes(const svm *s) {
  size_t c = (size_t)s->classes, scores = (size_t)OX_MAX(OX_MAX(s->scores, s->pairs), 2) + c;
  return scores * sizeof(double) + c * sizeof(int64_t) + (2 * c * c + 2 * c) * sizeof(float) + 8;
}

static svm_scratch split(const svm *s, void *p) {
  size_t c = (size_t)s->classes, scores = (size_t)OX_MAX(OX_MAX(s->scores, s->pairs), 2) + c;
  svm_scratch w;
  w.s = p, w.votes = (int64_t *)(w.s + scores);
  w.pair = (float *)(w.votes + c), w.q = w.pair + c * c, w.qp = w.q + c * c, w.p = w.qp + c;
  w.kernels = w.p + c;
  return w;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const svm *s = c->state;
  return ox_ml_rows_plan(c, s->m.k, (size_t)s->m.n * sizeof(float), once_bytes(s));
}

/* x^degree; degrees in use are whole and small: products instead of powf's logarithm. */
static void raise(float *v, int64_t n, float degree) {
  enum { MOST = 16, SOME = 64 };
  float x[SOME];
  if (!(degree >= 1 && degree <= MOST && degree == (float)(int)degree)) {
    for (int64_t i = 0; i < n; i++) v[i] = powf(v[i], degree);
    return;
  }
  for (; n >= SOME; n -= SOME, v += SOME) { /* so that the compiler takes vectors */
    memcpy(x, v, sizeof x);
    for (int d = 1; d < (int)degree; d++)
      for (int i = 0; i < SOME; i++) v[i] *= x[i];
  }
  for (int64_t i = 0; i < n; i++) {
    float base = v[i];
    for (int d = 1; d < (int)degree; d++) v[i] *= base;
  }
}

static void apply_kernel(const svm *s, ox_isa isa, float *v, int64_t n) {
  const ox_unary_f32 *f = ox_unary_f32_select(isa);
  float p[OX_UNARY_PARAMS] = {s->kernel == RBF ? -s->gamma : s->gamma, s->kernel == RBF ? 0 : s->coef0};
  f->fn[OX_UN_AFFINE](v, v, (size_t)n, p);
  if (s->kernel == POLY)
    raise(v, n, s->degree);
  else
    f->fn[s->kernel == RBF ? OX_UN_EXP : OX_UN_TANH](v, v, (size_t)n, NULL);
}

/* In double, by lanes that do not wait for each other. */
static double dot(const float *a, const float *b, int64_t n) {
  enum { LANES = 8 };
  double lanes[LANES] = {0}, sum = 0;
  for (; n >= LANES; n -= LANES, a += LANES, b += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] += (double)a[k] * b[k];
  for (int k = 0; k < LANES; k++) sum += lanes[k];
  for (int64_t k = 0; k < n; k++) sum += (double)a[k] * b[k];
  return sum;
}

/* Couples pairwise probabilities into one per class (Wu, Lin, Weng 2004, algorithm 2): minimises p' Q p. */
static void couple(int64_t n, const float *r, float *q, float *qp, float *p) {
  float eps = 0.005f / (float)n;
  for (int64_t t = 0; t < n; t++) {
    p[t] = 1.0f / (float)n, q[t * n + t] = 0;
    for (int64_t j = 0; j < n; j++) {
      if (j == t) continue;
      q[t * n + t] += r[j * n + t] * r[j * n + t];
      q[t * n + j] = -r[j * n + t] * r[t * n + j];
    }
  }
  for (int round = 0; round < 100; round++) {
    float pqp = 0, error = 0;
    for (int64_t t = 0; t < n; t++) {
      qp[t] = 0;
      for (int64_t j = 0; j < n; j++) qp[t] += q[t * n + j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (int64_t t = 0; t < n; t++) error = fmaxf(error, fabsf(qp[t] - pqp));
    if (error < eps) return;
    for (int64_t t = 0; t < n; t++) {
      float diff = (pqp - qp[t]) / q[t * n + t];
      p[t] += diff;
      pqp = (pqp + diff * (diff * q[t * n + t] + 2 * qp[t])) / (1 + diff) / (1 + diff);
      for (int64_t j = 0; j < n; j++) qp[j] = (qp[j] + diff * q[t * n + j]) / (1 + diff), p[j] /= 1 + diff;
    }
  }
}

/* One decision value per pair of classes; the winner of each gets a vote. */
static void decide_pairs(const svm *s, const svm_attrs *a, const float *k, svm_scratch *w) {
  int64_t n = s->classes, pair = 0;
  memset(w->votes, 0, (size_t)n * sizeof *w->votes);
  for (int64_t i = 0; i < n - 1; i++)
    for (int64_t j = i + 1; j < n; j++, pair++) {
      const float *ci = a->coefficients.v + (j - 1) * s->m.n, *cj = a->coefficients.v + i * s->m.n;
      int64_t at_i = s->first[i], at_j = s->first[j];
      double sum = dot(ci + at_i, k + at_i, s->first[i + 1] - at_i) + dot(cj + at_j, k + at_j, s->first[j + 1] - at_j);
      sum += a->rho.v[pair];
      w->s[pair] = (float)sum;
      w->votes[sum > 0 ? i : j]++;
    }
}

static void pair_probabilities(const svm *s, const svm_attrs *a, svm_scratch *w) {
  int64_t n = s->classes, pair = 0;
  for (int64_t i = 0; i < n - 1; i++)
    for (int64_t j = i + 1; j < n; j++, pair++) {
      float p = 1.0f - ox_ml_logistic((float)w->s[pair] * a->prob_a.v[pair] + a->prob_b.v[pair]);
      p = fminf(fmaxf(p, 1e-7f), 1 - 1e-7f);
      w->pair[i * n + j] = p, w->pair[j * n + i] = 1 - p;
    }
  couple(n, w->pair, w->q, w->qp, w->p);
  for (int64_t t = 0; t < n; t++) w->s[t] = w->p[t];
}

static int64_t winner(const svm *s, const svm_attrs *a, const svm_scratch *w) {
  int64_t best = 0;
  for (int64_t t = 1; t < s->classes; t++)
    if (s->supports ? w->votes[t] > w->votes[best] : w->s[t] > w->s[best]) best = t;
  double most = s->supports ? 0 : w->s[best];
  if (s->classes == 2 && !a->prob_a.n && (s->all_positive ? most >= 0.5 : most > 0)) return 1;
  return best;
}

static void put_label(const ox_kernel_ctx *c, int64_t row, int64_t label) {
  const svm_attrs *a = c->attrs;
  if (a->classlabels_strings.n)
    ((ox_str *)c->out[0]->data)[row] = a->classlabels_strings.v[label];
  else
    ((int64_t *)c->out[0]->data)[row] = a->classlabels_ints.v[label];
}

static void classify_row(const ox_kernel_ctx *c, int64_t row, const float *k, svm_scratch *w) {
  const svm *s = c->state;
  const svm_attrs *a = c->attrs;
  ox_ml_second second = OX_ML_ONE;
  int64_t n = s->scores;
  w->s[1] = 0;
  if (s->supports) {
    if (s->pairs == 0) w->s[0] = 0;
    decide_pairs(s, a, k, w);
    if (a->prob_a.n && s->pairs)
      pair_probabilities(s, a, w);
    else if (s->classes <= 2)
      n = 1, second = s->transform == OX_ML_NONE ? OX_ML_NEGATE : OX_ML_COMPLEMENT;
  } else {
    for (int64_t t = 0; t < n; t++) w->s[t] = k[t] + a->rho.v[0];
  }
  if (ox_ctx_wants(c, 0)) put_label(c, row, winner(s, a, w));
  if (!ox_ctx_wants(c, 1)) return;
  ox_ml_scores_write(w->s, n, s->transform, second, w->s);
  for (int64_t t = 0; t < s->scores; t++) ((float *)c->out[1]->data)[row * s->scores + t] = (float)w->s[t];
}

static void regress_row(const ox_kernel_ctx *c, int64_t row, const float *k) {
  const svm *s = c->state;
  const svm_attrs *a = c->attrs;
  double sum = s->supports ? dot(a->coefficients.v, k, s->m.n) : k[0];
  float y = (float)(sum + a->rho.v[0]);
  ((float *)c->out[0]->data)[row] = !a->one_class ? y : y > 0 ? 1.0f : -1.0f;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const svm *s = c->state;
  svm_scratch w = split(s, ox_ml_rows_scratch(c, scratch));
  for (int64_t tile = tiles.begin; tile < tiles.end; tile++) {
    int64_t first, n;
    const float *x = ox_ml_rows_at(c, tile, scratch, &first, &n);
    ox_row_products_run(&s->m, c->isa, s->kernel == RBF, x, n, w.kernels, s->m.n);
    if (s->kernel != LINEAR) apply_kernel(s, c->isa, w.kernels, n * s->m.n);
    for (int64_t r = 0; r < n; r++) {
      if (s->classes)
        classify_row(c, first + r, w.kernels + r * s->m.n, &w);
      else
        regress_row(c, first + r, w.kernels + r * s->m.n);
    }
  }
  return NULL;
}

#define NUMBERS (OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_I32) | OX_BIT(OX_I64))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "SVMClassifier", .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1, .min_out = 1,
               .max_out = 2, .types = {NUMBERS}, OX_ATTRS(classifier_attrs), .attrs_bytes = sizeof(svm_attrs),
               .infer = infer_classifier),
     OX_KERNEL(.load = load_classifier, .unload = ox_unload_arena, .prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "SVMRegressor", .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1, .types = {NUMBERS},
               OX_ATTRS(regressor_attrs), .attrs_bytes = sizeof(svm_attrs), .infer = infer_regressor),
     OX_KERNEL(.load = load_regressor, .unload = ox_unload_arena, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_ml_svm = {ops, OX_COUNT(ops)};
