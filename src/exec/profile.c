/* SPDX-License-Identifier: Apache-2.0
 * exec/profile.c - a growing array of events behind a mutex. */
#include "exec/profile.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/json.h"

struct ox_profile {
  ox_alloc alloc;
  pthread_mutex_t lock;
  ox_profile_event *events;
  size_t n, capacity;
  ox_arena names; /* names and forms of events, and their tensors */
};

ox_status *ox_profile_create(ox_alloc alloc, ox_profile **out_profile) {
  *out_profile = ox_new_zeroed(alloc, sizeof **out_profile);
  if (!*out_profile) return ox_oom();
  (*out_profile)->alloc = alloc;
  ox_arena_init(&(*out_profile)->names, alloc);
  pthread_mutex_init(&(*out_profile)->lock, NULL);
  return NULL;
}

void ox_profile_destroy(ox_profile *p) {
  if (!p) return;
  pthread_mutex_destroy(&p->lock);
  ox_delete(p->alloc, p->events, p->capacity * sizeof *p->events);
  ox_arena_deinit(&p->names);
  ox_delete(p->alloc, p, sizeof *p);
}

static void add(ox_profile *p, const ox_profile_event *e) {
  void *events = p->events;
  if (!ox_grow(p->alloc, &events, &p->capacity, p->n, sizeof *p->events)) return;
  p->events = events;
  p->events[p->n] = *e;
  if (e->form && !(p->events[p->n].form = ox_arena_str(&p->names, e->form, strlen(e->form)))) return;
  p->n++;
}

void ox_profile_add(ox_profile *p, const ox_profile_event *e) {
  pthread_mutex_lock(&p->lock);
  add(p, e);
  pthread_mutex_unlock(&p->lock);
}

void ox_profile_add_copy(ox_profile *p, const ox_profile_event *e) {
  pthread_mutex_lock(&p->lock);
  ox_profile_event own = *e;
  own.name = ox_arena_str(&p->names, e->name, strlen(e->name));
  if (own.name) add(p, &own);
  pthread_mutex_unlock(&p->lock);
}

ox_tensor *ox_profile_tensors(ox_profile *p, size_t n) {
  pthread_mutex_lock(&p->lock);
  ox_tensor *t = OX_ARENA_ARRAY(&p->names, ox_tensor, n);
  pthread_mutex_unlock(&p->lock);
  return t;
}

void ox_profile_clear(ox_profile *p) {
  pthread_mutex_lock(&p->lock);
  p->n = 0;
  ox_arena_reset(&p->names);
  pthread_mutex_unlock(&p->lock);
}

size_t ox_profile_events(const ox_profile *p, const ox_profile_event **out_events) {
  *out_events = p->events;
  return p->n;
}

static int write_to(void *file, const void *bytes, size_t n) { return fwrite(bytes, 1, n, file) != n; }

static void write_event(ox_json *j, const ox_profile_event *e) {
  ox_json_begin_object(j);
  ox_json_string(ox_json_key(j, "name"), e->name[0] ? e->name : e->op);
  ox_json_string(ox_json_key(j, "cat"), e->op);
  ox_json_string(ox_json_key(j, "ph"), "X"); /* a complete event: a start and a duration, in microseconds */
  ox_json_int(ox_json_key(j, "pid"), 1);
  ox_json_uint(ox_json_key(j, "tid"), e->thread);
  ox_json_double(ox_json_key(j, "ts"), (double)e->start_ns / 1e3);
  ox_json_double(ox_json_key(j, "dur"), (double)e->duration_ns / 1e3);
  ox_json_begin_object(ox_json_key(j, "args"));
  ox_json_string(ox_json_key(j, "provider"), e->provider);
  ox_json_uint(ox_json_key(j, "bytes"), e->out_bytes);
  if (e->form) ox_json_string(ox_json_key(j, "form"), e->form);
  ox_json_end_object(j);
  ox_json_end_object(j);
}

ox_status *ox_profile_write_trace(const ox_profile *p, const char *path) {
  FILE *f = fopen(path, "w");
  if (!f) return ox_fail(OX_FAIL, "%s: %s", path, strerror(errno));
  ox_json j = ox_json_to(write_to, f);
  ox_json_begin_array(&j);
  for (size_t i = 0; i < p->n; i++) {
    ox_json_line(&j);
    write_event(&j, &p->events[i]);
  }
  ox_json_end_array(&j);
  bool ok = ox_json_end(&j);
  ok &= fclose(f) == 0;
  return ok ? NULL : ox_fail(OX_FAIL, "%s: writing failed", path);
}
