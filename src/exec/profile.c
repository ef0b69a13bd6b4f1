/* SPDX-License-Identifier: Apache-2.0
 * exec/profile.c - a growing array of events behind a mutex. */
#include "exec/profile.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

struct ox_profile {
  ox_alloc alloc;
  pthread_mutex_t lock;
  ox_profile_event *events;
  size_t n, capacity;
};

int64_t ox_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

ox_status *ox_profile_create(ox_alloc alloc, ox_profile **out_profile) {
  *out_profile = ox_new_zeroed(alloc, sizeof **out_profile);
  if (!*out_profile) return ox_oom();
  (*out_profile)->alloc = alloc;
  pthread_mutex_init(&(*out_profile)->lock, NULL);
  return NULL;
}

void ox_profile_destroy(ox_profile *p) {
  if (!p) return;
  pthread_mutex_destroy(&p->lock);
  ox_delete(p->alloc, p->events, p->capacity * sizeof *p->events);
  ox_delete(p->alloc, p, sizeof *p);
}

void ox_profile_add(ox_profile *p, const ox_profile_event *e) {
  pthread_mutex_lock(&p->lock);
  void *events = p->events;
  if (ox_grow(p->alloc, &events, &p->capacity, p->n, sizeof *p->events)) {
    p->events = events;
    p->events[p->n++] = *e;
  }
  pthread_mutex_unlock(&p->lock);
}

void ox_profile_clear(ox_profile *p) {
  pthread_mutex_lock(&p->lock);
  p->n = 0;
  pthread_mutex_unlock(&p->lock);
}

size_t ox_profile_events(const ox_profile *p, const ox_profile_event **out_events) {
  *out_events = p->events;
  return p->n;
}

static void write_text(FILE *f, const char *s) { /* a JSON string's inside */
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') fputc('\\', f);
    if ((unsigned char)*s < 0x20) fprintf(f, "\\u%04x", *s);
    else fputc(*s, f);
  }
}

ox_status *ox_profile_write_trace(const ox_profile *p, const char *path) {
  FILE *f = fopen(path, "w");
  if (!f) return ox_fail(OX_FAIL, "%s: %s", path, strerror(errno));
  fputs("[\n", f);
  for (size_t i = 0; i < p->n; i++) {
    const ox_profile_event *e = &p->events[i];
    fputs("{\"name\":\"", f);
    write_text(f, e->name[0] ? e->name : e->op);
    fputs("\",\"cat\":\"", f);
    write_text(f, e->op);
    fprintf(f, "\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"provider\":\"%s\",\"bytes\":%llu}}%s\n",
            e->thread, (double)e->start_ns / 1e3, (double)e->duration_ns / 1e3, e->provider,
            (unsigned long long)e->out_bytes, i + 1 < p->n ? "," : "");
  }
  fputs("]\n", f);
  bool bad = ferror(f) != 0;
  bad |= fclose(f) != 0;
  return bad ? ox_fail(OX_FAIL, "%s: writing failed", path) : NULL;
}
