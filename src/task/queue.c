/* SPDX-License-Identifier: Apache-2.0
 * task/queue.c - queues of ready tasks. */
#include "task/queue.h"

#include <string.h>

#include "task/park.h"
#include "task/task_pool.h"
#include "task/task.h"

enum { CHUNK_TASKS = 32, MANY_TASKS = 4096, BATCH = 16 };

/* Task memory is made in chunks and freed with the pool: small ones, then, when a program has many tasks in flight,
 * some of 2 MiB, which the heap puts on huge pages. On small ones each task costs a page walk. */
struct ox_task_chunk {
  struct ox_task_chunk *next;
  uint32_t n;
  ox_task tasks[];
};
enum { LARGE_BYTES = 2 << 20, LARGE_TASKS = (LARGE_BYTES - sizeof(struct ox_task_chunk)) / sizeof(ox_task) };

static size_t chunk_bytes(uint32_t n) {
  return n == LARGE_TASKS ? LARGE_BYTES : offsetof(struct ox_task_chunk, tasks) + n * sizeof(ox_task);
}

static bool try_lock(atomic_uint *lock) {
  return !atomic_load_explicit(lock, memory_order_relaxed) &&
         !atomic_exchange_explicit(lock, 1, memory_order_acquire); /* pairs with unlock */
}
static void unlock(atomic_uint *lock) { atomic_store_explicit(lock, 0, memory_order_release); }

/* Locks |own| or, if its lock is taken, the next one that is free. */
static ox_task_queue *lock_any(ox_pool *pool, uint32_t own) {
  for (uint32_t i = own, tries = 0;; i = (i + 1) % pool->n_queues) {
    if (try_lock(&pool->queues[i].lock)) return &pool->queues[i];
    if (++tries % (4 * pool->n_queues) == 0) ox_thread_yield();
  }
}

uint32_t ox_queue_own(const ox_pool *pool) {
  static atomic_uint next;
  static _Thread_local uint32_t mine OX_TLS_FAST; /* 0: not chosen yet */
  uint32_t self = ox_pool_self(pool);
  if (self) return (OX_CLIENT_QUEUES + self - 1) % pool->n_queues;
  if (!mine) mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % OX_CLIENT_QUEUES + 1;
  return mine - 1;
}

static uint32_t get_count(const ox_task_queue *q) { return atomic_load_explicit(&q->count, memory_order_seq_cst); }

/* Lock held. */
static void append(ox_task_queue *q, ox_task *first, ox_task *last, uint32_t n) {
  last->next = NULL;
  bool empty = !q->head;
  if (empty)
    q->head = first;
  else
    q->tail->next = first;
  q->tail = last;
  q->pushed += n;
  if (q->pushed - q->young_at >= BATCH) {
    q->mark = q->young, q->mark_at = q->young_at;
    q->young = last, q->young_at = q->pushed;
  }
  atomic_store_explicit(&q->count, q->pushed - q->popped, empty ? memory_order_seq_cst : memory_order_relaxed); /* P1 */
}

/* Lock held. Takes the first |n| tasks off, of which |last| is the last. */
static void cut(ox_task_queue *q, ox_task *last, uint32_t n) {
  q->head = last->next;
  q->popped += n;
  atomic_store_explicit(&q->count, q->pushed - q->popped, memory_order_relaxed);
}

void ox_queue_wake(ox_pool *pool, uint32_t want) {
  if (ox_pool_any_asleep(pool) && ox_pool_wake(pool, want)) return;
  if (atomic_load_explicit(&pool->n_waiting, memory_order_seq_cst)) ox_pool_wake_waiter(pool, false);
}

void ox_queue_push(ox_pool *pool, uint32_t own, ox_task *first, ox_task *last, uint32_t n_tasks, uint32_t n_units) {
  ox_task_queue *q = lock_any(pool, own);
  append(q, first, last, n_tasks);
  unlock(&q->lock);
  ox_queue_wake(pool, OX_MIN(n_units, 2u));
}

/* Lock held, queue not empty. */
static ox_claim take_front(ox_pool *pool, ox_task_queue *q) {
  ox_task *t = q->head;
  if (OX_LIKELY(t->n_units == 1)) {
    cut(q, t, 1);
    return (ox_claim){t, 0, 1, q->head != NULL};
  }
  uint32_t left = t->n_units - t->next_unit, n = left >> atomic_load_explicit(&pool->grain_shift, memory_order_relaxed);
  ox_claim c = {t, t->next_unit, n ? n : 1, true};
  t->next_unit += c.n;
  if (c.n == left) {
    cut(q, t, 1);
    c.more = q->head != NULL;
  }
  return c;
}

/* Lock held. Cuts off a thief's share, from the front: up to the mark, which leaves BATCH to 2 BATCH tasks; of a short
 * queue half. */
static uint32_t cut_share(ox_task_queue *q, ox_task **out_first, ox_task **out_last) {
  uint32_t n = q->mark_at - q->popped;
  ox_task *last = *out_first = q->head;
  if (n - 1 < q->pushed - q->popped - 1) { /* the mark is still in the queue, and not the last */
    last = q->mark;
  } else {
    n = OX_MIN((q->pushed - q->popped) / 2, (uint32_t)BATCH);
    if (!n) return 0;
    for (uint32_t i = 1; i < n; i++) last = last->next;
  }
  *out_last = last;
  cut(q, last, n);
  return n;
}

/* Adds what was cut from another queue. Whoever looked meanwhile saw the tasks in neither. */
static void adopt(ox_pool *pool, uint32_t own, ox_task *first, ox_task *last, uint32_t n) {
  ox_task_queue *q = lock_any(pool, own);
  append(q, first, last, n);
  unlock(&q->lock);
  ox_queue_wake(pool, 1);
}

ox_claim ox_queue_claim(ox_pool *pool, uint32_t own) {
  ox_claim c = {NULL, 0, 0, false};
  for (uint32_t k = 0; k < pool->n_queues; k++) {
    uint32_t i = (own + k) % pool->n_queues, moved = 0;
    ox_task_queue *q = &pool->queues[i];
    if (!atomic_load_explicit(&q->count, memory_order_relaxed) || !try_lock(&q->lock)) continue;
    if (!q->head) {
      unlock(&q->lock);
      continue;
    }
    c = take_front(pool, q);
    ox_task *next = q->head, *first = NULL, *last;
    if (next && i != own && next != c.task) moved = cut_share(q, &first, &last);
    unlock(&q->lock);
    if (next) OX_PREFETCH_WRITE(next);
    if (moved) adopt(pool, own, first, last, moved);
    return c;
  }
  return c;
}

bool ox_queue_any(const ox_pool *pool) {
  for (uint32_t i = 0; i < pool->n_queues; i++)
    if (get_count(&pool->queues[i])) return true;
  return false;
}

static ox_task_queue *lock_spares(ox_pool *pool, uint32_t own) {
  for (uint32_t i = own, tries = 0;; i = (i + 1) % pool->n_queues) {
    if (try_lock(&pool->queues[i].spare_lock)) return &pool->queues[i];
    if (++tries % (4 * pool->n_queues) == 0) ox_thread_yield();
  }
}

static ox_task *get_spare(const ox_task_queue *q) { return atomic_load_explicit(&q->spare, memory_order_relaxed); }

/* Lock held. */
static void set_spares(ox_task_queue *q, ox_task *first, uint32_t n) {
  atomic_store_explicit(&q->spare, first, memory_order_relaxed);
  atomic_store_explicit(&q->n_spares, n, memory_order_relaxed);
}

/* Puts a chain of |n| spares back. The queue is usually out of them, or the chain is one task. */
static void add_spares(ox_pool *pool, uint32_t own, ox_task *first, uint32_t n) {
  ox_task_queue *q = lock_spares(pool, own);
  if (get_spare(q)) {
    ox_task *last = first;
    while (last->next) last = last->next;
    last->next = get_spare(q);
  }
  set_spares(q, first, n + atomic_load_explicit(&q->n_spares, memory_order_relaxed));
  unlock(&q->spare_lock);
}

static ox_task *new_chunk(ox_pool *pool, uint32_t own) {
  uint32_t made = atomic_load_explicit(&pool->n_tasks, memory_order_relaxed);
  uint32_t n = made < MANY_TASKS ? CHUNK_TASKS : LARGE_TASKS;
  struct ox_task_chunk *chunk = ox_new_aligned(ox_alloc_heap(), chunk_bytes(n), OX_CACHE_LINE);
  if (!chunk) return NULL;
  chunk->n = n;
  for (uint32_t i = 0; i < n; i++) {
    memset(&chunk->tasks[i], 0, offsetof(ox_task, own));
    chunk->tasks[i].next = i && i + 1 < n ? &chunk->tasks[i + 1] : NULL;
  }
  atomic_fetch_add_explicit(&pool->n_tasks, n, memory_order_relaxed);
  struct ox_task_chunk *head = atomic_load_explicit(&pool->chunks, memory_order_relaxed);
  do {
    chunk->next = head;
  } while (
      !atomic_compare_exchange_weak_explicit(&pool->chunks, &head, chunk, memory_order_release, memory_order_relaxed));
  add_spares(pool, own, &chunk->tasks[1], n - 1);
  return &chunk->tasks[0];
}

/* One of our own spares. */
static ox_task *own_spare(ox_task_queue *q) {
  if (!get_spare(q) || !try_lock(&q->spare_lock)) return NULL;
  ox_task *t = get_spare(q);
  if (t) set_spares(q, t->next, atomic_load_explicit(&q->n_spares, memory_order_relaxed) - 1);
  unlock(&q->spare_lock);
  if (t && t->next) OX_PREFETCH_WRITE(t->next);
  return t;
}

/* All spares of another queue, in our own but for the one returned. */
static ox_task *fetch_spares(ox_pool *pool, uint32_t own, ox_task_queue *q) {
  if (!try_lock(&q->spare_lock)) return NULL;
  ox_task *t = get_spare(q);
  uint32_t n = atomic_load_explicit(&q->n_spares, memory_order_relaxed);
  set_spares(q, NULL, 0);
  unlock(&q->spare_lock);
  if (t && t->next) add_spares(pool, own, t->next, n - 1);
  return t;
}

/* The submitter's spares end up with the threads that run its tasks, so it takes them back: all at once, and not before
 * they are worth the way. */
ox_task *ox_queue_new_task(ox_pool *pool, uint32_t own) {
  ox_task *t = own_spare(&pool->queues[own]);
  if (OX_LIKELY(t != NULL)) return t;
  for (uint32_t k = 1; k < pool->n_queues; k++) {
    ox_task_queue *q = &pool->queues[(own + k) % pool->n_queues];
    if (atomic_load_explicit(&q->n_spares, memory_order_relaxed) < CHUNK_TASKS) continue;
    if ((t = fetch_spares(pool, own, q))) return t;
  }
  return new_chunk(pool, own);
}

void ox_queue_free_task(ox_pool *pool, uint32_t own, ox_task *task) {
  ox_task_queue *q = lock_spares(pool, own);
  task->next = get_spare(q);
  set_spares(q, task, atomic_load_explicit(&q->n_spares, memory_order_relaxed) + 1);
  unlock(&q->spare_lock);
}

void ox_queue_free_all(ox_pool *pool) {
  struct ox_task_chunk *chunk = atomic_load_explicit(&pool->chunks, memory_order_acquire);
  while (chunk) {
    struct ox_task_chunk *next = chunk->next;
    for (uint32_t i = 0; i < chunk->n; i++) ox_task_discard(&chunk->tasks[i]);
    ox_delete(ox_alloc_heap(), chunk, chunk_bytes(chunk->n));
    chunk = next;
  }
}
