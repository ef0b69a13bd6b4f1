/* SPDX-License-Identifier: Apache-2.0
 * support/device_ep.c - see device_ep.h: tables, claims, places, memory, streams. */
#include "support/device_ep.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/status.h"
#include "ep/cpu/ep_cpu.h"
#include "ep/host.h"
#include "ops/builtin.h"
#include "support/claim_rule.h"
#include "support/device_memory.h"
#include "support/device_work.h"
#include "support/ep_watch.h"

struct device_counts device_counts;

enum { FAR = 1, NEAR = 2 }; /* its memories */
static const ox_memory_def memories[] = {{"far", 0, 256}, {"near", 1, 0}};

struct ox_ep {
  ox_ep_host host;
  claim_rule rule;
  uint32_t places; /* 0: all in memory 1 but what inference reads */
  ox_ep *cpu;
  atomic_uint streams_made;
};

struct ox_program {
  ox_ep *ep;
  part_program *part;
};

/* ---- life ---- */

static void destroy(ox_ep *ep) {
  if (ep->cpu) ox_ep_cpu()->destroy(ep->cpu);
  ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep);
  ep_watch_gone();
}

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  OX_TRY(ep_watch_call(host, EP_CREATE));
  ox_ep *ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, 16);
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  memset(ep, 0, sizeof *ep);
  ep->host = *host;
  ep_watch_made();
  claim_rule_read(&ep->rule, opts);
  for (uint32_t i = 0; opts && i < opts->n; i++)
    if (strcmp(opts->keys[i], "places") == 0) ep->places = (uint32_t)strtoul(opts->values[i], NULL, 10);
  ox_status *st = ox_ep_cpu()->create(host, NULL, &ep->cpu);
  if (st)
    destroy(ep);
  else
    *out_ep = ep;
  return st;
}

/* Nothing but tensors of numbers can lie on the device; that goes for what bodies read, too. */
static bool able(const ox_ep_host *h, const ox_graph_view *g, size_t node) {
  ox_attr_view a;
  if (!claim_rule_all_numbers(h, g, node)) return false;
  for (size_t i = 0; i < h->node_attr_count(g, node); i++) {
    const ox_graph_view *body = h->node_body(g, node, h->node_attr_at(g, node, i, &a));
    for (size_t k = 0; body && k < h->node_count(body); k++)
      if (!able(h, body, k)) return false;
  }
  return true;
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  OX_TRY(ep_watch_call(&ep->host, EP_CLAIM));
  return claim_rule_apply(&ep->rule, &ep->host, g, claims, able);
}

/* ---- kernels and programs ---- */

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  ox_kernel *cpu;
  OX_TRY(ep_watch_call(&ep->host, EP_KERNEL_CREATE));
  OX_TRY(ox_ep_cpu()->kernel_create(ep->cpu, g, node, &cpu));
  ox_status *st = device_kernel_create(&ep->host, g, node, cpu, out_kernel);
  if (st) cpu->api->release(cpu);
  return st;
}

static ox_status *compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  OX_TRY(ep_watch_call(&ep->host, EP_COMPILE));
  ox_program *p = ep->host.alloc.alloc(ep->host.alloc.ctx, sizeof *p, 16);
  if (!p) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  *p = (ox_program){.ep = ep};
  ox_status *st = part_program_create(&ep->host, part, &p->part);
  if (st) {
    ep->host.alloc.free(ep->host.alloc.ctx, p, sizeof *p);
    return st;
  }
  ep_watch_made();
  *out_program = p;
  return NULL;
}

static ox_status *run(ox_program *p, const ox_io *io) { return device_program_run(&p->ep->host, p->part, io); }

static void program_release(ox_program *p) {
  ox_ep *ep = p->ep;
  part_program_destroy(p->part);
  ep->host.alloc.free(ep->host.alloc.ctx, p, sizeof *p);
  ep_watch_gone();
}

/* ---- memory ---- */

static ox_status *memory_alloc(ox_ep *ep, uint32_t memory, size_t bytes, void **out_data) {
  OX_TRY(ep_watch_call(&ep->host, EP_MEMORY_ALLOC));
  void *p = memory == FAR ? device_memory_take(bytes, memories[0].align) : aligned_alloc(64, OX_ROUND_UP(bytes, 64));
  if (!p) return ep->host.status_make(OX_OUT_OF_MEMORY, "the device is full");
  ep_watch_made();
  *out_data = p;
  return NULL;
}

static void memory_free(ox_ep *ep, uint32_t memory, void *data, size_t bytes) {
  (void)ep;
  if (memory == FAR)
    device_memory_give(data, bytes);
  else
    free(data);
  ep_watch_gone();
}

/* The region is the process's; so is the heap. */
static uint64_t memory_space(ox_ep *ep, uint32_t memory) {
  (void)ep;
  return 0xdef1ce00 + memory;
}

static uint32_t value_memory(ox_ep *ep, const ox_graph_view *g, size_t node, int output, size_t i) {
  const ox_ep_host *h = &ep->host;
  const char *op = h->node_op(g, node);
  const ox_op *row = ox_registry_find(ox_ops_builtin(), h->node_domain(g, node), op, h->node_version(g, node));
  if (!output && i < 32 && row && (row->schema->value_in >> i & 1)) return 0;
  if (!ep->places) return FAR;
  uint32_t mixed = ep->places * 40503u + (uint32_t)i * 7919u + (uint32_t)output * 104729u;
  while (*op) mixed = mixed * 31 + (unsigned char)*op++;
  mixed ^= mixed >> 13;
  return mixed % 5 == 0 ? 0 : mixed % 5 == 1 ? NEAR : FAR;
}

static ox_status *copy(ox_ep *ep, void *to, uint32_t to_memory, const void *from, uint32_t from_memory, size_t bytes,
                       void *stream) {
  OX_TRY(ep_watch_call(&ep->host, EP_COPY));
  atomic_long *count = !stream && to_memory && !from_memory ? &device_counts.constants
                       : !from_memory                       ? &device_counts.to_device
                       : !to_memory                         ? &device_counts.to_host
                                                            : &device_counts.within;
  atomic_fetch_add(count, 1);
  return device_copy(&ep->host, to, from, bytes, stream);
}

/* ---- streams ---- */

static ox_status *stream_create(ox_ep *ep, void **out_stream) {
  OX_TRY(ep_watch_call(&ep->host, EP_STREAM_CREATE));
  *out_stream = device_stream_create(ep->rule.seed + atomic_fetch_add(&ep->streams_made, 1));
  ep_watch_made();
  return NULL;
}

static void stream_release(ox_ep *ep, void *stream) {
  (void)ep;
  device_stream_destroy(stream);
  ep_watch_gone();
}

static ox_status *stream_sync(ox_ep *ep, void *stream) {
  ox_status *st = device_stream_sync(stream), *told = ep_watch_call(&ep->host, EP_STREAM_SYNC);
  if (!told) return st;
  ox_status_free(st);
  return told;
}

static ox_status *event_create(ox_ep *ep, void **out_event) {
  OX_TRY(ep_watch_call(&ep->host, EP_EVENT_CREATE));
  *out_event = device_event_create();
  ep_watch_made();
  return NULL;
}

static void event_release(ox_ep *ep, void *event) {
  (void)ep;
  device_event_destroy(event);
  ep_watch_gone();
}

static ox_status *event_record(ox_ep *ep, void *event, void *stream) {
  OX_TRY(ep_watch_call(&ep->host, EP_EVENT_RECORD));
  device_event_record(event, stream);
  return NULL;
}

static ox_status *event_sync(ox_ep *ep, void *event) {
  OX_TRY(ep_watch_call(&ep->host, EP_EVENT_SYNC));
  device_event_sync(event);
  return NULL;
}

/* ---- tables ---- */

#define TABLE_BEGIN(text)                                                                                             \
  .struct_size = sizeof(ox_ep_api), .abi_major = OX_EP_ABI_MAJOR, .name = text, .create = create, .destroy = destroy, \
  .claim = claim, .kernel_create = kernel_create, .compile = compile, .run = run, .program_release = program_release
#define MEMORIES                                                                                                    \
  .memories = memories, .n_memories = OX_COUNT(memories), .memory_alloc = memory_alloc, .memory_free = memory_free, \
  .value_memory = value_memory, .copy = copy
#define STREAMS                                                                                 \
  .stream_create = stream_create, .stream_release = stream_release, .stream_sync = stream_sync, \
  .event_create = event_create, .event_release = event_release, .event_record = event_record, .event_sync = event_sync

const ox_ep_api *device_ep(void) {
  static const ox_ep_api api = {TABLE_BEGIN("device"), MEMORIES, STREAMS, .memory_space = memory_space};
  return &api;
}

const ox_ep_api *device_ep_other(void) {
  static const ox_ep_api api = {TABLE_BEGIN("other"), MEMORIES, STREAMS};
  return &api;
}

const ox_ep_api *device_ep_plain(void) {
  static const ox_ep_api api = {TABLE_BEGIN("plain"), MEMORIES, .memory_space = memory_space};
  return &api;
}

const ox_ep_api *device_ep_queue(void) {
  static const ox_ep_api api = {TABLE_BEGIN("queue"), STREAMS};
  return &api;
}
