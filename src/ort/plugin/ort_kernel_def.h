/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_kernel_def.h - a definition of a kernel. */
#ifndef OX_ORT_KERNEL_DEF_H
#define OX_ORT_KERNEL_DEF_H

#include "onyx/ort_ep.h"
#include "onyx/status.h"

enum { ORT_MOST_PLACES = 64 }; /* inputs, or outputs, that a definition places */

/* A set of types for a type variable, or for an input or output by its name. */
typedef struct ort_type_constraint {
  char *name;
  uint64_t types; /* bit: ONNXTensorElementDataType */
} ort_type_constraint;

struct OrtKernelDef {
  char *op, *domain, *ep; /* never NULL */
  int since, until;
  int8_t in[ORT_MOST_PLACES], out[ORT_MOST_PLACES]; /* OrtMemType */
  ort_type_constraint *constraints;
  size_t n_constraints;
};

OX_NODISCARD OrtStatus *ort_kernel_def_copy(const OrtKernelDef *from, OrtKernelDef **out);
/* OrtDataType is a tensor of elements of one type. Static. */
ONNXTensorElementDataType ort_data_type_element(const OrtDataType *type);

#endif
