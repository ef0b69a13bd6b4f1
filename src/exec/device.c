/* SPDX-License-Identifier: Apache-2.0
 * exec/device.c - see device.h. */
#include "exec/device.h"

#include "base/macros.h"
#include "plan/transfers.h"

/* ---- a provider's memory as an allocator ---- */

static void *take(void *ctx, size_t bytes, size_t align) {
  const ox_device_memory *m = ctx;
  void *data = NULL;
  (void)align; /* the provider's own: ox_memory_def.align */
  ox_status *st = ox_provider_take(m->provider, ox_memory_index(m->id), bytes, &data);
  if (st) ox_log_write(m->provider->services.log, OX_LOG_WARNING, "%s: %s", m->provider->api.name, ox_status_message(st));
  ox_status_free(st);
  return st ? NULL : data;
}

static void give(void *ctx, void *p, size_t bytes) {
  const ox_device_memory *m = ctx;
  ox_provider_give(m->provider, ox_memory_index(m->id), p, bytes);
}

/* ---- building ---- */

ox_device_memory *ox_device_memory_find(const ox_devices *d, uint32_t id) {
  for (uint32_t i = 0; i < d->n_memories && id; i++)
    if (d->memories[i].id == id) return &d->memories[i];
  return NULL;
}

static ox_status *add_memories(ox_devices *d, ox_arena *a) {
  const ox_graph *g = d->plan->graph;
  uint32_t most = 0;
  for (size_t i = 0; i < d->plan->n_providers; i++) most += (uint32_t)d->plan->providers[i].api.n_memories;
  if (!most) return NULL;
  d->memories = OX_ARENA_ARRAY(a, ox_device_memory, most);
  if (!d->memories) return ox_oom();
  for (ox_id v = 0; v < g->n_values; v++) {
    uint32_t id = g->values[v].memory;
    if (!id || ox_device_memory_find(d, id)) continue;
    ox_device_memory *m = &d->memories[d->n_memories++];
    m->id = id, m->provider = &d->plan->providers[ox_memory_owner(id) - 1];
    m->alloc = (ox_alloc){take, give, m};
    ox_dynpool_init_with(&m->dyn, d->alloc, m->alloc);
  }
  return NULL;
}

static ox_status *make_stream(const ox_provider *p, void **out) {
  void *stream = NULL; /* whatever a failed call left here is ignored */
  OX_TRY(p->api.stream_create(p->ep, &stream));
  *out = stream;
  return stream ? NULL : ox_fail(OX_FAIL, "stream_create returned no stream");
}

static ox_status *add_streams(ox_devices *d, ox_arena *a) {
  size_t n = d->plan->n_providers;
  for (uint32_t i = 0; i < d->plan->n_units; i++) {
    const ox_provider *p = d->plan->units[i].owner;
    if (!p || !p->api.stream_create) continue;
    if (!d->streams) d->streams = OX_ARENA_ARRAY(a, void *, n);
    if (!d->streams) return ox_oom();
    void **stream = &d->streams[p - d->plan->providers];
    if (!*stream) OX_TRY(ox_status_note(make_stream(p, stream), "provider '%s'", p->api.name));
  }
  return NULL;
}

ox_status *ox_devices_init(ox_devices *d, const ox_plan *plan, ox_arena *a, ox_alloc alloc) {
  d->plan = plan, d->alloc = alloc;
  OX_TRY(add_memories(d, a));
  return add_streams(d, a);
}

ox_status *ox_devices_sync(const ox_devices *d) {
  ox_status *first = NULL;
  for (size_t i = 0; d->streams && i < d->plan->n_providers; i++) {
    const ox_provider *p = &d->plan->providers[i];
    ox_status *st = d->streams[i] ? p->api.stream_sync(p->ep, d->streams[i]) : NULL;
    if (first) ox_status_free(st);
    else first = ox_status_note(st, "provider '%s'", p->api.name);
  }
  return first;
}

void ox_devices_deinit(ox_devices *d) {
  ox_status_free(ox_devices_sync(d));
  for (size_t i = 0; d->streams && i < d->plan->n_providers; i++)
    if (d->streams[i]) d->plan->providers[i].api.stream_release(d->plan->providers[i].ep, d->streams[i]);
  for (uint32_t i = 0; i < d->n_memories; i++) {
    ox_device_memory *m = &d->memories[i];
    if (m->slab) give(m, m->slab, m->slab_bytes);
    ox_dynpool_deinit(&m->dyn);
  }
  d->streams = NULL, d->n_memories = 0;
}

ox_status *ox_device_slab(ox_device_memory *m, size_t bytes) {
  m->slab_bytes = bytes;
  if (!bytes) return NULL;
  void *data = NULL;
  ox_status *st = ox_provider_take(m->provider, ox_memory_index(m->id), bytes, &data);
  m->slab = data;
  return st;
}
