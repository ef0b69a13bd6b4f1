/* SPDX-License-Identifier: Apache-2.0
 * onnx/write.h - the graph IR back to ModelProto bytes. */
#ifndef OX_ONNX_WRITE_H
#define OX_ONNX_WRITE_H

#include "graph/graph.h"
#include "base/sink.h"

/* Writes |m|: live nodes in topological order, constants as initializers, known types as value infos. Large constants
 * go from their memory straight to |sink|. ox_model_read of the result gives an equal model.
 * Errors: the sink's; INVALID_MODEL (a cycle); OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_model_write(const ox_model *m, ox_sink sink);
/* Writes |m| to the file |path|, which may be the one that it was read from (base/file_replace.h). Errors: FAIL with the
 * system's reason; those of ox_model_write. */
OX_NODISCARD ox_status *ox_model_write_file(const ox_model *m, const char *path);

#endif
