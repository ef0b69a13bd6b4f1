/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_graph.h - a graph as clients of the ABI see it: built by the model editor, or filled in from the
 * engine's view for execution providers. Plain objects that own what they point to, unless it says otherwise. */
#ifndef OX_ORT_GRAPH_H
#define OX_ORT_GRAPH_H

#include "onyx/ort_abi.h"
#include "ort/ort_type_info.h"
#include "ort/ort_value.h"

struct OrtExternalInitializerInfo {
  char *path;
  int64_t offset;
  size_t bytes;
};

typedef struct ort_use {
  OrtNode *node;
  size_t index; /* of the node's inputs; SIZE_MAX and up: of its implicit ones */
} ort_use;

struct OrtValueInfo {
  char *name;
  OrtTypeInfo *type; /* NULL: not known */
  OrtGraph *graph;   /* whose it is; borrowed */
  OrtNode *producer; /* NULL: an input or an initializer; borrowed */
  size_t producer_output;
  ort_use *uses;
  size_t n_uses;
  OrtValue *initializer; /* NULL: none */
  OrtExternalInitializerInfo *external;
  bool required_input, optional_input, graph_output, constant, outer;
  uint32_t id; /* in the engine's view; UINT32_MAX: none */
};

struct OrtOpAttr {
  char *name;
  OrtOpAttrType type;
  size_t n; /* of the lists; 1 for one value */
  int64_t *ints;
  float *floats;
  char **strings;
  size_t *string_bytes;
  OrtValue *tensor;
  OrtGraph *graph;
};

struct OrtNode {
  size_t id;
  char *name, *op, *domain;
  int since;
  OrtValueInfo **in, **out, **implicit; /* borrowed from their graph; NULL entry: left out */
  size_t n_in, n_out, n_implicit;
  OrtOpAttr **attrs;
  size_t n_attrs;
  OrtGraph *graph; /* borrowed */
  const char *ep;  /* its owner's name, NULL: none yet; borrowed */
};

struct OrtGraph {
  char *name, *model_path;
  int64_t ir_version;
  char **opset_domains;
  int64_t *opset_versions;
  size_t n_opsets;
  OrtValueInfo **values; /* all of them, owned; the lists below borrow */
  size_t n_values, values_room;
  OrtValueInfo **inputs, **outputs, **initializers;
  size_t n_inputs, n_outputs, n_initializers;
  OrtNode **nodes; /* owned, unless |view| */
  size_t n_nodes, nodes_room;
  OrtNode *parent; /* whose body it is; NULL: main graph */
  bool view;       /* a part of another graph: borrows its values and nodes (Graph_GetGraphView) */
};

struct OrtModel {
  OrtGraph *graph;
  char **opset_domains;
  int *opset_versions;
  size_t n_opsets;
};

/* |graph| as a ModelProto in memory from malloc. |ir_version| 0: the newest. */
OX_NODISCARD OrtStatus *ort_model_write(const OrtModel *model, void **out_bytes, size_t *out_n);
void ort_graph_release(OrtGraph *graph);

#endif
