/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_graph_view.h - the engine's view of a graph (onyx/ep.h) as an OrtGraph, for libraries of providers. */
#ifndef OX_ORT_GRAPH_VIEW_H
#define OX_ORT_GRAPH_VIEW_H

#include "onyx/ep.h"
#include "ort/model/ort_graph.h"

/* |view| as a graph that lives no longer than it does: constants are lent, all else is copied. A node's id is its index
 * in |view|. Bodies are graphs in attributes; a body asked about on its own has its parent node, and that the values
 * which it reads. */
OX_NODISCARD OrtStatus *ort_graph_from_view(const ox_ep_host *host, const ox_graph_view *view, OrtGraph **out);

/* The inputs of |part|, as a program that does not drop constants has them: what its nodes read from outside, constants
 * included, in the order in which they are first read. They are the inputs of the graph from then on. */
OX_NODISCARD OrtStatus *ort_graph_list_constants_as_inputs(OrtGraph *part);

/* The one node that stands for |part|, with its inputs and outputs; to be released before |part|. |ep| is borrowed. */
OX_NODISCARD OrtStatus *ort_graph_fused_node(const OrtGraph *part, const char *name, const char *domain, const char *ep,
                                             OrtNode **out);

#endif
