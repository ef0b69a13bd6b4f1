/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_scaler.c - Scaler, Normalizer, Imputer and Binarizer of ai.onnx.ml: features one by one. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "graph/op_def.h"
#include "kern/ml/ml_scores.h"
#include "kern/reduce/reduce.h"

enum { TILE = 8192 };

/* Features of a row: the second dimension, or the only one. */
static int64_t features_of(const ox_shape *s) { return s->rank <= 0 ? 1 : s->rank == 1 ? s->dim[0] : s->dim[1]; }

static ox_status *infer_f32(ox_infer_ctx *c) {
  ox_infer_out(c, 0, OX_F32, &c->in[0]->shape);
  return NULL;
}

static ox_status *prepare_elements(ox_kernel_ctx *c) {
  return ox_ctx_plan(c, OX_CEIL_DIV(ox_shape_count(&c->in[0]->shape), TILE), 0);
}

static ox_range elements(const ox_kernel_ctx *c, ox_range tiles) {
  int64_t n = ox_shape_count(&c->in[0]->shape);
  return (ox_range){tiles.begin * TILE, OX_MIN(tiles.end * TILE, n)};
}

/* ---- Scaler ---- */
typedef struct scaler_attrs {
  ox_floats offset, scale;
} scaler_attrs;
static const ox_attr_def scaler_attr_defs[] = {OX_ATTR_FLOATS(scaler_attrs, offset),
                                               OX_ATTR_FLOATS(scaler_attrs, scale)};

static ox_status *prepare_scaler(ox_kernel_ctx *c) {
  const scaler_attrs *a = c->attrs;
  int64_t f = features_of(&c->in[0]->shape);
  if (a->offset.n != a->scale.n || (a->scale.n != 1 && (int64_t)a->scale.n != f))
    return ox_fail(OX_SHAPE_MISMATCH, "Scaler has %zu offsets and %zu scales for %lld features", a->offset.n,
                   a->scale.n, (long long)f);
  return prepare_elements(c);
}

static ox_status *run_scaler(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const scaler_attrs *a = c->attrs;
  const ox_tensor *x = c->in[0];
  ox_range r = elements(c, tiles);
  int64_t n = (int64_t)a->scale.n, k = r.begin % n;
  float *y = c->out[0]->data;
  if (x->dtype == OX_F64) {
    for (int64_t i = r.begin; i < r.end; i++, k = k + 1 == n ? 0 : k + 1)
      y[i] = (float)((((const double *)x->data)[i] - a->offset.v[k]) * a->scale.v[k]);
    return NULL;
  }
  ox_ml_read_f32(x->dtype, x->data, r.begin, r.end - r.begin, y + r.begin);
  for (int64_t i = r.begin; i < r.end; i++, k = k + 1 == n ? 0 : k + 1) y[i] = (y[i] - a->offset.v[k]) * a->scale.v[k];
  return NULL;
}

/* ---- Binarizer ---- */
typedef struct binarizer_attrs {
  float threshold;
} binarizer_attrs;
static const ox_attr_def binarizer_attr_defs[] = {OX_ATTR_FLOAT(binarizer_attrs, threshold, 0)};

#define BINARIZE(type) \
  for (int64_t i = r.begin; i < r.end; i++) ((type *)y)[i] = (type)(((const type *)x->data)[i] > (type)threshold)

static ox_status *run_binarizer(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  float threshold = ((const binarizer_attrs *)c->attrs)->threshold;
  const ox_tensor *x = c->in[0];
  ox_range r = elements(c, tiles);
  void *y = c->out[0]->data;
  /* integers: x > t means x > floor(t), exact as long as floor(t) is a number of the type */
  if (x->dtype == OX_F32) {
    BINARIZE(float);
  } else if (x->dtype == OX_F64) {
    BINARIZE(double);
  } else {
    double bound = floor((double)threshold);
    for (int64_t i = r.begin; i < r.end; i++) {
      int64_t v = x->dtype == OX_I32 ? ((const int32_t *)x->data)[i] : ((const int64_t *)x->data)[i];
      bool above = bound < -0x1p63 ? true : bound >= 0x1p63 || isnan(bound) ? false : v > ox_i64_of(bound);
      if (x->dtype == OX_I32)
        ((int32_t *)y)[i] = above;
      else
        ((int64_t *)y)[i] = above;
    }
  }
  return NULL;
}

/* ---- Imputer ---- */
typedef struct imputer_attrs {
  ox_floats imputed_value_floats;
  ox_ints imputed_value_int64s;
  float replaced_value_float;
  int64_t replaced_value_int64;
} imputer_attrs;
static const ox_attr_def imputer_attr_defs[] = {
    OX_ATTR_FLOATS(imputer_attrs, imputed_value_floats),
    OX_ATTR_INTS(imputer_attrs, imputed_value_int64s),
    OX_ATTR_FLOAT(imputer_attrs, replaced_value_float, 0),
    OX_ATTR_INT(imputer_attrs, replaced_value_int64, 0),
};

static ox_status *prepare_imputer(ox_kernel_ctx *c) {
  const imputer_attrs *a = c->attrs;
  size_t n = ox_dtype_is_float(c->in[0]->dtype) ? a->imputed_value_floats.n : a->imputed_value_int64s.n;
  int64_t f = features_of(&c->in[0]->shape);
  if (n != 1 && (n == 0 || (int64_t)n != f))
    return ox_fail(OX_SHAPE_MISMATCH, "Imputer has %zu values for %lld features of %s", n, (long long)f,
                   ox_dtype_name(c->in[0]->dtype));
  return prepare_elements(c);
}

#define IMPUTE(type, values, is_missing)                                    \
  for (int64_t i = r.begin, n = (int64_t)values.n; i < r.end; i++) {        \
    type v = ((const type *)x->data)[i];                                    \
    ((type *)y)[i] = (is_missing) ? (type)values.v[n == 1 ? 0 : i % n] : v; \
  }

static ox_status *run_imputer(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const imputer_attrs *a = c->attrs;
  const ox_tensor *x = c->in[0];
  ox_range r = elements(c, tiles);
  void *y = c->out[0]->data;
  float gone = a->replaced_value_float;
  bool nan = isnan(gone);
  switch (x->dtype) {
    case OX_F32:
      IMPUTE(float, a->imputed_value_floats, v == gone || (nan && isnan(v))) break;
    case OX_F64:
      IMPUTE(double, a->imputed_value_floats, v == (double)gone || (nan && isnan(v))) break;
    case OX_I32:
      IMPUTE(int32_t, a->imputed_value_int64s, v == a->replaced_value_int64) break;
    default:
      IMPUTE(int64_t, a->imputed_value_int64s, v == a->replaced_value_int64) break;
  }
  return NULL;
}

/* ---- Normalizer ---- */
typedef struct normalizer_attrs {
  const char *norm;
} normalizer_attrs;
static const ox_attr_def normalizer_attr_defs[] = {OX_ATTR_STR(normalizer_attrs, norm, "MAX")};

typedef struct normalizer_prep {
  char norm; /* 'M', '1', '2' */
  int64_t outer, features, inner, tile_rows;
} normalizer_prep;

static ox_status *prepare_normalizer(ox_kernel_ctx *c) {
  const char *norm = ((const normalizer_attrs *)c->attrs)->norm;
  const ox_shape *s = &c->in[0]->shape;
  normalizer_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  p->norm = !strcmp(norm, "MAX") ? 'M' : !strcmp(norm, "L1") ? '1' : !strcmp(norm, "L2") ? '2' : 0;
  if (!p->norm) return ox_fail(OX_INVALID_MODEL, "unknown norm \"%.40s\"", norm);
  p->features = features_of(s);
  p->outer = s->rank < 2 ? 1 : s->dim[0];
  p->inner = s->rank < 3 ? 1 : ox_shape_span(s, 2, s->rank);
  p->tile_rows = OX_MAX(TILE / OX_MAX(p->features, 1), 1);
  return ox_ctx_plan(c, OX_CEIL_DIV(p->outer * p->inner, p->tile_rows), (size_t)p->features * sizeof(double));
}

static double norm_of(char norm, const double *v, int64_t n) {
  double sum = 0, most = -INFINITY;
  for (int64_t i = 0; i < n; i++) {
    most = v[i] > most ? v[i] : most;
    sum += norm == '1' ? fabs(v[i]) : v[i] * v[i];
  }
  return norm == 'M' ? most : norm == '1' ? sum : sqrt(sum);
}

/* Rows of floats, whose largest element or sum of magnitudes needs no double. */
static double norm_of_floats(const ox_kernel_ctx *c, char norm, const float *x, int64_t n) {
  enum { LANES = 4 };
  float most[LANES] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  int64_t i = 0;
  if (norm == '1') return ox_reduce_select(c->isa)->row[OX_FOLD_ABS](x, (size_t)n, 0);
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
  for (; i < n; i++) most[0] = x[i] > most[0] ? x[i] : most[0];
  for (int k = 1; k < LANES; k++) most[0] = most[k] > most[0] ? most[k] : most[0];
  return (double)most[0];
}

static void divide_floats(const float *x, int64_t n, float by, float *y) {
  enum { LANES = 4 };
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    float v[LANES];
    for (int k = 0; k < LANES; k++) v[k] = x[i + k] / by;
    memcpy(y + i, v, sizeof v); /* which may be x */
  }
  for (; i < n; i++) y[i] = x[i] / by;
}

static void normalize(const ox_kernel_ctx *c, const normalizer_prep *p, int64_t at, double *v) {
  const ox_tensor *x = c->in[0];
  float *y = (float *)c->out[0]->data + at;
  if (p->inner == 1 && p->norm != '2' && x->dtype == OX_F32) {
    const float *row = (const float *)x->data + at;
    double norm = norm_of_floats(c, p->norm, row, p->features);
    divide_floats(row, p->features, norm != 0 ? (float)norm : 1, y);
    return;
  }
  if (p->inner == 1)
    ox_ml_read_f64(x->dtype, x->data, at, p->features, v);
  else
    for (int64_t i = 0; i < p->features; i++) ox_ml_read_f64(x->dtype, x->data, at + i * p->inner, 1, v + i);
  double norm = norm_of(p->norm, v, p->features);
  for (int64_t i = 0; i < p->features; i++) y[i * p->inner] = (float)(norm != 0 ? v[i] / norm : v[i]);
}

static ox_status *run_normalizer(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const normalizer_prep *p = c->prep;
  int64_t end = OX_MIN(tiles.end * p->tile_rows, p->outer * p->inner);
  for (int64_t row = tiles.begin * p->tile_rows; row < end; row++)
    normalize(c, p, row / p->inner * p->features * p->inner + row % p->inner, scratch);
  return NULL;
}

#define NUMBERS (OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_I32) | OX_BIT(OX_I64))
#define ROW(op, stem, inf, prep)                                                                            \
  {                                                                                                         \
    OX_SCHEMA(.name = op, .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1, .types = {NUMBERS}, \
              OX_ATTRS(stem##_attr_defs), .attrs_bytes = sizeof(stem##_attrs), .infer = inf),               \
        OX_KERNEL(.inplace = 1, .prepare = prep, .run = run_##stem)                                         \
  }
static const ox_op ops[] = {
    ROW("Scaler", scaler, infer_f32, prepare_scaler),
    ROW("Normalizer", normalizer, infer_f32, prepare_normalizer),
    ROW("Imputer", imputer, ox_infer_same_as_input, prepare_imputer),
    ROW("Binarizer", binarizer, ox_infer_same_as_input, prepare_elements),
};
const ox_op_set ox_ops_ml_scaler = {ops, OX_COUNT(ops)};
