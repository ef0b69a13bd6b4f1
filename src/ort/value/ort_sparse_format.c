/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_sparse_format.c - the three formats of sparse tensors: what their indices may be, and the coordinates
 * that they stand for. */
#include <stdlib.h>

#include "ort/ort_size.h"
#include "ort/value/ort_sparse.h"
#include "ort/ort_status.h"

/* Elements of the whole; false: more than can be counted. */
static bool count_whole(const ort_sparse *s, int64_t *out) {
  size_t n = 1;
  for (int32_t i = 0; i < s->shape.rank; i++)
    if (!ort_mul_ok(n, (size_t)s->shape.dim[i], &n)) return false;
  *out = (int64_t)n;
  return n <= INT64_MAX;
}

/* ---- coordinates ---- */

static OrtStatus *check_linear(const char *function, const ort_sparse *s, int64_t n) {
  const int64_t *at = s->indices.data;
  int64_t whole;
  if (!count_whole(s, &whole)) return ort_fail(ORT_FAIL, "%s: 'dense_shape' is too large", function);
  for (int64_t i = 0; i < n; i++)
    if (at[i] < 0 || at[i] >= whole)
      return ort_fail(ORT_INVALID_ARGUMENT, "%s: COO linear index out of bounds: %lld must be in [0, %lld)", function,
                      (long long)at[i], (long long)whole);
  return NULL;
}

static OrtStatus *check_pairs(const char *function, const ort_sparse *s, int64_t n) {
  const int64_t *at = s->indices.data;
  for (int64_t i = 0; i < 2 * n; i++)
    if (at[i] < 0 || at[i] >= s->shape.dim[i % 2])
      return ort_fail(ORT_INVALID_ARGUMENT, "%s: COO index out of bounds: %lld must be in [0, %lld)", function,
                      (long long)at[i], (long long)s->shape.dim[i % 2]);
  return NULL;
}

static OrtStatus *set_coo(const char *function, ort_sparse *s) {
  int64_t values = ox_tensor_count(&s->values), indices = ox_tensor_count(&s->indices);
  if (indices == 0 && values > 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: COO indices must be provided when the sparse tensor has values",
                    function);
  bool linear = indices == values && values > 0;
  if (!linear && (indices % 2 != 0 || indices / 2 != values))
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "%s: %lld indices: COO indices count must be equal to or twice the values count, %lld", function,
                    (long long)indices, (long long)values);
  if (!linear && s->shape.rank != 2 && values > 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: pairs of COO indices are for two dimensions, not %d", function,
                    (int)s->shape.rank);
  s->indices.shape = linear ? (ox_shape){1, {values}} : (ox_shape){2, {values, 2}};
  ORT_TRY(linear ? check_linear(function, s, values) : check_pairs(function, s, values));
  s->coo[1] = s->indices;
  return NULL;
}

/* ---- the others: |places| gets a linear index per value ---- */

static OrtStatus *make_places(ort_sparse *s, int64_t n) {
  size_t bytes;
  s->places = ort_mul_ok((size_t)n, sizeof *s->places, &bytes) ? malloc(bytes > 0 ? bytes : 1) : NULL;
  if (s->places == NULL) return ort_out_of_memory();
  s->coo[1] = (ox_tensor){.kind = OX_TENSOR, .dtype = OX_I64, .data = s->places, .bytes = bytes, .shape = {1, {n}}};
  return NULL;
}

static OrtStatus *check_csr(const char *function, const ort_sparse *s) {
  int64_t n = ox_tensor_count(&s->values), inner = ox_tensor_count(&s->indices), outer = ox_tensor_count(&s->outer);
  const int64_t *columns = s->indices.data, *rows = s->outer.data;
  if (s->shape.rank != 2)
    return ort_fail(ORT_FAIL, "%s: CSR is for two dimensions, not %d", function, (int)s->shape.rank);
  if (inner == 0 && outer == 0 && n == 0) return NULL;
  if (outer > 0 && rows[outer - 1] != inner)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "%s: CSR outer index last element must equal inner index count (%lld), got: "
                    "%lld",
                    function, (long long)inner, (long long)rows[outer - 1]);
  for (int64_t i = 0; i < outer; i++)
    if (rows[i] < (i > 0 ? rows[i - 1] : 0) || (i == 0 && rows[i] != 0))
      return ort_fail(ORT_INVALID_ARGUMENT, "%s: CSR outer index %lld is %lld: they begin with 0 and do not fall",
                      function, (long long)i, (long long)rows[i]);
  for (int64_t i = 0; i < inner; i++)
    if (columns[i] < 0 || columns[i] >= s->shape.dim[1])
      return ort_fail(ORT_INVALID_ARGUMENT, "%s: CSR inner index out of bounds: %lld must be in [0, %lld)", function,
                      (long long)columns[i], (long long)s->shape.dim[1]);
  if (inner != n)
    return ort_fail(ORT_FAIL, "%s: %lld inner indices of CSR for %lld values", function, (long long)inner,
                    (long long)n);
  if (outer != s->shape.dim[0] + 1)
    return ort_fail(ORT_FAIL, "%s: %lld outer indices of CSR, wanted %lld: one per row and one more", function,
                    (long long)outer, (long long)s->shape.dim[0] + 1);
  return NULL;
}

static OrtStatus *set_csr(const char *function, ort_sparse *s) {
  int64_t whole;
  ORT_TRY(check_csr(function, s));
  if (!count_whole(s, &whole)) return ort_fail(ORT_FAIL, "%s: 'dense_shape' is too large", function);
  ORT_TRY(make_places(s, ox_tensor_count(&s->values)));
  const int64_t *columns = s->indices.data, *rows = s->outer.data;
  for (int64_t r = 0; r + 1 < ox_tensor_count(&s->outer); r++)
    for (int64_t i = rows[r]; i < rows[r + 1]; i++) s->places[i] = r * s->shape.dim[1] + columns[i];
  return NULL;
}

/* Values are [blocks, height, width], indices [2, blocks]: in which row and which column of blocks each lies. */
static OrtStatus *check_blocks(const char *function, const ort_sparse *s) {
  const ox_shape *v = &s->values.shape, *i = &s->indices.shape, *whole = &s->shape;
  if (whole->rank != 2 || v->rank != 3)
    return ort_fail(ORT_FAIL, "%s: blocks are [number, height, width] of two dimensions; got %d of %d", function,
                    (int)v->rank, (int)whole->rank);
  if (i->rank != 2 || i->dim[0] != 2 || i->dim[1] != v->dim[0])
    return ort_fail(ORT_FAIL, "%s: indices of blocks are [2, %lld]", function, (long long)v->dim[0]);
  const int32_t *at = s->indices.data;
  for (int64_t b = 0; b < 2 * v->dim[0]; b++) {
    int64_t axis = b / v->dim[0], size = v->dim[1 + axis], room = whole->dim[axis];
    if (at[b] < 0 || size == 0 || size > room || at[b] > room / size - 1)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "%s: block index out of bounds: %d, with blocks of %lld in a dimension of %lld", function,
                      (int)at[b], (long long)size, (long long)room);
  }
  return NULL;
}

static OrtStatus *set_blocks(const char *function, ort_sparse *s) {
  int64_t whole;
  ORT_TRY(check_blocks(function, s));
  if (!count_whole(s, &whole)) return ort_fail(ORT_FAIL, "%s: 'dense_shape' is too large", function);
  ORT_TRY(make_places(s, ox_tensor_count(&s->values)));
  const int64_t n = s->values.shape.dim[0], height = s->values.shape.dim[1], width = s->values.shape.dim[2];
  const int32_t *at = s->indices.data;
  int64_t *place = s->places;
  for (int64_t b = 0; b < n; b++)
    for (int64_t y = 0; y < height; y++)
      for (int64_t x = 0; x < width; x++) *place++ = (at[b] * height + y) * s->shape.dim[1] + at[n + b] * width + x;
  return NULL;
}

OrtStatus *ort_sparse_set_format(const char *function, ort_sparse *s, OrtSparseFormat format) {
  if (format == ORT_SPARSE_COO)
    ORT_TRY(set_coo(function, s));
  else if (format == ORT_SPARSE_CSRC)
    ORT_TRY(set_csr(function, s));
  else
    ORT_TRY(set_blocks(function, s));
  s->coo[0] = s->values;
  s->coo[0].shape = (ox_shape){1, {ox_tensor_count(&s->values)}};
  s->format = format;
  return NULL;
}
