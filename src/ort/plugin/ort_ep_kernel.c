/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_kernel.c - kernels of a library's registry as kernels of the engine: one stage of one tile, as the
 * library divides its work itself. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_run.h"

typedef struct ep_kernel {
  ox_kernel base;
  ox_ep *ep;
  OrtGraph *graph; /* of the one node */
  const OrtNode *node;
  const ort_registered_kernel *found;
  OrtKernelImpl *impl;
  OrtKernelInfo info;
  ort_kernel_value *values; /* inputs, then outputs */
  ort_attr *attrs;
  const OrtMemoryInfo **memories;
} ep_kernel;

/* ---- places ---- */

static uint32_t memory_of(const OrtKernelDef *def, int output, size_t i) {
  OrtMemType type = i >= ORT_MOST_PLACES ? OrtMemTypeDefault : (OrtMemType)(output ? def->out : def->in)[i];
  return type == OrtMemTypeDefault ? 1 : 0;
}

uint32_t ort_ep_value_memory(ox_ep *ep, const ox_graph_view *g, size_t node, int output, size_t i) {
  OrtGraph *graph;
  uint32_t memory = 1;
  OrtStatus *st = ort_ep_graph(ep, g, &graph);
  if (st == NULL) {
    const ort_registered_kernel *k = ort_kernel_find(ep->registry, graph->nodes[node]);
    if (k != NULL) memory = memory_of(k->def, output, i);
    ort_graph_release(graph);
  }
  ort_ReleaseStatus(st);
  return memory;
}

/* ---- what the library sees of the node ---- */

static OrtStatus *describe_value(ep_kernel *k, const ox_graph_view *g, uint32_t id, int output, size_t i,
                                 ort_kernel_value *out) {
  const ox_ep_host *h = &k->ep->host;
  *out = (ort_kernel_value){.name = ""};
  if (id == UINT32_MAX) return NULL;
  out->name = h->value_name(g, id), out->type = h->value_full_type(g, id);
  const OrtValueInfo *v = output ? NULL : k->node->in[i];
  const OrtValue *constant = NULL;
  if (v != NULL && v->initializer != NULL) ORT_TRY(ort_ValueInfo_GetInitializerValue(v, &constant)); /* aligned */
  if (constant != NULL) out->constant = (OrtValue){.tensor = constant->tensor};
  k->memories[i + (output ? k->info.n_in : 0)] = ort_ep_memory_info(k->ep, memory_of(k->found->def, output, i));
  return NULL;
}

static OrtStatus *describe(ep_kernel *k, const ox_graph_view *g, size_t node) {
  const ox_ep_host *h = &k->ep->host;
  size_t n_in = h->node_in_count(g, node), n_out = h->node_out_count(g, node), n_attrs = h->node_attr_count(g, node);
  k->values = calloc(n_in + n_out + 1, sizeof *k->values);
  k->memories = calloc(n_in + n_out + 1, sizeof *k->memories);
  k->attrs = calloc(n_attrs + 1, sizeof *k->attrs);
  if (k->values == NULL || k->memories == NULL || k->attrs == NULL) return ort_out_of_memory();
  struct ort_session_eps *eps = k->ep->slot->eps;
  k->info = (OrtKernelInfo){.node = k->node->name,
                            .op = k->node->op,
                            .domain = k->node->domain,
                            .since = k->node->since,
                            .n_in = n_in,
                            .n_out = n_out,
                            .n_attrs = n_attrs,
                            .in = k->values,
                            .out = k->values + n_in,
                            .attrs = k->attrs,
                            .logger = eps->logger,
                            .config = &eps->options->config,
                            .env = eps->env,
                            .ep = k->ep->ep,
                            .eps = eps};
  for (size_t i = 0; i < n_in; i++) ORT_TRY(describe_value(k, g, h->node_in(g, node, i), 0, i, &k->values[i]));
  for (size_t i = 0; i < n_out; i++) ORT_TRY(describe_value(k, g, h->node_out(g, node, i), 1, i, &k->values[n_in + i]));
  for (size_t i = 0; i < n_attrs; i++) k->attrs[i].name = h->node_attr_at(g, node, i, &k->attrs[i].v);
  return NULL;
}

/* ---- runs ---- */

static void *alloc_output(const void *data, uint32_t index, const ox_shape *shape) {
  const ox_kernel_ctx *c = data;
  return c->out[index]->data != NULL ? c->out[index]->data : c->host->alloc_output(c, index, shape);
}

static void *alloc_run(const void *data, size_t bytes) {
  const ox_kernel_ctx *c = data;
  return c->host->alloc_run(c, bytes);
}

static const ort_kernel_host host = {alloc_output, alloc_run, ort_ep_parallel_for, ort_ep_kernel_allocator};

static ox_status *run(ox_kernel *base, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                      void *scratch) {
  ep_kernel *k = (ep_kernel *)base;
  ort_ep_call call;
  (void)stage, (void)begin, (void)end, (void)scratch;
  ORT_CALL_TRY(k->ep, ort_ep_call_open(&call, c->n_in, c->n_out));
  call.context = (OrtKernelContext){.host = &host,
                                    .data = c,
                                    .info = &k->info,
                                    .n_in = c->n_in,
                                    .n_out = c->n_out,
                                    .in = c->in,
                                    .out = c->out,
                                    .values = call.values,
                                    .memories = k->memories,
                                    .stream = c->stream};
  ort_kernel_context_open(&call.context);
  OrtStatus *st = k->impl->Compute(k->impl, &call.context);
  ort_ep_call_close(&call);
  return st != NULL ? ort_status_to(st, k->ep->host.status_make) : NULL;
}

static ox_status *prepare(ox_kernel *base, ox_kernel_ctx *c) {
  (void)base, (void)c; /* one stage of one tile, as preset */
  return NULL;
}

static void release(ox_kernel *base) {
  ep_kernel *k = (ep_kernel *)base;
  if (k->impl != NULL && k->impl->Release != NULL) k->impl->Release(k->impl);
  free(k->values), free(k->attrs), free(k->memories);
  ort_graph_release(k->graph);
  free(k);
}

static const ox_kernel_api kernel_api = {
    .struct_size = sizeof(ox_kernel_api), .prepare = prepare, .run = run, .release = release};

/* ---- made ---- */

/* Constants that the library packs for itself are not kept beside. */
static OrtStatus *pack(ep_kernel *k) {
  if (k->impl->ort_version_supported < 24 || k->impl->PrePackWeight == NULL) return NULL;
  for (size_t i = 0; i < k->info.n_in && i < 64; i++) {
    const OrtValue *constant = &k->values[i].constant;
    bool packed = false;
    if (constant->tensor == NULL) continue;
    OrtAllocator *a = k->ep->allocator != NULL ? k->ep->allocator : ort_default_allocator();
    ORT_TRY(k->impl->PrePackWeight(k->impl, constant, (int)i, a, NULL, &packed));
    if (packed) k->base.consumed |= (uint64_t)1 << i;
  }
  return NULL;
}

/* Libraries make one kernel at a time: Microsoft's library asks them from one thread, while here plans ask from many.
 */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static OrtStatus *build(ep_kernel *k, const ox_graph_view *g, size_t node) {
  ORT_TRY(ort_ep_graph(k->ep, g, &k->graph));
  k->node = k->graph->nodes[node];
  k->found = ort_kernel_find(k->ep->registry, k->node);
  if (k->found == NULL)
    return ort_fail(ORT_NOT_IMPLEMENTED, "%s has no kernel for node '%s' (%s)", k->ep->slot->request->name,
                    k->node->name, k->node->op);
  ORT_TRY(describe(k, g, node));
  ORT_TRY(k->found->create(k->found->state, &k->info, &k->impl));
  if (k->impl == NULL || k->impl->Compute == NULL)
    return ort_fail(ORT_EP_FAIL, "%s made no kernel for node '%s' (%s), or one without Compute",
                    k->ep->slot->request->name, k->node->name, k->node->op);
  return pack(k);
}

ox_status *ort_ep_kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out) {
  *out = NULL;
  ep_kernel *k = calloc(1, sizeof *k);
  if (k == NULL) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  k->base.api = &kernel_api, k->ep = ep;
  pthread_mutex_lock(&one_at_a_time);
  OrtStatus *st = build(k, g, node);
  pthread_mutex_unlock(&one_at_a_time);
  if (st == NULL)
    *out = &k->base;
  else
    release(&k->base);
  return ort_ep_failed(ep, st);
}

/* ---- for libraries ---- */

OrtStatus *ort_ep_KernelInfo_GetEp(const OrtKernelInfo *info, const OrtEp **ep) {
  ORT_NEED(info);
  ORT_NEED(ep);
  *ep = info->ep;
  return info->ep != NULL
             ? NULL
             : ort_fail(ORT_INVALID_ARGUMENT, "OrtEpApi.KernelInfo_GetEp: the kernel is no library's provider's");
}

void ort_ep_ReleaseKernelImpl(OrtKernelImpl *kernel_impl) {
  if (kernel_impl != NULL && kernel_impl->Release != NULL) kernel_impl->Release(kernel_impl);
}
