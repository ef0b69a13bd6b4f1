/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_value_info.c - what clients ask about a value of a graph. */
#include <pthread.h>
#include <stdlib.h>

#include "ort/model/ort_read.h"

OrtStatus *ort_GetValueInfoName(const OrtValueInfo *value_info, const char **name) {
  ORT_ANSWER(value_info, name, value_info->name);
}

OrtStatus *ort_GetValueInfoTypeInfo(const OrtValueInfo *value_info, const OrtTypeInfo **type_info) {
  ORT_ANSWER(value_info, type_info, value_info->type);
}

void ort_ReleaseValueInfo(OrtValueInfo *value_info) {
  if (value_info != NULL && value_info->graph == NULL) ort_value_info_release(value_info);
}

/* ---- edges ---- */

OrtStatus *ort_ValueInfo_GetValueProducer(const OrtValueInfo *value_info, const OrtNode **producer_node,
                                          size_t *producer_output_index) {
  ORT_NEED(value_info);
  ORT_NEED(producer_node);
  ORT_NOT_OF_EDITOR(value_info, "the producer");
  *producer_node = value_info->producer;
  if (producer_output_index != NULL) *producer_output_index = value_info->producer_output;
  return NULL;
}

OrtStatus *ort_ValueInfo_GetValueNumConsumers(const OrtValueInfo *value_info, size_t *num_consumers) {
  ORT_ANSWER_READ(value_info, "the number of consumers", num_consumers, value_info->n_uses);
}

OrtStatus *ort_ValueInfo_GetValueConsumers(const OrtValueInfo *value_info, const OrtNode **nodes,
                                           int64_t *input_indices, size_t num_consumers) {
  ORT_NEED(value_info);
  ORT_NEED(nodes);
  ORT_NEED(input_indices);
  ORT_NOT_OF_EDITOR(value_info, "the consumers");
  ORT_NEED_ROOM(num_consumers, value_info->n_uses);
  for (size_t i = 0; i < value_info->n_uses; i++)
    nodes[i] = value_info->uses[i].node, input_indices[i] = value_info->uses[i].index;
  return NULL;
}

/* ---- contents ---- */

/* Constants lie in the model's file at any address. Clients read elements: what does not lie on theirs is copied when
 * it is asked for the first time. */
static OrtStatus *align(OrtValueInfo *v) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  const ox_tensor *t = v->lent.tensor;
  uint32_t bytes = ox_type_bits(t->dtype) / 8;
  size_t align = t->dtype == OX_STRING ? _Alignof(ox_str) : bytes == 16 ? 8 : bytes;
  if (t->kind != OX_TENSOR || align < 2 || (uintptr_t)t->data % align == 0) return NULL;
  ox_value *copy;
  OrtStatus *st = NULL;
  pthread_mutex_lock(&lock);
  if (v->initializer == &v->lent) {
    OrtValue *value = NULL;
    st = ort_status_from(ox_value_create_copy(NULL, t, &copy));
    if (st == NULL) st = ort_value_adopt(copy, &value);
    if (st == NULL) v->initializer = value;
  }
  pthread_mutex_unlock(&lock);
  return st;
}

OrtStatus *ort_ValueInfo_GetInitializerValue(const OrtValueInfo *value_info, const OrtValue **initializer_value) {
  ORT_NEED(value_info);
  ORT_NEED(initializer_value);
  ORT_NOT_OF_EDITOR(value_info, "the value of an initializer");
  if (value_info->lent.tensor != NULL) ORT_TRY(align((OrtValueInfo *)(uintptr_t)value_info));
  *initializer_value = value_info->initializer;
  return NULL;
}

OrtStatus *ort_ValueInfo_GetExternalInitializerInfo(const OrtValueInfo *value_info, OrtExternalInitializerInfo **info) {
  ORT_NEED(value_info);
  ORT_NEED(info);
  ORT_NOT_OF_EDITOR(value_info, "the place of an initializer");
  const OrtExternalInitializerInfo *external = value_info->external;
  *info = NULL;
  return external != NULL ? ort_CreateExternalInitializerInfo(external->path, external->offset, external->bytes, info)
                          : NULL;
}

/* ---- roles ---- */

OrtStatus *ort_ValueInfo_IsRequiredGraphInput(const OrtValueInfo *value_info, bool *is_required_graph_input) {
  ORT_ANSWER_READ(value_info, "whether it is an input", is_required_graph_input, value_info->required_input);
}

OrtStatus *ort_ValueInfo_IsOptionalGraphInput(const OrtValueInfo *value_info, bool *is_optional_graph_input) {
  ORT_ANSWER_READ(value_info, "whether it is an input", is_optional_graph_input, value_info->optional_input);
}

OrtStatus *ort_ValueInfo_IsGraphOutput(const OrtValueInfo *value_info, bool *is_graph_output) {
  ORT_ANSWER_READ(value_info, "whether it is an output", is_graph_output, value_info->graph_output);
}

OrtStatus *ort_ValueInfo_IsConstantInitializer(const OrtValueInfo *value_info, bool *is_constant_initializer) {
  ORT_ANSWER_READ(value_info, "whether it is constant", is_constant_initializer, value_info->constant);
}

OrtStatus *ort_ValueInfo_IsFromOuterScope(const OrtValueInfo *value_info, bool *is_outer_scope) {
  ORT_ANSWER_READ(value_info, "whether it is an enclosing graph's", is_outer_scope, value_info->outer);
}
