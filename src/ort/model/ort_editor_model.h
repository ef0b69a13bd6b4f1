/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_editor_model.h - sessions of models that the model editor made. */
#ifndef OX_ORT_EDITOR_MODEL_H
#define OX_ORT_EDITOR_MODEL_H

#include "ort/model/ort_graph.h"
#include "ort/session/ort_session.h"

/* A session of |model|, which may go afterwards; initializers that lie in the client's memory stay there. |options| may
 * be NULL. */
OX_NODISCARD OrtStatus *ort_session_create_from_model(const OrtEnv *env, const OrtModel *model,
                                                      const OrtSessionOptions *options, OrtSession **out);
/* Whether |model| is complete. */
OX_NODISCARD OrtStatus *ort_model_check(const OrtModel *model);
/* A clone of |options|, or the defaults. */
OX_NODISCARD OrtStatus *ort_options_for(const OrtSessionOptions *options, OrtSessionOptions **out);

#endif
