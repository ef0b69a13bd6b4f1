/* SPDX-License-Identifier: Apache-2.0
 * task/queue.c - queues of ready tasks. */
#include "task/queue.h"

#include <string.h>

#include "task/park.h"
#include "task/task_pool.h"
#include "task/task.h"

enum { CHUNK_TASKS = 32, MOVE_MOST = 16 };

/* Task memory is made in chunks and freed with the pool. */
struct ox_task_chunk {
  struct ox_task_chunk *next;
  ox_task tasks[CHUNK_TASKS];
};

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

/* Lock held. seq_cst: P1. */
static void set_count(ox_task_queue *q, uint32_t n) { atomic_store_explicit(&q->count, n, memory_order_seq_cst); }
static uint32_t get_count(const ox_task_queue *q) { return atomic_load_explicit(&q->count, memory_order_seq_cst); }

static void append(ox_task_queue *q, ox_task *first, ox_task *last, uint32_t n) {
  last->next = NULL;
  if (q->head)
    q->tail->next = first;
  else
    q->head = first;
  q->tail = last;
  set_count(q, get_count(q) + n);
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
  uint32_t left = t->n_units - t->next_unit, n = left >> atomic_load_explicit(&pool->grain_shift, memory_order_relaxed);
  ox_claim c = {t, t->next_unit, n ? n : 1, false};
  t->next_unit += c.n;
  c.more = c.n < left;
  if (!c.more) {
    q->head = t->next;
    set_count(q, get_count(q) - 1);
  }
  return c;
}

/* Lock held. Detaches up to half of the tasks, at most MOVE_MOST, from the front. */
static uint32_t detach(ox_task_queue *q, ox_task **out_first, ox_task **out_last) {
  uint32_t n = OX_MIN(get_count(q) / 2, (uint32_t)MOVE_MOST);
  if (!n) return 0;
  ox_task *last = *out_first = q->head;
  for (uint32_t i = 1; i < n; i++) last = last->next;
  q->head = last->next;
  *out_last = last;
  set_count(q, get_count(q) - n);
  return n;
}

ox_claim ox_queue_claim(ox_pool *pool, uint32_t own) {
  ox_claim c = {NULL, 0, 0, false};
  for (uint32_t k = 0; k < pool->n_queues; k++) {
    uint32_t i = (own + k) % pool->n_queues;
    ox_task_queue *q = &pool->queues[i];
    if (!atomic_load_explicit(&q->count, memory_order_relaxed) || !try_lock(&q->lock)) continue;
    if (!q->head) {
      unlock(&q->lock);
      continue;
    }
    c = take_front(pool, q);
    ox_task *first, *last;
    uint32_t moved = i == own || c.more ? 0 : detach(q, &first, &last);
    unlock(&q->lock);
    if (moved) {
      q = lock_any(pool, own);
      append(q, first, last, moved);
      unlock(&q->lock);
      ox_queue_wake(pool, 1); /* whoever looked meanwhile saw the tasks in neither queue */
    }
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

/* Puts a chain of spares back. The queue is usually out of them, or the chain is one task. */
static void add_spares(ox_pool *pool, uint32_t own, ox_task *first) {
  ox_task_queue *q = lock_spares(pool, own);
  ox_task *spare = atomic_load_explicit(&q->spare, memory_order_relaxed);
  if (spare) {
    ox_task *last = first;
    while (last->next) last = last->next;
    last->next = spare;
  }
  atomic_store_explicit(&q->spare, first, memory_order_relaxed);
  unlock(&q->spare_lock);
}

static ox_task *new_chunk(ox_pool *pool, uint32_t own) {
  ox_alloc heap = ox_alloc_heap();
  struct ox_task_chunk *chunk = ox_new_aligned(heap, sizeof *chunk, OX_CACHE_LINE);
  if (!chunk) return NULL;
  memset(chunk, 0, sizeof *chunk);
  struct ox_task_chunk *head = atomic_load_explicit(&pool->chunks, memory_order_relaxed);
  do {
    chunk->next = head;
  } while (
      !atomic_compare_exchange_weak_explicit(&pool->chunks, &head, chunk, memory_order_release, memory_order_relaxed));
  for (int i = 1; i + 1 < CHUNK_TASKS; i++) chunk->tasks[i].next = &chunk->tasks[i + 1];
  add_spares(pool, own, &chunk->tasks[1]);
  return &chunk->tasks[0];
}

/* The submitter's spares end up with the threads that run its tasks, so it takes them back, all at once. */
ox_task *ox_queue_new_task(ox_pool *pool, uint32_t own) {
  for (uint32_t k = 0; k < pool->n_queues; k++) {
    ox_task_queue *q = &pool->queues[(own + k) % pool->n_queues];
    if (!atomic_load_explicit(&q->spare, memory_order_relaxed) || !try_lock(&q->spare_lock)) continue;
    ox_task *t = atomic_load_explicit(&q->spare, memory_order_relaxed);
    if (t) atomic_store_explicit(&q->spare, k ? NULL : t->next, memory_order_relaxed);
    unlock(&q->spare_lock);
    if (!t) continue;
    if (k && t->next) add_spares(pool, own, t->next);
    return t;
  }
  return new_chunk(pool, own);
}

void ox_queue_free_task(ox_pool *pool, uint32_t own, ox_task *task) {
  ox_task_queue *q = lock_spares(pool, own);
  task->next = atomic_load_explicit(&q->spare, memory_order_relaxed);
  atomic_store_explicit(&q->spare, task, memory_order_relaxed);
  unlock(&q->spare_lock);
}

void ox_queue_free_all(ox_pool *pool) {
  struct ox_task_chunk *chunk = atomic_load_explicit(&pool->chunks, memory_order_acquire);
  while (chunk) {
    struct ox_task_chunk *next = chunk->next;
    for (int i = 0; i < CHUNK_TASKS; i++) ox_task_discard(&chunk->tasks[i]);
    ox_delete(ox_alloc_heap(), chunk, sizeof *chunk);
    chunk = next;
  }
}
