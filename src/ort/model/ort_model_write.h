/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_model_write.h - what the model editor made as bytes of onnx.proto's messages. */
#ifndef OX_ORT_MODEL_WRITE_H
#define OX_ORT_MODEL_WRITE_H

#include "ort/model/ort_graph.h"
#include "ort/model/ort_proto.h"
#include "ort/session/ort_session_options.h"

enum {
  ORT_EDITOR_IR = 14,    /* ir_version */
  ORT_INLINE_BYTES = 128 /* an initializer of fewer is in the bytes, others are handed over as they lie in memory */
};

/* Fields of onnx.proto that more than one file here writes or reads. */
enum {
  ORT_MODEL_IR = 1,
  ORT_MODEL_GRAPH = 7,
  ORT_MODEL_OPSET = 8,
  ORT_OPSET_DOMAIN = 1,
  ORT_OPSET_VERSION = 2,
  ORT_GRAPH_NODE = 1,
  ORT_GRAPH_INITIALIZER = 5,
  ORT_GRAPH_INPUT = 11,
  ORT_GRAPH_OUTPUT = 12,
  ORT_GRAPH_VALUE = 13
};

/* |model| as a ModelProto; |whole|: with the contents of all initializers, also of large ones. */
OX_NODISCARD OrtStatus *ort_model_write(const OrtModel *model, bool whole, ort_bytes *out);
/* A node as a field of a GraphProto. */
void ort_node_write(const OrtNode *node, ort_bytes *graph);
/* A tensor's name and type as the field |field| of a GraphProto. */
OX_NODISCARD OrtStatus *ort_value_write(const OrtValueInfo *v, uint32_t field, ort_bytes *graph);
/* The fields of a GraphProto: nodes and initializers, and inputs and outputs as far as there are any. */
OX_NODISCARD OrtStatus *ort_graph_write(const OrtGraph *graph, bool whole, ort_bytes *out);
void ort_opset_write(ort_bytes *model, const char *domain, int64_t version);
/* The content of an initializer, for the session; retained. */
OX_NODISCARD OrtStatus *ort_options_give(OrtSessionOptions *options, const char *name, ox_value *value);
/* The initializers whose contents are not in the bytes are added to |options|. */
OX_NODISCARD OrtStatus *ort_model_give(const OrtModel *model, OrtSessionOptions *options);

#endif
