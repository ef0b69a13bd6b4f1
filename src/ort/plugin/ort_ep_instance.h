/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_instance.h - an OrtEp as a provider of the engine (onyx/ep.h). */
#ifndef OX_ORT_EP_INSTANCE_H
#define OX_ORT_EP_INSTANCE_H

#include <pthread.h>

#include "onyx/ep.h"
#include "ort/model/ort_graph.h"
#include "ort/custom/ort_kernel.h"
#include "ort/session/ort_session_options.h"
#include "ort/plugin/ort_ep_library.h"
#include "ort/plugin/ort_kernel_registry.h"
#include "ort/plugin/ort_sync_stream.h"

/* A provider that the session wants, and the table that stands for it. */
typedef struct ort_ep_slot {
  struct ort_session_eps *eps;
  const ort_provider_request *request;
  const OrtEpDevice *device; /* the first one: its memories are the provider's */
  ort_ep_library *library;   /* held */
  OrtEpFactory *factory;
  OrtDataTransferImpl *transfer; /* the factory's; NULL: none */
  ox_ep_api api;
  ox_memory_def memory;
} ort_ep_slot;

/* Nodes that a provider wants to fuse, until they are compiled. */
typedef struct ort_fusion {
  struct ort_fusion *next;
  char *value; /* the name of a value that they make */
  bool drop_constants;
} ort_fusion;

/* An OrtEp; there is one more when the engine loads a model a second time. */
struct ox_ep {
  ort_ep_slot *slot;
  ox_ep *next; /* of the session */
  ox_ep_host host;
  OrtEp *ep;
  const OrtKernelRegistry *registry; /* NULL: none */
  OrtAllocator *allocator;           /* of its memory; NULL: it has none */
  bool own_allocator;                /* the OrtEp's, not the factory's */
  OrtEpProfilerImpl *profiler;       /* while a profile is made; NULL: none */
  ort_fusion *fusions;
  size_t n_programs;
  bool asked_weightless; /* ort_ep_weightless.h */
};

struct ort_session_eps {
  OrtEnv *env;
  OrtSessionOptions *options;
  const OrtLogger *logger;
  ort_ep_slot *slots;
  size_t n_slots;
  ox_own_provider *own;
  pthread_mutex_t lock; /* over |first| and |failed| */
  ox_ep *first;
  struct ort_context_node *contexts; /* that libraries made in place of parts; under |lock| */
  OrtKeyValuePairs context_info;     /* what a model with them says of itself: for which devices it is */
  OrtErrorCode failed;               /* of the first status that a library gave while the session was made */
  pthread_mutex_t one_run;           /* held during runs if |serial| */
  bool serial;
};

/* Fills slot->api. */
void ort_ep_table_fill(ort_ep_slot *slot);
/* |st| of a library for the engine; remembers its code. Consumes it. */
OX_NODISCARD ox_status *ort_ep_failed(ox_ep *ep, OrtStatus *st);
OX_NODISCARD ox_status *ort_ep_slot_failed(ort_ep_slot *slot, const ox_ep_host *host, OrtStatus *st);

/* What stands in the table. */
ox_status *ort_ep_claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims);
ox_status *ort_ep_compile(ox_ep *ep, const ox_graph_view *part, ox_program **out);
ox_status *ort_ep_run(ox_program *p, const ox_io *io);
void ort_ep_program_release(ox_program *p);
ox_status *ort_ep_kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out);
uint32_t ort_ep_value_memory(ox_ep *ep, const ox_graph_view *g, size_t node, int output, size_t i);
ox_status *ort_ep_memory_alloc(ox_ep *ep, uint32_t memory, size_t bytes, void **out);
void ort_ep_memory_free(ox_ep *ep, uint32_t memory, void *data, size_t bytes);
ox_status *ort_ep_copy(ox_ep *ep, void *to, uint32_t to_memory, const void *from, uint32_t from_memory, size_t bytes,
                       void *stream);
ox_status *ort_ep_stream_create(ox_ep *ep, void **out);
void ort_ep_stream_release(ox_ep *ep, void *stream);
ox_status *ort_ep_stream_sync(ox_ep *ep, void *stream);
ox_status *ort_ep_event_create(ox_ep *ep, void **out);
void ort_ep_event_release(ox_ep *ep, void *event);
ox_status *ort_ep_event_record(ox_ep *ep, void *event, void *stream);
ox_status *ort_ep_event_sync(ox_ep *ep, void *event);

/* |g|'s graph with the names of the ABI for what the engine calls otherwise. */
OX_NODISCARD OrtStatus *ort_ep_graph(ox_ep *ep, const ox_graph_view *g, OrtGraph **out);
/* Where tensors in |memory| of the engine lie. */
const OrtMemoryInfo *ort_ep_memory_info(const ox_ep *ep, uint32_t memory);

#endif
