/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_model_file.h - optimized models, as bytes and as files. */
#ifndef OX_ORT_MODEL_FILE_H
#define OX_ORT_MODEL_FILE_H

#include "onyx/onyx.h"
#include "ort/session/ort_externalize.h"

/* The optimized model of |s|. */
OX_NODISCARD OrtStatus *ort_model_bytes(const ox_session *s, ort_bytes *out);
/* Writes |bytes| to |path|, which stays as it was if that fails. Error: INVALID_ARGUMENT with the system's reason. */
OX_NODISCARD OrtStatus *ort_file_write(const char *path, const void *bytes, size_t n);
/* Puts data into the file |place->location|, which lies beside |path|. */
OX_NODISCARD OrtStatus *ort_model_move_data(ort_bytes *model, const char *path, ort_external_place place);
/* Writes the model of |s| to |path|; with |external| (or NULL) for data of |threshold| bytes and more. */
OX_NODISCARD OrtStatus *ort_model_write_file(const ox_session *s, const char *path, const char *external,
                                             size_t threshold);

#endif
