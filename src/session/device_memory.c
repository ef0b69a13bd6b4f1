/* SPDX-License-Identifier: Apache-2.0
 * session/device_memory.c - see device_memory.h. */
#include "session/device_memory.h"

#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "plan/transfers.h"

/* ---- life ---- */

static ox_status *find_index(const ox_ep_api *api, const char *name, uint32_t *out_index) {
  for (uint32_t i = 0; i < api->n_memories; i++) {
    if (name && strcmp(api->memories[i].name, name) != 0) continue;
    *out_index = i + 1;
    return NULL;
  }
  return ox_fail(OX_INVALID_ARGUMENT, "provider '%s' has no memory%s%s%s", api->name, name ? " '" : " of its own",
                 name ? name : "", name ? "'" : "");
}

static ox_status *create(ox_memory *m, const ox_ep_api *api, const ox_options *options) {
  OX_TRY(ox_ep_check_options(api, options));
  ox_ep_host host = ox_ep_host_make(&m->provider.services, api);
  OX_TRY(ox_status_note(api->create(&host, options, &m->provider.ep), "provider '%s'", api->name));
  if (!m->provider.ep) return ox_fail(OX_FAIL, "provider '%s': create returned nothing", api->name);
  return NULL;
}

static ox_status *fill(ox_memory *m, const ox_ep_api *api, const ox_options *options) {
  m->provider.api = *api;
  m->provider.services = (ox_ep_services){.alloc = m->env->alloc,
                                          .log = &m->env->log,
                                          .pool = m->env->pool,
                                          .max_threads = OX_MAX(ox_pool_size(m->env->pool), 1),
                                          .provider = api->name};
  ox_provider_serve_memory(&m->provider);
  ox_options rest;
  ox_arena_request arenas;
  ox_arena scratch; /* create reads its options, and keeps none */
  ox_arena_init(&scratch, m->env->alloc);
  ox_status *st = ox_provider_arena_options(&scratch, api, options, &rest, &arenas);
  if (!st) st = create(m, api, &rest);
  ox_arena_deinit(&scratch);
  if (st) return st;
  if (!arenas.asked) arenas.opts.extend = OX_ARENA_SAME_AS_REQUESTED;
  OX_TRY(ox_provider_add_arenas(&m->provider, m->env->alloc, &arenas.opts));
  m->space = api->memory_space ? api->memory_space(m->provider.ep, m->index) : 0;
  return NULL;
}

ox_status *ox_memory_open(ox_env *env, const ox_provider_spec *provider, const char *name, ox_memory **out_memory) {
  const ox_ep_api *api;
  uint32_t index = 0;
  *out_memory = NULL;
  OX_TRY(ox_env_get_provider(env, provider->name, &api));
  OX_TRY(find_index(api, name, &index));
  ox_memory *m = ox_new_zeroed(env->alloc, sizeof *m);
  if (!m) return ox_oom();
  atomic_init(&m->refs, 1);
  m->env = ox_env_retain(env), m->index = index;
  ox_status *st = fill(m, api, &provider->options);
  if (st)
    ox_memory_release(m);
  else
    *out_memory = m;
  return st;
}

ox_memory *ox_memory_retain(ox_memory *m) {
  if (m) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
  return m;
}

void ox_memory_release(ox_memory *m) {
  /* acq_rel: the last holder sees every use by the others */
  if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
  ox_provider_release_arenas(&m->provider, m->env->alloc);
  if (m->provider.ep) m->provider.api.destroy(m->provider.ep);
  ox_env *env = m->env;
  ox_delete(env->alloc, m, sizeof *m);
  ox_env_release(env);
}

/* ---- what it is ---- */

static const ox_memory_def *def_of(const ox_memory *m) { return &m->provider.api.memories[m->index - 1]; }
const char *ox_memory_name(const ox_memory *m) { return def_of(m)->name; }
const char *ox_memory_provider(const ox_memory *m) { return m->provider.api.name; }
int ox_memory_host_accessible(const ox_memory *m) { return def_of(m)->host_accessible != 0; }

static bool same_place(const ox_memory *m, const ox_provider *p) {
  return m->space && strcmp(p->api.name, m->provider.api.name) == 0 && m->index <= p->api.n_memories &&
         p->api.memory_space && p->api.memory_space(p->ep, m->index) == m->space;
}

uint32_t ox_memory_in_plan(const ox_memory *m, const ox_provider *providers, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (same_place(m, &providers[i])) return ox_memory_of((uint16_t)(i + 1), m->index);
  return 0;
}

/* ---- blocks ---- */

ox_status *ox_memory_take(ox_memory *m, size_t bytes, void **out_data) {
  *out_data = NULL;
  return bytes ? ox_provider_take(&m->provider, m->index, bytes, out_data) : NULL;
}

void ox_memory_give(ox_memory *m, void *data, size_t bytes) { ox_provider_give(&m->provider, m->index, data, bytes); }

static ox_device_arena *arena_of(const ox_memory *m) { return m->provider.arenas[m->index - 1]; }
void ox_memory_get_stats(ox_memory *m, ox_memory_stats *out) { ox_device_arena_stats(arena_of(m), out); }
void ox_memory_shrink(ox_memory *m) { ox_device_arena_shrink(arena_of(m)); }

ox_status *ox_memory_lend(ox_memory *m, ox_provider *p, ox_alloc alloc) {
  if (!same_place(m, p)) return NULL;
  if (!p->arenas) p->arenas = ox_new_zeroed(alloc, p->api.n_memories * sizeof *p->arenas);
  if (!p->arenas) return ox_oom();
  ox_device_arena_release(p->arenas[m->index - 1]);
  p->arenas[m->index - 1] = ox_device_arena_retain(arena_of(m));
  return NULL;
}

static ox_status *copy_with(ox_memory *m, void *to, uint32_t to_index, const void *from, uint32_t from_index,
                            size_t bytes) {
  const ox_provider *p = &m->provider;
  return ox_status_note(p->api.copy(p->ep, to, to_index, from, from_index, bytes, NULL), "provider '%s'", p->api.name);
}

ox_status *ox_memory_copy(ox_memory *to_memory, void *to, ox_memory *from_memory, const void *from, size_t bytes) {
  if (!bytes) return NULL;
  if (!to_memory && !from_memory) {
    memmove(to, from, bytes);
    return NULL;
  }
  if (!from_memory) return copy_with(to_memory, to, to_memory->index, from, 0, bytes);
  if (!to_memory) return copy_with(from_memory, to, 0, from, from_memory->index, bytes);
  if (to_memory == from_memory || same_place(from_memory, &to_memory->provider))
    return copy_with(to_memory, to, to_memory->index, from, from_memory->index, bytes);
  ox_alloc alloc = to_memory->env->alloc;
  void *between = ox_new_aligned(alloc, bytes, OX_ALIGN_BYTES);
  if (!between) return ox_oom();
  ox_status *st = copy_with(from_memory, between, 0, from, from_memory->index, bytes);
  if (!st) st = copy_with(to_memory, to, to_memory->index, between, 0, bytes);
  ox_delete(alloc, between, bytes);
  return st;
}
