/* SPDX-License-Identifier: Apache-2.0
 * support/device_stream.c - see device_stream.h. */
#include "support/device_stream.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

typedef struct item {
  struct item *next;
  ox_status *(*work)(void *data);
  void *data;
} item;

struct device_stream {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  item *first, **last;
  bool busy, closing;
  uint32_t random;
  ox_status *error;
};

struct device_event {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t recorded, done; /* how often */
};

/* Three of four times not at all, else up to a quarter of a millisecond. */
static void delay(device_stream *s) {
  s->random = s->random * 1664525 + 1013904223;
  if (s->random >> 30) return;
  const struct timespec t = {0, (long)(s->random >> 12)};
  nanosleep(&t, NULL);
}

static void *stream_main(void *arg) {
  device_stream *s = arg;
  pthread_mutex_lock(&s->lock);
  while (s->first || !s->closing) {
    item *i = s->first;
    if (!i) {
      pthread_cond_wait(&s->changed, &s->lock);
      continue;
    }
    s->first = i->next;
    if (!s->first) s->last = &s->first;
    s->busy = true;
    pthread_mutex_unlock(&s->lock);
    delay(s);
    ox_status *st = i->work(i->data);
    free(i);
    pthread_mutex_lock(&s->lock);
    s->busy = false;
    if (s->error)
      ox_status_free(st);
    else
      s->error = st;
    pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

device_stream *device_stream_create(uint32_t seed) {
  device_stream *s = calloc(1, sizeof *s);
  s->last = &s->first, s->random = seed * 2654435761u;
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  if (pthread_create(&s->thread, NULL, stream_main, s)) abort();
  return s;
}

void device_stream_destroy(device_stream *s) {
  pthread_mutex_lock(&s->lock);
  s->closing = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->lock);
  ox_status_free(s->error);
  free(s);
}

void device_stream_put(device_stream *s, ox_status *(*work)(void *data), void *data) {
  item *i = malloc(sizeof *i);
  *i = (item){NULL, work, data};
  pthread_mutex_lock(&s->lock);
  *s->last = i, s->last = &i->next;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

ox_status *device_stream_sync(device_stream *s) {
  pthread_mutex_lock(&s->lock);
  while (s->first || s->busy) pthread_cond_wait(&s->changed, &s->lock);
  ox_status *st = s->error;
  s->error = NULL;
  pthread_mutex_unlock(&s->lock);
  return st;
}

/* ---- events ---- */

device_event *device_event_create(void) {
  device_event *e = calloc(1, sizeof *e);
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->changed, NULL);
  return e;
}

void device_event_destroy(device_event *e) {
  pthread_cond_destroy(&e->changed);
  pthread_mutex_destroy(&e->lock);
  free(e);
}

static ox_status *happen(void *data) {
  device_event *e = data;
  pthread_mutex_lock(&e->lock);
  e->done++;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->lock);
  return NULL;
}

void device_event_record(device_event *e, device_stream *s) {
  pthread_mutex_lock(&e->lock);
  e->recorded++;
  pthread_mutex_unlock(&e->lock);
  device_stream_put(s, happen, e);
}

void device_event_sync(device_event *e) {
  pthread_mutex_lock(&e->lock);
  while (e->done < e->recorded) pthread_cond_wait(&e->changed, &e->lock);
  pthread_mutex_unlock(&e->lock);
}
