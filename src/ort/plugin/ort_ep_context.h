/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_context.h - models whose parts are compiled: in place of the nodes of a part there is a node
 * EPContext, which the provider's library made and will take again. */
#ifndef OX_ORT_EP_CONTEXT_H
#define OX_ORT_EP_CONTEXT_H

#include "ort/model/ort_graph.h"
#include "ort/model/ort_proto.h"

/* A node that stands for a part, as fields of a GraphProto. */
typedef struct ort_context_node {
  struct ort_context_node *next;
  ort_bytes node;
  ort_bytes initializers; /* the constants that it reads */
  ort_bytes values;       /* what it makes: no inference knows the types */
} ort_context_node;

/* Of |node|, which a library made for |part|. */
OX_NODISCARD OrtStatus *ort_context_node_create(const OrtGraph *part, const OrtNode *node, ort_context_node **out);
void ort_context_nodes_release(ort_context_node *first);

/* The |n| bytes of |model|, a ModelProto, with |nodes| in place of what they stand for; what nobody needs then is not
 * there. |properties|: of its metadata. */
OX_NODISCARD OrtStatus *ort_context_model_write(const void *model, size_t n, const ort_context_node *nodes,
                                                const OrtKeyValuePairs *properties, ort_bytes *out);

#endif
