/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/external_data.h - tensor data in files beside the model. */
#ifndef OX_ONNX_PROTO_EXTERNAL_DATA_H
#define OX_ONNX_PROTO_EXTERNAL_DATA_H

#include "graph/graph.h"
#include "onyx/onyx.h"

/* Finds, checks and maps data files, one map per file. Lives while a model is being read; the model keeps the maps. */
typedef struct ox_external {
  ox_alloc alloc;
  ox_model *model;
  ox_file_maps *files; /* that maps are shared with, or NULL */
  char *roots[2];     /* real paths of the folders that files may lie in; from malloc, NULL: none */
  ox_map by_path;     /* locations and real paths to indices into |maps| */
  ox_file_map **maps; /* borrowed from the model */
  size_t n_maps, cap_maps;
  const ox_memory_file *given; /* files that the caller has in memory */
  size_t n_given;
} ox_external;

/* |dir| is the model's folder (NULL: no external data allowed). |model_path| (or NULL) may be a symbolic link: files
 * beside its target are then allowed too: shared model caches are built of such links. |files| may be NULL. */
void ox_external_init(ox_external *e, ox_model *model, const char *dir, const char *model_path, ox_file_maps *files);
void ox_external_deinit(ox_external *e);

typedef struct ox_external_ref {
  ox_str location;
  ox_str offset, length; /* decimal; p NULL: absent */
} ox_external_ref;

/* The data, |bytes| long, that |ref| refers to. Errors: INVALID_MODEL (forbidden path, wrong range), NO_SUCH_FILE. */
OX_NODISCARD ox_status *ox_external_find(ox_external *e, const ox_external_ref *ref, size_t bytes, void **out_data);

#endif
