/* SPDX-License-Identifier: Apache-2.0
 * device/device_ep.c - the provider's table: options, claims, memory, streams. Programs are in program.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/program.h"
#include "plugins/device/rules.h"
#include "plugins/device/shapes.h"

enum { MEMORY = 1 };

ox_status *dev_take(ox_ep *ep, size_t bytes, void **out_address) {
  return ep->host.memory_take(&ep->host, MEMORY, OX_MAX(bytes, 1u), out_address);
}

void dev_give(ox_ep *ep, void *address, size_t bytes) {
  ep->host.memory_give(&ep->host, MEMORY, address, OX_MAX(bytes, 1u));
}

/* ---- options ---- */

enum { MOST_OPTIONS = 32 };

/* Options of every device provider, mostly with the names of ONNX Runtime's CUDA provider. gpu_mem_limit and
 * arena_extend_strategy are handled by the host. */
static const ox_option_def options[] = {
    {"enable_cuda_graph", OX_OPTION_BOOL, NULL, "1", "run a repeated shape as one recorded graph"},
    {"use_libraries", OX_OPTION_BOOL, NULL, "1", "let the vendor's libraries compute products and convolutions"},
    {"kernel_cache_dir", OX_OPTION_STRING, NULL, "",
     "a folder for built kernels; none: they are built in each process; empty: the user's, unless the driver has one"},
};

static const char *option(const ox_options *o, const char *key, const char *otherwise) {
  for (uint32_t i = 0; o && i < o->n; i++)
    if (strcmp(o->keys[i], key) == 0) return o->values[i];
  return otherwise;
}

static bool option_on(const ox_options *o, const char *key) {
  const char *value = option(o, key, "1");
  return strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
}

/* ---- life ---- */

static void destroy(ox_ep *ep) {
  dev_modules_deinit(&ep->modules);
  if (ep->device) dev_the_driver.close(ep->device);
  pthread_mutex_destroy(&ep->lock);
  ox_delete(ep->host.alloc, ep->lies, ep->lies_room);
  ox_delete(ep->host.alloc, ep, sizeof *ep);
}

static ox_status *open(ox_ep *ep, const ox_options *o) {
  ep->record = dev_the_driver.record_begin && option_on(o, "enable_cuda_graph");
  ep->libraries = option_on(o, "use_libraries");
  DEV_TRY(dev_the_driver.open(&ep->host, o, &ep->device));
  return dev_modules_init(&ep->modules, &ep->host, ep->device, option(o, "kernel_cache_dir", ""));
}

static ox_status *create(const ox_ep_host *host, const ox_options *o, ox_ep **out_ep) {
  if (host->struct_size < sizeof *host)
    return host->status_make(OX_INCOMPATIBLE, "the engine is older than this provider");
  ox_ep *ep = ox_new_zeroed(host->alloc, sizeof *ep);
  if (!ep) return dev_no_memory(host);
  ep->host = *host;
  if (pthread_mutex_init(&ep->lock, NULL)) {
    ox_delete(host->alloc, ep, sizeof *ep);
    return dev_fail(host, OX_FAIL, "a lock cannot be made");
  }
  ox_status *st = open(ep, o);
  if (st)
    destroy(ep);
  else
    *out_ep = ep;
  return st;
}

/* ---- claims ---- */

/* Does the node compute a few numbers from numbers that the CPU made? It is left to the CPU, which may then compute all
 * of them once for all runs of a shape. */
static bool is_of_cpu(const dev_node *n) {
  enum { FEW = 64 };
  bool made = false;
  for (size_t i = 0; i < dev_in_count(n); i++) {
    uint32_t v = dev_in(n, i);
    if (v == UINT32_MAX || dev_in_constant(n, i)) continue;
    int rank = dev_in_rank(n, i);
    int64_t count = rank == 1 ? dev_in_dim(n, i, 0) : rank == 0 ? 1 : -1;
    if (n->lies[v] != DEV_ELSEWHERE || count < 0 || count > FEW) return false;
    made |= n->host->value_producer(n->graph, v) != SIZE_MAX;
  }
  return made;
}

static void claim_node(const dev_node *n, uint8_t *lies, ox_claims *claims) {
  const ox_ep_host *h = n->host;
  const dev_op *op = dev_op_find(h->node_domain(n->graph, n->index), dev_node_op(n));
  bool with_host = dev_shapes_takes(n);
  const char *why = with_host ? NULL : op ? op->takes(n) : REASON("an operator of the device's", "{op}");
  if (!why && !with_host && is_of_cpu(n))
    why = REASON("work (a few numbers that the CPU made stay with it)", "{inputs}");
  if (why) {
    char text[REASON_ROOM];
    h->decline(claims, n->index, reason_of(h, n->graph, n->index, why, text));
    return;
  }
  h->claim_fused(claims, n->index);
  for (size_t i = 0; i < h->node_out_count(n->graph, n->index); i++)
    if (dev_out(n, i) != UINT32_MAX) lies[dev_out(n, i)] = with_host ? DEV_WITH_HOST : DEV_ON_DEVICE;
}

/* Makes ep->lies large enough for the values of |g|, and of its parts, where a failure could not be reported. */
static bool make_room(ox_ep *ep, const ox_graph_view *g) {
  enum { MORE = 64 };
  size_t n = ep->host.value_count(g), room = 2 * n + MORE; /* rules add values */
  if (n <= ep->lies_room) return true;
  ox_delete(ep->host.alloc, ep->lies, ep->lies_room);
  ep->lies = ox_new(ep->host.alloc, room), ep->lies_room = ep->lies ? room : 0;
  return ep->lies != NULL;
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  const ox_ep_host *h = &ep->host;
  if (!make_room(ep, g)) return dev_no_memory(h);
  memset(ep->lies, DEV_ELSEWHERE, h->value_count(g));
  for (size_t i = 0; i < h->node_count(g); i++) {
    const dev_node n = {.host = h, .graph = g, .index = i, .lies = ep->lies};
    claim_node(&n, ep->lies, claims);
  }
  return NULL;
}

/* ---- memory ---- */

static const ox_memory_def memories[] = {{"device", 0, 256}};

static ox_status *memory_alloc(ox_ep *ep, uint32_t memory, size_t bytes, void **out_data) {
  (void)memory;
  return dev_the_driver.alloc(ep->device, OX_MAX(bytes, 1u), out_data);
}

static void memory_free(ox_ep *ep, uint32_t memory, void *data, size_t bytes) {
  (void)memory;
  if (data) dev_the_driver.free(ep->device, data, OX_MAX(bytes, 1u));
}

/* The memory in which value |v| of |part| lies; UINT32_MAX, which is none, if out of memory. */
static uint32_t memory_of(ox_ep *ep, const ox_graph_view *part, uint32_t v) {
  if (!make_room(ep, part)) return UINT32_MAX;
  dev_shapes_place(&ep->host, part, ep->lies);
  return ep->lies[v] == DEV_ON_DEVICE ? MEMORY : 0;
}

static uint32_t part_memory(ox_ep *ep, const ox_graph_view *part, size_t i) {
  return memory_of(ep, part, ep->host.io_value(part, 0, i));
}

static uint32_t part_out_memory(ox_ep *ep, const ox_graph_view *part, size_t i) {
  return memory_of(ep, part, ep->host.io_value(part, 1, i));
}

static uint64_t memory_space(ox_ep *ep, uint32_t memory) {
  (void)memory;
  return dev_the_driver.info(ep->device)->space;
}

static const char *describe(ox_ep *ep) {
  const dev_info *i = dev_the_driver.info(ep->device);
  snprintf(ep->place, sizeof ep->place, "%s; %s", i->name, i->key);
  return ep->place;
}

static ox_status *copy(ox_ep *ep, void *to, uint32_t to_memory, const void *from, uint32_t from_memory, size_t bytes,
                       void *stream) {
  dev_direction way = !to_memory ? DEV_TO_HOST : from_memory ? DEV_WITHIN : DEV_TO_DEVICE;
  dev_stream *s = stream;
  return bytes ? dev_the_driver.copy(ep->device, s ? s->queue : NULL, to, from, bytes, way) : NULL;
}

/* ---- streams ---- */

static ox_status *stream_create(ox_ep *ep, void **out_stream) {
  dev_stream *s = ox_new_zeroed(ep->host.alloc, sizeof *s);
  if (!s) return dev_no_memory(&ep->host);
  ox_status *st = dev_the_driver.queue_create(ep->device, &s->queue);
  if (st)
    ox_delete(ep->host.alloc, s, sizeof *s);
  else
    *out_stream = s;
  return st;
}

static void stream_release(ox_ep *ep, void *stream) {
  dev_stream *s = stream;
  pthread_mutex_lock(&ep->lock);
  for (ox_program *p = ep->programs; p; p = p->next) dev_program_forget(p, s);
  pthread_mutex_unlock(&ep->lock);
  dev_the_driver.queue_release(s->queue);
  dev_give(ep, s->work, s->work_bytes);
  ox_delete(ep->host.alloc, s, sizeof *s);
}

static ox_status *stream_sync(ox_ep *ep, void *stream) {
  (void)ep;
  return dev_the_driver.queue_sync(((dev_stream *)stream)->queue);
}

static ox_status *event_create(ox_ep *ep, void **out_event) {
  dev_event *e = NULL;
  DEV_TRY(dev_the_driver.event_create(ep->device, &e));
  *out_event = e;
  return NULL;
}

static void event_release(ox_ep *ep, void *event) {
  (void)ep;
  dev_the_driver.event_release(event);
}

static ox_status *event_record(ox_ep *ep, void *event, void *stream) {
  (void)ep;
  return dev_the_driver.event_record(event, ((dev_stream *)stream)->queue);
}

static ox_status *event_sync(ox_ep *ep, void *event) {
  (void)ep;
  return dev_the_driver.event_sync(event);
}

/* ---- the table ---- */

static ox_option_def all_options[MOST_OPTIONS];
static ox_ep_api api = {.struct_size = sizeof api,
                        .abi_major = OX_EP_ABI_MAJOR,
                        .create = create,
                        .destroy = destroy,
                        .claim = claim,
                        .compile = dev_program_compile,
                        .run = dev_program_run,
                        .program_release = dev_program_release,
                        .version = "1",
                        .options = all_options,
                        .memories = memories,
                        .n_memories = OX_COUNT(memories),
                        .memory_alloc = memory_alloc,
                        .memory_free = memory_free,
                        .memory_space = memory_space,
                        .part_memory = part_memory,
                        .part_out_memory = part_out_memory,
                        .slow_alloc = 1,
                        .describe = describe,
                        .copy = copy,
                        .stream_create = stream_create,
                        .stream_release = stream_release,
                        .stream_sync = stream_sync,
                        .event_create = event_create,
                        .event_release = event_release,
                        .event_record = event_record,
                        .event_sync = event_sync};

static void fill_table(void) {
  size_t n = OX_COUNT(options);
  memcpy(all_options, options, sizeof options);
  for (size_t i = 0; i < dev_the_driver.n_options && n < MOST_OPTIONS; i++)
    all_options[n++] = dev_the_driver.options[i];
  api.n_options = n, api.name = dev_the_driver.name;
  api.rule_sets = dev_rule_sets(api.name, &api.n_rule_sets);
}

const ox_ep_api *ox_ep_query(uint32_t host_abi_major) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill_table);
  return host_abi_major == OX_EP_ABI_MAJOR ? &api : NULL;
}
