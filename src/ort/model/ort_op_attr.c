/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_op_attr.c - what clients ask about an attribute of a node. */
#include "ort/model/ort_read.h"

OrtStatus *ort_OpAttr_GetType(const OrtOpAttr *attribute, OrtOpAttrType *type) {
  ORT_NEED(attribute);
  ORT_NEED(type);
  *type = attribute->type;
  return NULL;
}

OrtStatus *ort_OpAttr_GetName(const OrtOpAttr *attribute, const char **name) {
  ORT_NEED(attribute);
  ORT_NEED(name);
  *name = attribute->name;
  return NULL;
}

/* A copy: the caller may keep it longer than the graph lives. */
OrtStatus *ort_OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr *attribute, OrtValue **attr_tensor) {
  ORT_NEED(attribute);
  ORT_NEED(attr_tensor);
  ox_value *copy;
  *attr_tensor = NULL;
  if (attribute->type != ORT_OP_ATTR_TENSOR || attribute->tensor == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "OpAttr_GetTensorAttributeAsOrtValue: attribute '%s' is not a tensor",
                    attribute->name);
  ORT_TRY(ort_status_from(ox_value_create_copy(NULL, attribute->tensor->tensor, &copy)));
  return ort_value_adopt(copy, attr_tensor);
}
