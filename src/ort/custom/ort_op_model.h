/* SPDX-License-Identifier: Apache-2.0
 * ort/custom/ort_op_model.h - a model of one node, as bytes. */
#ifndef OX_ORT_OP_MODEL_H
#define OX_ORT_OP_MODEL_H

#include "onyx/ort_abi.h"
#include "onyx/status.h"

typedef struct ort_op_node {
  const char *op, *domain;
  int version;
  size_t n_in, n_out;
  const uint32_t *in; /* element types; OX_UNDEFINED: the input is omitted */
  const OrtOpAttr *const *attrs;
  size_t n_attrs;
} ort_op_node;

/* Inputs are called "i0", "i1" ..., outputs "o0" ...; nothing is known of shapes. The bytes are for free(). */
OX_NODISCARD OrtStatus *ort_op_model_write(const ort_op_node *node, void **out_bytes, size_t *out_n);

/* Room for such a name. */
typedef char ort_op_value_name[16];
void ort_op_input_name(size_t i, ort_op_value_name out);
void ort_op_output_name(size_t i, ort_op_value_name out);

#endif
