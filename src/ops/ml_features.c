/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_features.c - FeatureVectorizer and ArrayFeatureExtractor of ai.onnx.ml. */
#include <string.h>

#include "graph/op_def.h"
#include "kern/ml/ml_scores.h"

/* ---- FeatureVectorizer: inputs side by side, each cut or zero-filled to its declared width ---- */
typedef struct vectorizer_attrs {
  ox_ints inputdimensions;
} vectorizer_attrs;
static const ox_attr_def vectorizer_attr_defs[] = {OX_ATTR_INTS_IN(vectorizer_attrs, inputdimensions, 0, OX_COUNT_MAX)};

static ox_status *widths(const vectorizer_attrs *a, uint32_t n_in, int64_t *total) {
  if (a->inputdimensions.n != n_in)
    return ox_fail(OX_INVALID_MODEL, "inputdimensions has %zu items for %u inputs", a->inputdimensions.n,
                   (unsigned)n_in);
  *total = 0;
  for (uint32_t i = 0; i < n_in; i++) *total += a->inputdimensions.v[i];
  return NULL;
}

static ox_status *infer_vectorizer(ox_infer_ctx *c) {
  int64_t total = 0, rows = -1;
  OX_TRY(widths(c->attrs, c->n_in, &total));
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (!c->in[i]) return ox_fail(OX_INVALID_MODEL, "FeatureVectorizer: input %u is missing", (unsigned)i);
    const ox_shape *s = &c->in[i]->shape;
    if (s->rank == 0) return ox_fail(OX_SHAPE_MISMATCH, "FeatureVectorizer: input %u is a scalar", (unsigned)i);
    if (s->rank < 0) continue;
    int64_t n = s->rank == 1 ? 1 : s->dim[0];
    if (rows >= 0 && n >= 0 && n != rows)
      return ox_fail(OX_SHAPE_MISMATCH, "FeatureVectorizer: input %u has %lld rows, wanted %lld", (unsigned)i,
                     (long long)n, (long long)rows);
    if (rows < 0) rows = n;
  }
  ox_shape y = ox_shape_of(2, (int64_t[]){rows, total});
  ox_infer_out(c, 0, OX_F32, &y);
  return NULL;
}

static ox_status *run_vectorizer(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const vectorizer_attrs *a = c->attrs;
  int64_t rows = c->out[0]->shape.dim[0], total = c->out[0]->shape.dim[1], at = 0;
  for (uint32_t i = 0; i < c->n_in; i++) {
    const ox_tensor *x = c->in[i];
    int64_t width = a->inputdimensions.v[i],
            have = x->shape.rank == 1 ? x->shape.dim[0] : ox_shape_span(&x->shape, 1, x->shape.rank);
    for (int64_t r = 0; r < rows; r++) {
      float *y = (float *)c->out[0]->data + r * total + at;
      int64_t n = OX_MIN(width, have);
      ox_ml_read_f32(x->dtype, x->data, r * have, n, y);
      for (int64_t k = n; k < width; k++) y[k] = 0;
    }
    at += width;
  }
  return NULL;
}

/* ---- ArrayFeatureExtractor: columns of X by number ---- */
static ox_status *infer_extractor(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  int64_t n = ox_shape_count(&c->in[1]->shape);
  if (x->rank == 0) return ox_fail(OX_SHAPE_MISMATCH, "ArrayFeatureExtractor: X is a scalar");
  if (n == 0) return ox_fail(OX_SHAPE_MISMATCH, "ArrayFeatureExtractor: Y is empty");
  ox_shape z = *x;
  if (x->rank == 1)
    z = ox_shape_of(2, (int64_t[]){1, n});
  else if (x->rank > 1)
    z.dim[x->rank - 1] = n;
  ox_infer_out(c, 0, c->in[0]->dtype, &z);
  return NULL;
}

OX_INLINE void pick_columns(const char *x, char *z, size_t item, int64_t rows, int64_t width, const int64_t *index,
                            int64_t n) {
  for (int64_t r = 0; r < rows; r++, x += (size_t)width * item)
    for (int64_t k = 0; k < n; k++, z += item) memcpy(z, x + (size_t)index[k] * item, item);
}

static ox_status *run_extractor(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const ox_tensor *x = c->in[0];
  const int64_t *index = c->in[1]->data;
  size_t item = ox_dtype_bits(x->dtype) / 8;
  int64_t width = x->shape.dim[x->shape.rank - 1], n = ox_shape_count(&c->in[1]->shape);
  int64_t rows = ox_shape_span(&x->shape, 0, x->shape.rank - 1);
  for (int64_t k = 0; k < n; k++)
    if (index[k] < 0 || index[k] >= width)
      return ox_fail(OX_INVALID_ARGUMENT, "ArrayFeatureExtractor: column %lld of %lld", (long long)index[k],
                     (long long)width);
  switch (item) { /* sizes that the compiler knows */
    case 4:
      pick_columns(x->data, c->out[0]->data, 4, rows, width, index, n);
      break;
    case 8:
      pick_columns(x->data, c->out[0]->data, 8, rows, width, index, n);
      break;
    default:
      pick_columns(x->data, c->out[0]->data, item, rows, width, index, n);
  }
  return NULL;
}

#define NUMBERS (OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_I32) | OX_BIT(OX_I64))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "FeatureVectorizer", .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = OX_VARIADIC,
               .types = {NUMBERS}, /* inputs may have different types */ OX_ATTRS(vectorizer_attr_defs),
               .attrs_bytes = sizeof(vectorizer_attrs), .infer = infer_vectorizer),
     OX_KERNEL(.run = run_vectorizer)},
    {OX_SCHEMA(.name = "ArrayFeatureExtractor", .domain = "ai.onnx.ml", .since = 1, .min_in = 2, .max_in = 2,
               .types = {NUMBERS | OX_BIT(OX_STRING), OX_BIT(OX_I64)}, .infer = infer_extractor),
     OX_KERNEL(.run = run_extractor)},
};
const ox_op_set ox_ops_ml_features = {ops, OX_COUNT(ops)};
