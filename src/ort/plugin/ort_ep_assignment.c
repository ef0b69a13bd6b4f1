/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_assignment.c - the engine's placement as groups of nodes: the nodes of a program are one, every
 * other node is one by itself. What the host does by itself counts as the CPU's. */
#include "ort/plugin/ort_ep_assignment.h"

#include <stdlib.h>
#include <string.h>

#include "ort/env/ort_providers.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"

struct OrtEpAssignedNode {
  const char *name, *domain, *op;
};

struct OrtEpAssignedSubgraph {
  const char *ep;
  const OrtEpAssignedNode **nodes;
  size_t n;
};

struct ort_ep_assignment {
  OrtEpAssignedNode *nodes; /* all of them, in order; the groups point here */
  const OrtEpAssignedNode **node_list;
  OrtEpAssignedSubgraph *groups;
  const OrtEpAssignedSubgraph **group_list;
  size_t n_groups;
};

static void fill(const ox_session *s, ort_ep_assignment *a) {
  ox_placement p;
  const char *part = ""; /* the program that the last node belongs to */
  size_t n = 0;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) {
    if (strcmp(p.how, "copy") == 0) continue;
    if (*p.part == 0 || strcmp(p.part, part) != 0) {
      a->group_list[a->n_groups] = &a->groups[a->n_groups];
      a->groups[a->n_groups++] = (OrtEpAssignedSubgraph){.ep = ort_provider_name(p.owner), .nodes = a->node_list + n};
    }
    part = p.part;
    a->nodes[n] = (OrtEpAssignedNode){p.name, p.domain, p.op};
    a->node_list[n] = &a->nodes[n];
    a->groups[a->n_groups - 1].n++, n++;
  }
}

OrtStatus *ort_ep_assignment_create(const ox_session *session, ort_ep_assignment **out) {
  ox_placement p;
  size_t n = 0;
  while (ox_session_placement(session, n, &p)) n++;
  ort_ep_assignment *a = *out = calloc(1, sizeof *a);
  if (a == NULL) return ort_out_of_memory();
  a->nodes = calloc(n + 1, sizeof *a->nodes), a->node_list = calloc(n + 1, sizeof *a->node_list);
  a->groups = calloc(n + 1, sizeof *a->groups), a->group_list = calloc(n + 1, sizeof *a->group_list);
  if (a->nodes == NULL || a->node_list == NULL || a->groups == NULL || a->group_list == NULL) {
    ort_ep_assignment_release(a);
    *out = NULL;
    return ort_out_of_memory();
  }
  fill(session, a);
  return NULL;
}

void ort_ep_assignment_release(ort_ep_assignment *a) {
  if (a == NULL) return;
  free(a->nodes), free(a->node_list), free(a->groups), free(a->group_list);
  free(a);
}

const OrtEpAssignedSubgraph *const *ort_ep_assignment_groups(const ort_ep_assignment *a, size_t *out_n) {
  *out_n = a->n_groups;
  return a->group_list;
}

/* ---- the slots ---- */

OrtStatus *ort_EpAssignedSubgraph_GetEpName(const OrtEpAssignedSubgraph *ep_subgraph, const char **out) {
  ORT_NEED(ep_subgraph);
  ORT_NEED(out);
  *out = ep_subgraph->ep;
  return NULL;
}

OrtStatus *ort_EpAssignedSubgraph_GetNodes(const OrtEpAssignedSubgraph *ep_subgraph,
                                           const OrtEpAssignedNode *const **ep_nodes, size_t *num_ep_nodes) {
  ORT_NEED(ep_subgraph);
  ORT_NEED(ep_nodes);
  ORT_NEED(num_ep_nodes);
  *ep_nodes = ep_subgraph->nodes, *num_ep_nodes = ep_subgraph->n;
  return NULL;
}

#define MEMBER_OF(Slot, member)                                                              \
  OrtStatus *ort_EpAssignedNode_##Slot(const OrtEpAssignedNode *ep_node, const char **out) { \
    ORT_NEED(ep_node);                                                                       \
    ORT_NEED(out);                                                                           \
    *out = ep_node->member;                                                                  \
    return NULL;                                                                             \
  }
MEMBER_OF(GetName, name)
MEMBER_OF(GetDomain, domain)
MEMBER_OF(GetOperatorType, op)
