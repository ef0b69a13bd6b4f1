/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_program.c - a part that a library's provider has compiled: Compile, and Compute in each run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_graph_view.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_context.h"
#include "ort/plugin/ort_ep_instance.h"
#include "ort/plugin/ort_ep_run.h"
#include "ort/plugin/ort_ep_weightless.h"

struct OrtNodeComputeContext {
  char name[160]; /* of the node that stands for the part */
};

/* An input of the library's node: the engine's, or a constant, which the engine leaves out. */
typedef struct program_input {
  uint32_t index; /* among the engine's; UINT32_MAX: |constant| */
  ox_tensor constant;
  void *copy; /* of the constant in the provider's memory; NULL: none */
} program_input;

struct ox_program {
  ox_ep *ep;
  const ox_graph_view *part;
  OrtGraph *graph;
  OrtNode *node;
  OrtNodeComputeInfo *info;
  void *state;
  OrtNodeComputeContext context;
  program_input *in;
  size_t n_in, n_out;
  OrtKernelInfo kernel; /* what a kernel's context tells of its node */
  ort_kernel_value *values;
  const OrtMemoryInfo **memories; /* of inputs and outputs */
};

const char *ort_ep_NodeComputeContext_NodeName(const OrtNodeComputeContext *context) {
  return context != NULL ? context->name : NULL;
}

/* ---- inputs ---- */

/* Constants lie where the provider's other inputs do. */
static OrtStatus *place_constant(ox_program *p, program_input *in) {
  ox_ep *e = p->ep;
  if (e->allocator == NULL || in->constant.bytes == 0 || in->constant.kind != OX_TENSOR ||
      in->constant.dtype == OX_STRING)
    return NULL;
  in->copy = e->allocator->Alloc(e->allocator, in->constant.bytes);
  if (in->copy == NULL)
    return ort_fail(ORT_FAIL, "%s: no %zu bytes of its memory for a constant", e->slot->request->name,
                    in->constant.bytes);
  ORT_TRY(ort_ep_copy_bytes(e, in->copy, 1, in->constant.data, 0, in->constant.bytes, NULL));
  in->constant.data = in->copy;
  return NULL;
}

static uint32_t engine_input(const ox_program *p, uint32_t value) {
  const ox_ep_host *h = &p->ep->host;
  size_t n = h->io_count(p->part, 0);
  for (size_t i = 0; i < n; i++)
    if (h->io_value(p->part, 0, i) == value) return (uint32_t)i;
  return UINT32_MAX;
}

static OrtStatus *list_inputs(ox_program *p) {
  p->in = calloc(p->graph->n_inputs + 1, sizeof *p->in);
  if (p->in == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < p->graph->n_inputs; i++) {
    const OrtValueInfo *v = p->graph->inputs[i];
    program_input *in = &p->in[p->n_in++];
    in->index = engine_input(p, v->id);
    if (in->index != UINT32_MAX) continue;
    const OrtValue *constant;
    ORT_TRY(ort_ValueInfo_GetInitializerValue(v, &constant)); /* aligned, and the graph's */
    if (constant == NULL)
      return ort_fail(ORT_EP_FAIL, "input '%s' of a part is neither an input nor a constant", v->name);
    in->constant = *constant->tensor;
    ORT_TRY(place_constant(p, in));
  }
  return NULL;
}

/* ---- Compile ---- */

static bool drops_constants(const ox_program *p) {
  for (const ort_fusion *f = p->ep->fusions; f != NULL; f = f->next)
    for (size_t i = 0; i < p->graph->n_values; i++)
      if (strcmp(p->graph->values[i]->name, f->value) == 0 && p->graph->values[i]->producer != NULL)
        return f->drop_constants;
  return false;
}

/* The same for the same part in every process: caches of libraries go by it. */
static uint64_t digest_of(const OrtGraph *g) {
  uint64_t h = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < g->n_nodes; i++)
    for (size_t k = 0; k <= g->nodes[i]->n_out; k++) {
      const char *text = k == 0                            ? g->nodes[i]->op
                         : g->nodes[i]->out[k - 1] != NULL ? g->nodes[i]->out[k - 1]->name
                                                           : "";
      for (; *text != 0; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    }
  return h;
}

static OrtStatus *make_node(ox_program *p) {
  const char *ep = p->ep->slot->request->name;
  if (!drops_constants(p)) ORT_TRY(ort_graph_list_constants_as_inputs(p->graph));
  snprintf(p->context.name, sizeof p->context.name, "%.64s_%" PRIu64 "_%zu", ep, digest_of(p->graph),
           p->ep->n_programs++);
  return ort_graph_fused_node(p->graph, p->context.name, ep, ep, &p->node);
}

/* For a model with compiled parts. */
static OrtStatus *keep_context(ox_program *p, const OrtNode *node) {
  struct ort_session_eps *eps = p->ep->slot->eps;
  ort_context_node *kept;
  ORT_TRY(ort_context_node_create(p->graph, node, &kept));
  pthread_mutex_lock(&eps->lock);
  kept->next = eps->contexts, eps->contexts = kept;
  pthread_mutex_unlock(&eps->lock);
  return NULL;
}

static OrtStatus *call_compile(ox_program *p) {
  OrtEp *ep = p->ep->ep;
  const OrtGraph *graph = p->graph;
  const OrtNode *node = p->node;
  OrtNode *context_node = NULL;
  if (!ORT_HAS(ep, 23, Compile) || !ORT_HAS(ep, 23, ReleaseNodeComputeInfos))
    return ort_fail(ORT_EP_FAIL, "%s wants to fuse nodes, but has no Compile or no ReleaseNodeComputeInfos",
                    p->ep->slot->request->name);
  ORT_TRY(ort_weightless_ask(p->ep));
  OrtStatus *st = ep->Compile(ep, &graph, &node, 1, &p->info, &context_node);
  if (st == NULL && p->info == NULL)
    st = ort_fail(ORT_EP_FAIL, "%s: Compile returned no OrtNodeComputeInfo", p->ep->slot->request->name);
  if (st == NULL && (p->info->CreateState == NULL || p->info->Compute == NULL || p->info->ReleaseState == NULL))
    st = ort_fail(ORT_EP_FAIL, "%s: an OrtNodeComputeInfo lacks a function", p->ep->slot->request->name);
  if (st == NULL && context_node != NULL) st = keep_context(p, context_node);
  ort_ReleaseNode(context_node);
  return st;
}

/* Names and places of what Compute sees. */
static OrtStatus *describe(ox_program *p) {
  size_t n_in = p->n_in, n = n_in + p->n_out;
  p->values = calloc(n + 1, sizeof *p->values), p->memories = calloc(n + 1, sizeof *p->memories);
  if (p->values == NULL || p->memories == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < n; i++) {
    p->values[i].name = i < n_in ? p->graph->inputs[i]->name : p->graph->outputs[i - n_in]->name;
    p->memories[i] = ort_ep_memory_info(p->ep, 1);
  }
  p->kernel = (OrtKernelInfo){.node = p->context.name,
                              .op = p->context.name,
                              .domain = p->ep->slot->request->name,
                              .since = 1,
                              .n_in = n_in,
                              .n_out = p->n_out,
                              .in = p->values,
                              .out = p->values + n_in,
                              .logger = p->ep->slot->eps->logger,
                              .config = &p->ep->slot->eps->options->config,
                              .env = p->ep->slot->eps->env,
                              .ep = p->ep->ep};
  return NULL;
}

static OrtStatus *build(ox_program *p) {
  ORT_TRY(ort_ep_graph(p->ep, p->part, &p->graph));
  ORT_TRY(make_node(p));
  ORT_TRY(call_compile(p));
  ORT_TRY(list_inputs(p));
  p->n_out = p->graph->n_outputs;
  ORT_TRY(describe(p));
  return p->info->CreateState(p->info, &p->context, &p->state);
}

ox_status *ort_ep_compile(ox_ep *e, const ox_graph_view *part, ox_program **out) {
  *out = NULL;
  ox_program *p = calloc(1, sizeof *p);
  if (p == NULL) return e->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  p->ep = e, p->part = part;
  OrtStatus *st = build(p);
  if (st == NULL)
    *out = p;
  else
    ort_ep_program_release(p);
  return ort_ep_failed(e, st);
}

void ort_ep_program_release(ox_program *p) {
  OrtEp *ep = p->ep->ep;
  if (p->state != NULL) p->info->ReleaseState(p->info, p->state);
  if (p->info != NULL) ep->ReleaseNodeComputeInfos(ep, &p->info, 1);
  for (size_t i = 0; i < p->n_in; i++)
    if (p->in[i].copy != NULL) p->ep->allocator->Free(p->ep->allocator, p->in[i].copy);
  ort_node_release(p->node);
  ort_graph_release(p->graph);
  free(p->in), free(p->values), free(p->memories);
  free(p);
}

/* ---- Compute ---- */

static void *alloc_output(const void *data, uint32_t index, const ox_shape *shape) {
  const ox_io *io = data;
  const ox_tensor *t = io->out[index];
  return t->data != NULL && t->kind == OX_TENSOR ? t->data : io->alloc_output(io, index, shape);
}

static void *alloc_run(const void *data, size_t bytes) {
  const ox_io *io = data;
  return io->alloc_run(io, bytes);
}

static const ort_kernel_host host = {alloc_output, alloc_run, ort_ep_parallel_for, ort_ep_kernel_allocator};

ox_status *ort_ep_run(ox_program *p, const ox_io *io) {
  ort_ep_call call;
  ORT_CALL_TRY(p->ep, ort_ep_call_open(&call, p->n_in, p->n_out));
  for (size_t i = 0; i < p->n_in; i++)
    call.in[i] = p->in[i].index == UINT32_MAX ? &p->in[i].constant : io->in[p->in[i].index];
  call.context = (OrtKernelContext){.host = &host,
                                    .data = io,
                                    .info = &p->kernel,
                                    .n_in = p->n_in,
                                    .n_out = p->n_out,
                                    .in = call.in,
                                    .out = io->out,
                                    .values = call.values,
                                    .memories = p->memories,
                                    .stream = io->stream};
  ort_kernel_context_open(&call.context);
  OrtStatus *st = p->info->Compute(p->info, p->state, &call.context);
  ort_ep_call_close(&call);
  return st != NULL ? ort_status_to(st, p->ep->host.status_make) : NULL;
}
