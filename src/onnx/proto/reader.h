/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/reader.h - what the readers of the messages share (private to onnx/). */
#ifndef OX_ONNX_PROTO_READER_H
#define OX_ONNX_PROTO_READER_H

#include "graph/graph.h"
#include "onnx/proto/denotations.h"
#include "onnx/proto/tensor.h"
#include "onnx/proto/wire.h"

/* What a model may have at most; 0: the default (onnx/model.h). */
typedef struct ox_read_limits {
  uint32_t depth; /* of nested graphs and types */
  uint64_t nodes;
  size_t dense_bytes; /* of all sparse initializers made dense */
} ox_read_limits;

/* Where a model's tensors may come from besides its own bytes. */
typedef struct ox_read_source {
  const char *dir, *path; /* ox_external_init */
  ox_file_maps *files;
  const ox_given_tensor *given; /* for initializers of the main graph */
  size_t n_given, n_optional;
  const ox_memory_file *memory_files;
  size_t n_memory_files;
  ox_denotations denotations;
} ox_read_source;

typedef struct ox_reader {
  ox_model *m;
  ox_read_limits limits; /* defaults filled in; dense_bytes: what is left of it */
  ox_external external;
  ox_givens given;
  ox_denotations denotations;
  ox_tensor_reader tensors;
  ox_arena scratch; /* names while they are looked up; reset at each node and value */
  uint64_t n_nodes;
  uint32_t depth;
  bool in_function;
} ox_reader;

/* The NUL-terminated copy of |s| in |arena|. Error: INVALID_MODEL if it has a NUL inside. */
OX_NODISCARD ox_status *ox_read_name(ox_arena *arena, ox_str s, const char **out_name);
OX_NODISCARD ox_status *ox_reader_enter(ox_reader *r); /* one level deeper; Error: LIMIT */
static inline void ox_reader_leave(ox_reader *r) { r->depth--; }

OX_NODISCARD ox_status *ox_read_type(ox_reader *r, ox_str bytes, ox_type *out_type);
/* Reads a ValueInfoProto; |out_name| is in the scratch arena. */
OX_NODISCARD ox_status *ox_read_value_info(ox_reader *r, ox_str bytes, const char **out_name, ox_type *out_type);
/* Sets the declared type of the value that |bytes|, a ValueInfoProto, names; unknown names are ignored. */
OX_NODISCARD ox_status *ox_apply_value_info(ox_reader *r, ox_graph *g, ox_str bytes);

/* Fills the empty model |m| from |bytes|, which must outlive it. |limits| and |from| may be NULL. */
OX_NODISCARD ox_status *ox_model_fill(ox_model *m, const unsigned char *bytes, size_t n, const ox_read_limits *limits,
                                      const ox_read_source *from);

/* Fills |g| from a GraphProto. */
OX_NODISCARD ox_status *ox_read_graph(ox_reader *r, ox_str bytes, ox_graph *g);
/* Adds the nodes in the fields |tag| of |bytes|: first all outputs, then the nodes, which may come in any order. */
OX_NODISCARD ox_status *ox_read_nodes(ox_reader *r, ox_str bytes, uint32_t tag, ox_graph *g);
OX_NODISCARD ox_status *ox_read_attr(ox_reader *r, ox_graph *g, ox_str bytes, ox_attr *out_attr);
OX_NODISCARD ox_status *ox_read_function(ox_reader *r, ox_str bytes, ox_function *out_function);
OX_NODISCARD ox_status *ox_read_opset(ox_reader *r, ox_str bytes, ox_opset *out_opset);
OX_NODISCARD ox_status *ox_read_prop(ox_reader *r, ox_str bytes, ox_prop *out_prop);

#endif
