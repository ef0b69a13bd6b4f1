/* SPDX-License-Identifier: Apache-2.0
 * session/session_memory.c - gives back what a session keeps for later runs, and tells how much its arenas hold. */
#include <string.h>

#include "base/macros.h"
#include "plan/device_arena.h"
#include "session/session.h"
#include "session/session_devices.h"

void ox_call_free(ox_call *c, const ox_session *s) {
  const ox_graph *g = s->model->graph;
  ox_run_memory_deinit(&c->run_memory);
  ox_call_devices_free(c);
  ox_delete(s->alloc, c->bound, (s->n_inputs + 1) * sizeof *c->bound);
  ox_delete(s->alloc, c->aligned, (s->n_inputs + 1) * sizeof *c->aligned);
  ox_delete(s->alloc, c->out, (g->n_outputs + 1) * sizeof *c->out);
  ox_delete(s->alloc, c->out_given, g->n_outputs + 1);
  ox_delete(s->alloc, c->out_bytes, (g->n_outputs + 1) * sizeof *c->out_bytes);
  ox_delete(s->alloc, c, sizeof *c);
}

void ox_session_trim(void *session) {
  ox_session *s = session, *sibling = atomic_load_explicit(&s->sibling, memory_order_acquire);
  ox_context *idle[OX_IDLE_CONTEXTS];
  pthread_mutex_lock(&s->lock);
  uint32_t n = s->n_idle;
  ox_call *calls = s->calls;
  memcpy(idle, s->idle, n * sizeof *idle);
  s->n_idle = 0, s->calls = NULL;
  pthread_mutex_unlock(&s->lock);
  for (uint32_t i = 0; i < n; i++) ox_context_destroy(idle[i]);
  for (ox_call *c = calls, *next; c; c = next) {
    next = c->next;
    ox_call_free(c, s);
  }
  ox_slabs_trim(&s->slabs);
  if (s->recycler) ox_recycler_trim(s->recycler);
  if (sibling) ox_session_trim(sibling);
}

void ox_session_shrink(ox_session *s) {
  ox_session_trim(s);
  for (size_t i = 0; i < s->n_providers; i++)
    for (size_t k = 0; s->providers[i].arenas && k < s->providers[i].api.n_memories; k++)
      if (s->providers[i].arenas[k]) ox_device_arena_shrink(s->providers[i].arenas[k]);
}

int ox_session_memory_stats(const ox_session *s, const char *provider, const char *name, ox_memory_stats *out) {
  ox_provider_info info;
  for (size_t i = 0; provider && i < s->n_providers; i++) {
    const ox_provider *p = &s->providers[i];
    bool is_it = strcmp(p->api.name, provider) == 0 ||
                 (ox_provider_find(provider, &info) && strcmp(p->api.name, info.name) == 0);
    for (size_t k = 0; is_it && p->arenas && k < p->api.n_memories; k++) {
      if ((name && strcmp(p->api.memories[k].name, name) != 0) || !p->arenas[k]) continue;
      ox_device_arena_stats(p->arenas[k], out);
      return 1;
    }
  }
  return 0;
}
