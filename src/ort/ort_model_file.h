/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_model_file.h - optimized models, written to files. */
#ifndef OX_ORT_MODEL_FILE_H
#define OX_ORT_MODEL_FILE_H

#include "ort/ort_session_options.h"

/* Writes the optimized model of |s|, which was created with |options|, to |path|. */
OX_NODISCARD OrtStatus *ort_model_write_file(const ox_session *s, const OrtSessionOptions *options, const char *path);

#endif
