/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_sparse_read.c - what a client asks a sparse tensor. One that the engine made has coordinates. */
#include <string.h>

#include "ort/ort_api.h"
#include "ort/value/ort_sparse.h"
#include "ort/ort_status.h"

/* The parts of |value|, whoever made it. */
static OrtStatus *look(const char *function, const OrtValue *value, ort_sparse *out) {
  if (value == NULL) return ort_null_argument(function, "ort_value");
  if (value->tensor->kind != OX_SPARSE)
    return ort_fail(ORT_RUNTIME_EXCEPTION, "%s: 'ort_value' is not a sparse tensor", function);
  const ox_tensor *pair = value->tensor->data;
  if (value->sparse != NULL)
    *out = *value->sparse;
  else
    *out = (ort_sparse){.format = ORT_SPARSE_COO, .values = pair[0], .indices = pair[1]};
  return NULL;
}

static OrtStatus *look_inside(const char *function, const OrtValue *value, ort_sparse *out) {
  ORT_TRY(look(function, value, out));
  if (out->format != ORT_SPARSE_UNDEFINED) return NULL;
  return ort_fail(ORT_FAIL, "%s: 'ort_value': Sparse Tensor does not contain sparse data", function);
}

OrtStatus *ort_GetSparseTensorFormat(const OrtValue *value, OrtSparseFormat *out) {
  ort_sparse s;
  ORT_NEED(out);
  ORT_TRY(look("GetSparseTensorFormat", value, &s));
  *out = s.format;
  return NULL;
}

/* Type and shape of |part|. */
static OrtStatus *describe(const ox_tensor *part, OrtTensorTypeAndShapeInfo **out) {
  return ort_GetTensorTypeAndShape(&(OrtValue){.tensor = part}, out);
}

OrtStatus *ort_GetSparseTensorValuesTypeAndShape(const OrtValue *value, OrtTensorTypeAndShapeInfo **out) {
  ort_sparse s;
  ORT_NEED(out);
  *out = NULL;
  ORT_TRY(look_inside("GetSparseTensorValuesTypeAndShape", value, &s));
  return describe(&s.values, out);
}

OrtStatus *ort_GetSparseTensorValues(const OrtValue *value, const void **out) {
  ort_sparse s;
  ORT_NEED(out);
  *out = NULL;
  ORT_TRY(look_inside("GetSparseTensorValues", value, &s));
  if (s.values.dtype == OX_STRING)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "GetSparseTensorValues: 'ort_value': Use GetStringTensor*() API to retrieve strings");
  *out = s.values.data;
  return NULL;
}

/* The indices of |format|; of another format than the tensor's there are none. */
static OrtStatus *find_indices(const char *function, const OrtValue *value, OrtSparseIndicesFormat format,
                               ox_tensor *out) {
  ort_sparse s;
  ORT_TRY(look_inside(function, value, &s));
  OrtSparseFormat wanted;
  switch (format) {
    case ORT_SPARSE_COO_INDICES:
      wanted = ORT_SPARSE_COO;
      break;
    case ORT_SPARSE_CSR_INNER_INDICES:
    case ORT_SPARSE_CSR_OUTER_INDICES:
      wanted = ORT_SPARSE_CSRC;
      break;
    case ORT_SPARSE_BLOCK_SPARSE_INDICES:
      wanted = ORT_SPARSE_BLOCK_SPARSE;
      break;
    default:
      return ort_fail(ORT_INVALID_ARGUMENT, "%s: 'indices_format' is %d: no such format", function, (int)format);
  }
  if (s.format != wanted)
    return ort_fail(ORT_FAIL, "%s: 'indices_format' is %d, but the tensor has format %d", function, (int)format,
                    (int)s.format);
  *out = format == ORT_SPARSE_CSR_OUTER_INDICES ? s.outer : s.indices;
  return NULL;
}

OrtStatus *ort_GetSparseTensorIndicesTypeShape(const OrtValue *value, OrtSparseIndicesFormat indices_format,
                                               OrtTensorTypeAndShapeInfo **out) {
  ox_tensor t;
  ORT_NEED(out);
  *out = NULL;
  ORT_TRY(find_indices("GetSparseTensorIndicesTypeShape", value, indices_format, &t));
  return describe(&t, out);
}

OrtStatus *ort_GetSparseTensorIndices(const OrtValue *value, OrtSparseIndicesFormat indices_format, size_t *num_indices,
                                      const void **indices) {
  ox_tensor t;
  ORT_NEED(num_indices);
  ORT_NEED(indices);
  ORT_TRY(find_indices("GetSparseTensorIndices", value, indices_format, &t));
  *num_indices = (size_t)ox_tensor_count(&t);
  *indices = t.data;
  return NULL;
}
