/* SPDX-License-Identifier: Apache-2.0
 * session/memory_limit.c - see memory_limit.h. A model of a hundred bytes that asks for gigabytes is an accident or an
 * attack more often than not; one that brings many bytes itself may need many times as much. So by default a session
 * gets a fixed amount plus some hundred times what it was given, but never all of the memory. */
#include "session/memory_limit.h"

#include "base/cksize.h"
#include "base/macros.h"

#define FIRST ((size_t)2 << 30)
enum { TIMES = 256, SHARE_PERCENT = 80 };

size_t ox_default_memory_limit(uint64_t usable, uint64_t given) {
  size_t most = usable && usable / 100 < SIZE_MAX / SHARE_PERCENT ? (size_t)(usable / 100 * SHARE_PERCENT) : SIZE_MAX;
  size_t scaled;
  if (given > SIZE_MAX || !ox_mul_ok((size_t)given, TIMES, &scaled) || !ox_add_ok(scaled, FIRST, &scaled)) return most;
  return OX_MIN(most, scaled);
}

ox_status *ox_session_limit_memory(ox_session *s, const ox_session_opts *o, size_t bytes) {
  if (s->origin) {
    s->quota = s->origin->quota, s->alloc = s->origin->alloc;
    return NULL;
  }
  s->default_limit = !o->max_memory, s->given_bytes = bytes;
  for (size_t i = 0; i < o->n_initializers && o->initializers; i++)
    if (o->initializers[i]) s->given_bytes += ox_value_get(o->initializers[i])->bytes;
  size_t limit = s->default_limit ? ox_default_memory_limit(s->env->memory, s->given_bytes) : o->max_memory;
  s->quota = ox_quota_create(s->env->alloc, limit);
  if (!s->quota) return ox_oom();
  s->alloc = ox_quota_alloc(s->quota);
  ox_quota_set_trim(s->quota, ox_session_trim, s);
  return NULL;
}

void ox_session_count_files(ox_session *s) {
  if (s->origin || !s->default_limit) return;
  for (uint32_t i = 0; i < s->model->n_files; i++) s->given_bytes += ox_file_map_bytes(s->model->files[i].map);
  ox_quota_raise(s->quota, ox_default_memory_limit(s->env->memory, s->given_bytes));
}

/* Relaxed: the limit only grows, and a run that comes too early for another one's inputs has its own. */
void ox_session_count_inputs(ox_session *s, size_t bytes) {
  ox_session *whole = s->origin ? s->origin : s;
  if (!whole->default_limit || bytes <= atomic_load_explicit(&whole->most_inputs, memory_order_relaxed)) return;
  atomic_store_explicit(&whole->most_inputs, bytes, memory_order_relaxed);
  ox_quota_raise(whole->quota, ox_default_memory_limit(whole->env->memory, whole->given_bytes + bytes));
}

ox_status *ox_session_explain(ox_session *s, size_t before, ox_status *st) {
  const ox_session *whole = s->origin ? s->origin : s;
  return ox_quota_explain(s->quota, before, whole->default_limit ? "max_memory (the default)" : "max_memory", st);
}
