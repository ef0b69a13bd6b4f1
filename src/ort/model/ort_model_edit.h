/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_model_edit.h - a model that a session was opened with to be edited. */
#ifndef OX_ORT_MODEL_EDIT_H
#define OX_ORT_MODEL_EDIT_H

#include "ort/model/ort_model_write.h"

typedef struct ort_model_edit {
  ort_bytes bytes;            /* the model as it is by now */
  OrtSessionOptions *options; /* what it is loaded with; contents of initializers that were added */
} ort_model_edit;

void ort_model_edit_release(ort_model_edit *edit); /* takes NULL */

/* |base| with what |model| has: nodes and initializers are added, inputs and outputs replaced if there are any. */
OX_NODISCARD OrtStatus *ort_model_merge(const ort_bytes *base, const OrtModel *model, ort_bytes *out);

#endif
