/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_claim.c - GetCapability over the engine's view of a graph. What a library says goes into a list
 * first, as one that fails half-way takes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_instance.h"

typedef struct wish {
  struct wish *next;
  size_t *nodes;
  size_t n;
  bool fuse, drop_constants;
} wish;

struct OrtEpGraphSupportInfo {
  const ox_ep *ep;
  const OrtGraph *graph;
  wish *first, **last;
};

/* ---- what libraries call ---- */

static OrtStatus *check_node(const OrtEpGraphSupportInfo *info, const OrtNode *node, const char *slot, size_t i) {
  if (node == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.%s: node %zu is NULL", slot, i);
  if (node->graph == info->graph && node->id < info->graph->n_nodes && info->graph->nodes[node->id] == node)
    return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.%s: node '%s' is not of the graph that was asked about", slot,
                  node->name);
}

static OrtStatus *add(OrtEpGraphSupportInfo *info, const char *slot, const OrtNode *const *nodes, size_t n, bool fuse,
                      bool drop_constants) {
  for (size_t i = 0; i < n; i++) ORT_TRY(check_node(info, nodes[i], slot, i));
  wish *w = malloc(sizeof *w);
  size_t *ids = malloc(n * sizeof *ids);
  if (w == NULL || ids == NULL) {
    free(w), free(ids);
    return ort_out_of_memory();
  }
  for (size_t i = 0; i < n; i++) ids[i] = nodes[i]->id;
  *w = (wish){.nodes = ids, .n = n, .fuse = fuse, .drop_constants = drop_constants};
  *info->last = w, info->last = &w->next;
  return NULL;
}

OrtStatus *ort_ep_EpGraphSupportInfo_AddNodesToFuse(OrtEpGraphSupportInfo *graph_support_info,
                                                    const OrtNode *const *nodes, size_t num_nodes,
                                                    const OrtNodeFusionOptions *node_fusion_options) {
  ORT_NEED(graph_support_info);
  ORT_NEED(nodes);
  if (num_nodes == 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.EpGraphSupportInfo_AddNodesToFuse: 'num_nodes' is 0");
  bool drop = node_fusion_options != NULL && node_fusion_options->drop_constant_initializers;
  return add(graph_support_info, "EpGraphSupportInfo_AddNodesToFuse", nodes, num_nodes, true, drop);
}

OrtStatus *ort_ep_EpGraphSupportInfo_AddSingleNode(OrtEpGraphSupportInfo *graph_support_info, const OrtNode *node) {
  ORT_NEED(graph_support_info);
  ORT_NEED(node);
  return add(graph_support_info, "EpGraphSupportInfo_AddSingleNode", &node, 1, false, false);
}

OrtStatus *ort_ep_EpGraphSupportInfo_LookUpKernel(OrtEpGraphSupportInfo *graph_support_info, const OrtNode *node,
                                                  const OrtKernelDef **out_kernel_def) {
  ORT_NEED(graph_support_info);
  ORT_NEED(node);
  ORT_NEED(out_kernel_def);
  const ort_registered_kernel *k = ort_kernel_find(graph_support_info->ep->registry, node);
  *out_kernel_def = k != NULL ? k->def : NULL;
  return NULL;
}

/* ---- what the engine calls ---- */

static OrtStatus *remember_fusion(ox_ep *e, const OrtGraph *g, const wish *w) {
  const OrtNode *node = g->nodes[w->nodes[0]];
  const OrtValueInfo *made = NULL;
  for (size_t i = 0; i < node->n_out && made == NULL; i++) made = node->out[i];
  if (made == NULL) return NULL;
  ort_fusion *f = malloc(sizeof *f);
  char *name = strdup(made->name);
  if (f == NULL || name == NULL) {
    free(f), free(name);
    return ort_out_of_memory();
  }
  *f = (ort_fusion){.next = e->fusions, .value = name, .drop_constants = w->drop_constants};
  e->fusions = f;
  return NULL;
}

static bool config_is_on(const ox_ep *e, const char *key) {
  const char *value = ort_pairs_get(&e->slot->eps->options->config, key);
  return value != NULL && strcmp(value, "1") == 0;
}

/* An operator with bodies is the engine's to run; the provider is asked about the bodies. */
static bool has_body(const OrtNode *node) {
  for (size_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i]->type == ORT_OP_ATTR_GRAPH) return true;
  return false;
}

/* Nodes that cannot be one node, as a path between them leads through others, stay free. */
static ox_status *claim_part(ox_ep *e, const OrtGraph *g, ox_claims *claims, const wish *w) {
  ox_status *st = e->host.claim_part(claims, w->nodes, w->n);
  if (st == NULL) return ort_ep_failed(e, remember_fusion(e, g, w));
  if (ox_status_code(st) != OX_INVALID_ARGUMENT) return st;
  ort_log(e->slot->eps->logger, ORT_LOGGING_LEVEL_ERROR, "onnxruntime", "ort_ep_claim.c", "%s: %s",
          e->slot->request->name, ox_status_message(st));
  for (size_t i = 0; i < w->n; i++) e->host.decline(claims, w->nodes[i], ox_status_message(st));
  ox_status_free(st);
  return NULL;
}

static ox_status *grant(ox_ep *e, const OrtGraph *g, ox_claims *claims, const wish *w) {
  const OrtNode *node = g->nodes[w->nodes[0]];
  if (w->fuse) {
    if (config_is_on(e, "session.disable_model_compile") && strcmp(node->op, "EPContext") != 0)
      return ort_ep_failed(
          e, ort_fail(ORT_MODEL_REQUIRES_COMPILATION,
                      "%s would compile nodes, but session.disable_model_compile is set", e->slot->request->name));
    return claim_part(e, g, claims, w);
  }
  if (has_body(node)) {
    e->host.decline(claims, w->nodes[0], "the host runs operators with bodies");
  } else if (ort_kernel_find(e->registry, node) == NULL) {
    e->host.decline(claims, w->nodes[0], "the provider wants it as a kernel, but its registry has none");
  } else {
    e->host.claim_node(claims, w->nodes[0]);
  }
  return NULL;
}

/* Nodes that nobody wishes for. */
static void decline_rest(ox_ep *e, const OrtGraph *g, ox_claims *claims, const wish *wishes, const char *why) {
  for (size_t i = 0; i < g->n_nodes; i++) {
    bool wished = false;
    for (const wish *w = wishes; w != NULL && !wished; w = w->next)
      for (size_t k = 0; k < w->n && !wished; k++) wished = w->nodes[k] == i;
    if (!wished) e->host.decline(claims, i, why);
  }
}

/* What a model with compiled parts says: for which devices it is. Asked about the main graph. */
static OrtStatus *note_compatibility(ox_ep *e, const OrtGraph *g) {
  if (!config_is_on(e, "ep.context_enable") || g->parent != NULL ||
      !ORT_HAS(e->ep, 23, GetCompiledModelCompatibilityInfo))
    return NULL;
  const char *info = e->ep->GetCompiledModelCompatibilityInfo(e->ep, g);
  char key[512];
  if (info == NULL || *info == 0) return NULL;
  snprintf(key, sizeof key, "ep_compatibility_info.%.400s", e->slot->request->name);
  pthread_mutex_lock(&e->slot->eps->lock);
  OrtStatus *st = ort_pairs_set(&e->slot->eps->context_info, key, info);
  pthread_mutex_unlock(&e->slot->eps->lock);
  return st;
}

/* A provider that fails here takes nothing: the session goes on without it. */
static ox_status *ask(ox_ep *e, const OrtGraph *g, ox_claims *claims, OrtEpGraphSupportInfo *info) {
  if (!ORT_HAS(e->ep, 23, GetCapability)) return NULL;
  OrtStatus *failed = e->ep->GetCapability(e->ep, g, info);
  if (failed != NULL) {
    ort_log(e->slot->eps->logger, ORT_LOGGING_LEVEL_ERROR, "onnxruntime", "ort_ep_claim.c", "%s: GetCapability: %s",
            e->slot->request->name, ort_GetErrorMessage(failed));
    decline_rest(e, g, claims, NULL, ort_GetErrorMessage(failed));
    ort_ReleaseStatus(failed);
    return NULL;
  }
  decline_rest(e, g, claims, info->first, "the provider does not take it");
  for (const wish *w = info->first; w != NULL; w = w->next) {
    ox_status *st = grant(e, g, claims, w);
    if (st != NULL) return st;
  }
  return ort_ep_failed(e, note_compatibility(e, g));
}

ox_status *ort_ep_claim(ox_ep *e, const ox_graph_view *g, ox_claims *claims) {
  OrtGraph *graph;
  OrtStatus *failed = ort_ep_graph(e, g, &graph);
  if (failed != NULL) return ort_ep_failed(e, failed);
  OrtEpGraphSupportInfo info = {.ep = e, .graph = graph, .last = &info.first};
  ox_status *st = ask(e, graph, claims, &info);
  for (wish *w = info.first, *next; w != NULL; w = next) {
    next = w->next;
    free(w->nodes), free(w);
  }
  ort_graph_release(graph);
  return st;
}
