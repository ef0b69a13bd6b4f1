/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_type_info.h - what an input, an output or a value is: owned trees that clients look into. */
#ifndef OX_ORT_TYPE_INFO_H
#define OX_ORT_TYPE_INFO_H

#include "onyx/onyx.h"
#include "onyx/op.h"
#include "onyx/ort_abi.h"

struct OrtTensorTypeAndShapeInfo {
  ONNXTensorElementDataType type;
  bool has_shape;
  size_t rank;
  int64_t dims[OX_MAX_RANK]; /* -1: not known */
  char *names[OX_MAX_RANK];  /* of symbolic dimensions, owned; NULL: none, "" for clients */
};

/* One block per node of the tree; |elem| owned. MAP: |key| and the values' type in |elem|. SEQUENCE, OPTIONAL: |elem|.
 */
struct OrtTypeInfo {
  ONNXType kind;
  OrtTensorTypeAndShapeInfo tensor; /* TENSOR, SPARSETENSOR */
  ONNXTensorElementDataType key;
  OrtTypeInfo *elem;
  char *denotation; /* owned; NULL: none */
};

/* Clients see these as views of the same node. */
struct OrtSequenceTypeInfo {
  OrtTypeInfo type;
};
struct OrtMapTypeInfo {
  OrtTypeInfo type;
};
struct OrtOptionalTypeInfo {
  OrtTypeInfo type;
};

OX_NODISCARD OrtStatus *ort_type_info_of_value(const OrtValue *value, OrtTypeInfo **out);
OX_NODISCARD OrtStatus *ort_type_info_of_info(const ox_value_info *info, OrtTypeInfo **out);
/* |dim_names|: a name per dimension or NULL; may be NULL. */
OX_NODISCARD OrtStatus *ort_type_info_of_type(const ox_type *type, const char *const *dim_names, OrtTypeInfo **out);
OX_NODISCARD OrtStatus *ort_type_info_copy(const OrtTypeInfo *from, OrtTypeInfo **out);
/* A node: TENSOR or SPARSETENSOR with a copy of |tensor|, or SEQUENCE, MAP, OPTIONAL with |elem|, which it takes over,
 * also on failure. */
OX_NODISCARD OrtStatus *ort_type_info_tensor(ONNXType kind, const OrtTensorTypeAndShapeInfo *tensor, OrtTypeInfo **out);
OX_NODISCARD OrtStatus *ort_type_info_around(ONNXType kind, ONNXTensorElementDataType key, OrtTypeInfo *elem,
                                             OrtTypeInfo **out);

/* |to| need not be anything before; on failure it has no names. */
OX_NODISCARD OrtStatus *ort_tensor_info_copy(const OrtTensorTypeAndShapeInfo *from, OrtTensorTypeAndShapeInfo *to);
void ort_tensor_info_deinit(OrtTensorTypeAndShapeInfo *info);

#endif
