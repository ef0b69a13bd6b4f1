/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_instance.c - the table that stands for a library's provider, its instances, and how they claim. */
#include "ort/plugin/ort_ep_instance.h"

#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_graph_view.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"

/* ---- errors ---- */

ox_status *ort_ep_slot_failed(ort_ep_slot *slot, const ox_ep_host *host, OrtStatus *st) {
  if (st == NULL) return NULL;
  pthread_mutex_lock(&slot->eps->lock);
  if (slot->eps->failed == ORT_OK) slot->eps->failed = ort_GetErrorCode(st);
  pthread_mutex_unlock(&slot->eps->lock);
  return ort_status_to(st, host->status_make);
}

ox_status *ort_ep_failed(ox_ep *ep, OrtStatus *st) { return ort_ep_slot_failed(ep->slot, &ep->host, st); }

/* ---- instances ---- */

static OrtStatus *make_allocator(ox_ep *e) {
  const ort_ep_slot *s = e->slot;
  const OrtMemoryInfo *memory = s->device->memory;
  if (!ort_ep_device_has_memory(s->device)) return NULL;
  if (ORT_HAS(e->ep, 23, CreateAllocator)) ORT_TRY(e->ep->CreateAllocator(e->ep, memory, &e->allocator));
  e->own_allocator = e->allocator != NULL;
  return e->own_allocator ? NULL : ort_ep_allocator_create(s->device, memory, NULL, &e->allocator);
}

static OrtStatus *make_ep(ox_ep *e) {
  const ort_ep_slot *s = e->slot;
  const ort_provider_request *r = s->request;
  size_t n = r->n_devices;
  const OrtHardwareDevice **hardware = calloc(2 * n, sizeof(void *));
  const OrtKeyValuePairs **metadata = (const OrtKeyValuePairs **)(hardware + n);
  if (hardware == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < n; i++) hardware[i] = r->devices[i]->hardware, metadata[i] = &r->devices[i]->metadata;
  OrtStatus *st = s->factory->CreateEp(s->factory, hardware, metadata, n, s->eps->options, s->eps->logger, &e->ep);
  free(hardware);
  ORT_TRY(st);
  if (e->ep == NULL) return ort_fail(ORT_EP_FAIL, "the factory of %s returned no provider", r->name);
  if (ORT_HAS(e->ep, 24, GetKernelRegistry)) ORT_TRY(e->ep->GetKernelRegistry(e->ep, &e->registry));
  return make_allocator(e);
}

static void destroy(ox_ep *e) {
  const ort_ep_slot *s = e->slot;
  for (ort_fusion *f = e->fusions, *next; f != NULL; f = next) {
    next = f->next;
    free(f->value), free(f);
  }
  if (e->profiler != NULL && e->profiler->Release != NULL) e->profiler->Release(e->profiler);
  if (e->allocator != NULL) ort_ep_allocator_release(s->device, e->allocator);
  if (e->ep != NULL) s->factory->ReleaseEp(s->factory, e->ep);
  free(e);
}

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  ort_ep_slot *slot = host->user;
  (void)opts; /* libraries look them up in the session's options */
  *out_ep = NULL;
  ox_ep *e = calloc(1, sizeof *e);
  if (e == NULL) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  e->slot = slot, e->host = *host;
  OrtStatus *st = make_ep(e);
  if (st != NULL) {
    destroy(e);
    return ort_ep_slot_failed(slot, host, st);
  }
  pthread_mutex_lock(&slot->eps->lock);
  e->next = slot->eps->first, slot->eps->first = e;
  pthread_mutex_unlock(&slot->eps->lock);
  *out_ep = e;
  return NULL;
}

static void destroy_listed(ox_ep *e) {
  struct ort_session_eps *eps = e->slot->eps;
  pthread_mutex_lock(&eps->lock);
  ox_ep **at = &eps->first;
  while (*at != e) at = &(*at)->next;
  *at = e->next;
  pthread_mutex_unlock(&eps->lock);
  destroy(e);
}

/* ---- layouts ---- */

static const char nhwc_domain[] = "com.ms.internal.nhwc"; /* what the ABI calls the engine's "ai.onyx.nhwc" */

static uint32_t layout(ox_ep *e, const char *domain, const char *op) {
  OrtEpDataLayout preferred = OrtEpDataLayout_NCHW;
  int convert = -1; /* the provider has no opinion */
  OrtEp *ep = e->ep;
  OrtStatus *st = ORT_HAS(ep, 23, GetPreferredDataLayout) ? ep->GetPreferredDataLayout(ep, &preferred) : NULL;
  if (st == NULL && preferred == OrtEpDataLayout_NHWC && ORT_HAS(ep, 23, ShouldConvertDataLayoutForOp))
    st = ep->ShouldConvertDataLayoutForOp(ep, domain, op, preferred, &convert);
  bool wanted = st == NULL && preferred == OrtEpDataLayout_NHWC && convert != 0;
  ort_ReleaseStatus(st);
  return wanted ? OX_LAYOUT_NHWC : OX_LAYOUT_NCHW;
}

OrtStatus *ort_ep_graph(ox_ep *ep, const ox_graph_view *g, OrtGraph **out) {
  ORT_TRY(ort_graph_from_view(&ep->host, g, out));
  for (size_t i = 0; i < (*out)->n_nodes; i++) {
    OrtNode *n = (*out)->nodes[i];
    if (strcmp(n->domain, "ai.onyx.nhwc") != 0) continue;
    char *renamed = strdup(nhwc_domain);
    if (renamed == NULL) {
      ort_graph_release(*out);
      *out = NULL;
      return ort_out_of_memory();
    }
    free(n->domain);
    n->domain = renamed;
  }
  return NULL;
}

/* ---- the table ---- */

static bool has_streams(const ort_ep_slot *slot) {
  OrtEpFactory *f = slot->factory;
  return ort_ep_device_has_memory(slot->device) && ORT_HAS(f, 23, IsStreamAware) && f->IsStreamAware(f) &&
         ORT_HAS(f, 23, CreateSyncStreamForDevice);
}

void ort_ep_table_fill(ort_ep_slot *slot) {
  slot->api = (ox_ep_api){.struct_size = sizeof slot->api,
                          .abi_major = OX_EP_ABI_MAJOR,
                          .name = slot->request->name,
                          .create = create,
                          .destroy = destroy_listed,
                          .claim = ort_ep_claim,
                          .kernel_create = ort_ep_kernel_create,
                          .compile = ort_ep_compile,
                          .run = ort_ep_run,
                          .program_release = ort_ep_program_release,
                          .layout = layout};
  if (!ort_ep_device_has_memory(slot->device)) return;
  slot->memory = (ox_memory_def){.name = slot->device->memory->name};
  slot->api.memories = &slot->memory, slot->api.n_memories = 1;
  slot->api.memory_alloc = ort_ep_memory_alloc, slot->api.memory_free = ort_ep_memory_free;
  slot->api.value_memory = ort_ep_value_memory, slot->api.copy = ort_ep_copy;
  if (!has_streams(slot)) return;
  slot->api.stream_create = ort_ep_stream_create, slot->api.stream_release = ort_ep_stream_release;
  slot->api.stream_sync = ort_ep_stream_sync;
  slot->api.event_create = ort_ep_event_create, slot->api.event_release = ort_ep_event_release;
  slot->api.event_record = ort_ep_event_record, slot->api.event_sync = ort_ep_event_sync;
}
