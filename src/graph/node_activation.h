/* SPDX-License-Identifier: Apache-2.0
 * graph/node_activation.h - operators that can be the activation of another one: y = f(x), where f has a name and
 * parameters that fused operators know (kern/act.h). */
#ifndef OX_GRAPH_NODE_ACTIVATION_H
#define OX_GRAPH_NODE_ACTIVATION_H

#include "graph/graph.h"
#include "onyx/rule.h"

/* ox_schema.activation. The parameters are the operator's float attributes, in the order of their table. */
typedef struct ox_activation_def {
  const char *name;
  /* Optional: for what name and attributes do not say; |a| is filled in from these. False: this node is none. Without
   * it, a node must have one input. */
  bool (*read)(const ox_graph *g, const ox_node *n, ox_activation *a);
} ox_activation_def;
#define OX_IS_ACTIVATION(fn_name, read_fn) \
  .activation = &(const ox_activation_def) { .name = (fn_name), .read = (read_fn) }

/* Reads |n|; false if it is no activation. */
bool ox_activation_read(const ox_graph *g, const ox_node *n, ox_activation *out);

#endif
