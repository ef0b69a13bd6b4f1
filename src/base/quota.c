/* SPDX-License-Identifier: Apache-2.0
 * base/quota.c - see quota.h. */
#include "base/quota.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/macros.h"

struct ox_quota {
  ox_alloc under;
  atomic_size_t users; /* blocks, and the owner */
  atomic_size_t held, limit;
  atomic_size_t refusals;
  pthread_mutex_t lock; /* guards what follows */
  void (*trim)(void *ctx);
  void *ctx;
  struct {
    size_t bytes, held, limit;
  } last; /* refusal */
};

static void drop(ox_quota *q) {
  /* acq_rel: the last user frees what all the others have used */
  if (atomic_fetch_sub_explicit(&q->users, 1, memory_order_acq_rel) != 1) return;
  pthread_mutex_destroy(&q->lock);
  ox_delete(q->under, q, sizeof *q);
}

/* The counts order nothing: a thread learns of a block from the thread that allocated it. */
static bool take(ox_quota *q, size_t bytes) {
  size_t held = atomic_load_explicit(&q->held, memory_order_relaxed);
  do {
    size_t limit = atomic_load_explicit(&q->limit, memory_order_relaxed);
    if (held > limit || bytes > limit - held) return false;
  } while (!atomic_compare_exchange_weak_explicit(&q->held, &held, held + bytes, memory_order_relaxed,
                                                  memory_order_relaxed));
  return true;
}

static void trim(ox_quota *q) {
  pthread_mutex_lock(&q->lock);
  void (*fn)(void *ctx) = q->trim;
  void *ctx = q->ctx;
  pthread_mutex_unlock(&q->lock);
  if (fn) fn(ctx);
}

static void note_refusal(ox_quota *q, size_t bytes) {
  pthread_mutex_lock(&q->lock);
  q->last.bytes = bytes;
  q->last.held = atomic_load_explicit(&q->held, memory_order_relaxed);
  q->last.limit = atomic_load_explicit(&q->limit, memory_order_relaxed);
  atomic_fetch_add_explicit(&q->refusals, 1, memory_order_relaxed);
  pthread_mutex_unlock(&q->lock);
}

static void *quota_alloc(void *ctx, size_t bytes, size_t align) {
  ox_quota *q = ctx;
  if (OX_UNLIKELY(!take(q, bytes))) {
    trim(q);
    if (!take(q, bytes)) {
      note_refusal(q, bytes);
      return NULL;
    }
  }
  void *p = q->under.alloc(q->under.ctx, bytes, align);
  if (OX_UNLIKELY(!p)) {
    trim(q);
    p = q->under.alloc(q->under.ctx, bytes, align);
  }
  if (OX_LIKELY(p != NULL))
    atomic_fetch_add_explicit(&q->users, 1, memory_order_relaxed);
  else
    atomic_fetch_sub_explicit(&q->held, bytes, memory_order_relaxed);
  return p;
}

static void quota_free(void *ctx, void *p, size_t bytes) {
  ox_quota *q = ctx;
  ox_delete_pages(q->under, p, bytes);
  atomic_fetch_sub_explicit(&q->held, bytes, memory_order_relaxed);
  drop(q);
}

ox_quota *ox_quota_create(ox_alloc under, size_t limit) {
  ox_quota *q = ox_new_zeroed(under, sizeof *q);
  if (!q) return NULL;
  q->under = under;
  atomic_init(&q->users, 1);
  atomic_init(&q->held, 0);
  atomic_init(&q->limit, limit);
  atomic_init(&q->refusals, 0);
  pthread_mutex_init(&q->lock, NULL);
  return q;
}

void ox_quota_release(ox_quota *q) {
  if (!q) return;
  ox_quota_set_trim(q, NULL, NULL);
  drop(q);
}

ox_alloc ox_quota_alloc(ox_quota *q) { return (ox_alloc){quota_alloc, quota_free, q}; }

void ox_quota_raise(ox_quota *q, size_t limit) {
  size_t is = atomic_load_explicit(&q->limit, memory_order_relaxed);
  while (is < limit &&
         !atomic_compare_exchange_weak_explicit(&q->limit, &is, limit, memory_order_relaxed, memory_order_relaxed)) {
  }
}

void ox_quota_set_trim(ox_quota *q, void (*fn)(void *ctx), void *ctx) {
  pthread_mutex_lock(&q->lock);
  q->trim = fn, q->ctx = ctx;
  pthread_mutex_unlock(&q->lock);
}

size_t ox_quota_left(const ox_quota *q) {
  size_t limit = atomic_load_explicit(&q->limit, memory_order_relaxed);
  return limit - OX_MIN(limit, atomic_load_explicit(&q->held, memory_order_relaxed));
}

size_t ox_quota_refusals(const ox_quota *q) { return atomic_load_explicit(&q->refusals, memory_order_relaxed); }

ox_status *ox_quota_explain(ox_quota *q, size_t before, const char *option, ox_status *st) {
  if (ox_status_code(st) != OX_OUT_OF_MEMORY || ox_quota_refusals(q) == before) return st;
  pthread_mutex_lock(&q->lock);
  size_t bytes = q->last.bytes, held = q->last.held, limit = q->last.limit;
  pthread_mutex_unlock(&q->lock);
  ox_status *limited = ox_fail(OX_LIMIT, "%s: wanted %zu bytes; %zu are in use, %s is %zu", ox_status_message(st),
                               bytes, held, option, limit);
  ox_status_free(st);
  return limited;
}
