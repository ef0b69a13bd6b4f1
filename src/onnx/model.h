/* SPDX-License-Identifier: Apache-2.0
 * onnx/model.h - reads a ModelProto, from bytes or from a file, into the graph IR. Tensors borrow from the bytes: the
 * time that reading takes depends on the graph, not on the weights. */
#ifndef OX_ONNX_MODEL_H
#define OX_ONNX_MODEL_H

#include "graph/graph.h"
#include "onnx/proto/denotations.h"
#include "onnx/proto/external_data.h"
#include "onnx/proto/given.h"

/* Limits: 0 means the default. */
typedef struct ox_read_opts {
  const ox_registry *registry; /* the model's (ox_model_create) */
  const char *base_dir;        /* folder for external data; NULL: the file's, or none for bytes */
  uint32_t max_depth;          /* nested graphs and types; default 64 */
  uint64_t max_nodes;          /* of all graphs and functions; default 16 million */
  size_t max_dense_bytes;      /* all sparse initializers made dense; default 1 GiB */
  ox_file_maps *files;         /* open maps to share; NULL: every file is mapped anew */
  ox_watch *watch;              /* becomes the model's; NULL: reading is never stopped */
  const ox_given_tensor *given; /* contents for initializers of the main graph, instead of the model's own */
  size_t n_given;
  size_t n_optional;                  /* so many of the last |given| are skipped if the model lacks them */
  const ox_memory_file *memory_files; /* external data by location, before files are looked for; outlive the model */
  size_t n_memory_files;
  ox_denotations denotations;
} ox_read_opts;

/* Reads a model out of |bytes|, which must outlive it: tensors point into them. |opts| may be NULL.
 * Errors: INVALID_MODEL naming graph, node, tensor; NOT_IMPLEMENTED; LIMIT; NO_SUCH_FILE (external data); SHAPE_MISMATCH
 * and INVALID_ARGUMENT (given contents). */
OX_NODISCARD ox_status *ox_model_read(ox_alloc alloc, const unsigned char *bytes, size_t n, const ox_read_opts *opts,
                                      ox_model **out_model);
/* Maps the file at |path| and reads it; the model keeps the map. */
OX_NODISCARD ox_status *ox_model_read_file(ox_alloc alloc, const char *path, const ox_read_opts *opts,
                                           ox_model **out_model);

#endif
