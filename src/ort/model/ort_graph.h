/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_graph.h - a graph as clients of the ABI see it: built by the model editor, or filled in from the
 * engine's view for execution providers. Plain objects that own what they point to, unless it says otherwise. */
#ifndef OX_ORT_GRAPH_H
#define OX_ORT_GRAPH_H

#include "onyx/ort_abi.h"
#include "ort/ort_pairs.h"
#include "ort/value/ort_type_info.h"
#include "ort/value/ort_value.h"

struct OrtExternalInitializerInfo {
  char *path;
  int64_t offset;
  size_t bytes;
};

typedef struct ort_use {
  OrtNode *node;
  int64_t index; /* of the node's inputs; -1: a body of it reads the value */
} ort_use;

struct OrtValueInfo {
  char *name;
  OrtTypeInfo *type; /* NULL: not known */
  OrtGraph *graph;   /* whose it is; borrowed; NULL: the client's own */
  OrtNode *producer; /* NULL: an input or an initializer, or the node is not in this graph; borrowed */
  size_t producer_output;
  ort_use *uses;
  size_t n_uses, uses_room;
  OrtValue *initializer; /* NULL: none. May be |lent| */
  OrtValue lent;         /* over a constant of the engine's */
  OrtExternalInitializerInfo *external;
  bool required_input, optional_input, graph_output, constant, outer;
  bool editor;   /* made by the model editor, whose objects are not read */
  bool in_place; /* the initializer is used where it lies */
  bool listed;   /* ort_part.c: in the list that is being made */
  size_t place;  /* among the values of its graph */
  uint32_t id;   /* in the engine's view; UINT32_MAX: none */
};

struct OrtOpAttr {
  char *name;
  OrtOpAttrType type; /* UNDEFINED: a kind that the ABI has no name for; the content is not kept then */
  size_t n;           /* of the lists; 1 for one value */
  int64_t *ints;
  float *floats;
  char **strings;
  size_t *string_bytes;
  OrtValue *tensor;
  OrtGraph *graph;
};

/* Of the editor: |in_names| and |out_names| say what it reads and makes. Else |in|, |out| and |implicit| do. */
struct OrtNode {
  size_t id;    /* the editor's: its place in the graph; else in the engine's view */
  size_t place; /* among the nodes of its graph */
  char *name, *op, *domain;
  int since;
  OrtValueInfo **in, **out, **implicit; /* the values are borrowed from their graph; NULL entry: left out */
  char **in_names, **out_names;         /* "": left out */
  size_t n_in, n_out, n_implicit, implicit_room;
  OrtOpAttr **attrs;
  size_t n_attrs;
  OrtGraph *graph; /* borrowed; NULL: none yet */
  const char *ep;  /* its owner's name, NULL: none yet; borrowed */
  bool editor;
  bool lent_attrs; /* the attributes are another node's (Graph_GetGraphView) */
};

/* What a model says of itself; strings are never NULL. */
typedef struct ort_model_facts {
  char *path, *producer, *domain, *doc, *graph, *graph_doc;
  int64_t ir_version, version;
  char **opset_domains;
  int64_t *opset_versions;
  size_t n_opsets;
  OrtKeyValuePairs props;
} ort_model_facts;

struct OrtGraph {
  char *name;
  ort_model_facts *facts; /* NULL: the editor's */
  bool owns_facts;        /* the outermost graph's; bodies and views borrow them */
  OrtValueInfo **values;  /* all of them, owned; the lists below borrow */
  size_t n_values, values_room;
  OrtValueInfo **inputs, **outputs, **initializers;
  size_t n_inputs, n_outputs, n_initializers, initializers_room;
  OrtNode **nodes; /* owned */
  size_t n_nodes, nodes_room;
  OrtNode *parent;        /* whose body it is; NULL: main graph. Borrowed, unless */
  OrtGraph *parent_graph; /* the body was made alone: holds the parent and what it reads */
  bool editor;
  bool owned; /* by a model */
};

struct OrtModel {
  OrtGraph *graph;
  char **opset_domains;
  int *opset_versions;
  size_t n_opsets;
};

/* ---- making; what fails leaves all as it was ---- */

OX_NODISCARD OrtStatus *ort_graph_create(const char *name, OrtGraph **out);
/* A new value of |graph|; |type| (may be NULL) is taken over on success. */
OX_NODISCARD OrtStatus *ort_graph_add_value(OrtGraph *graph, const char *name, OrtTypeInfo *type, OrtValueInfo **out);
/* Takes |node| over on success. */
OX_NODISCARD OrtStatus *ort_graph_add_node(OrtGraph *graph, OrtNode *node);
OX_NODISCARD OrtStatus *ort_node_create(const char *name, const char *op, const char *domain, OrtNode **out);
OX_NODISCARD OrtStatus *ort_value_info_create(const char *name, OrtValueInfo **out);
OX_NODISCARD OrtStatus *ort_value_info_add_use(OrtValueInfo *value, OrtNode *node, int64_t index);

/* All take NULL. */
void ort_graph_release(OrtGraph *graph);
void ort_node_release(OrtNode *node);
void ort_value_info_release(OrtValueInfo *value);
void ort_model_facts_release(ort_model_facts *facts);
void ort_external_info_release(OrtExternalInitializerInfo *info);

/* A copy of |text| from malloc. */
OX_NODISCARD OrtStatus *ort_text_copy(const char *text, char **out);
/* |*items|, of |*room| elements of |bytes| each, gets room for one more than |n|. False: out of memory. */
bool ort_room_for(void **items, size_t *room, size_t n, size_t bytes);

#endif
