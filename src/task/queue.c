/* SPDX-License-Identifier: Apache-2.0
 * task/queue.c - queues of ready tasks and calls. */
#include "task/queue.h"

#include "task/grow.h"
#include "task/self.h"
#include "task/spare.h"
#include "task/task.h"
#include "task/try_lock.h"
#include "task/wake.h"

enum { BATCH = 16 /* tasks between two marks, and a thief's share of a short queue */ };

/* Locks |own| or, if its lock is taken, the next one that is free. */
static ox_task_queue *lock_any(ox_pool *pool, uint32_t own) {
  for (uint32_t i = own, tries = 0;; i = (i + 1) % pool->n_queues) {
    if (ox_try_lock(&pool->queues[i].lock)) return &pool->queues[i];
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

/* The number of tasks and calls; lock held. */
static uint32_t length(const ox_task_queue *q) { return q->pushed - q->popped + q->n_calls; }

/* Lock held, after something was added: P1. */
static void count_more(ox_task_queue *q) {
  bool empty = !atomic_load_explicit(&q->count, memory_order_relaxed);
  atomic_store_explicit(&q->count, length(q), empty ? memory_order_seq_cst : memory_order_relaxed);
}
static void count_less(ox_task_queue *q) { atomic_store_explicit(&q->count, length(q), memory_order_relaxed); }

/* Lock held. */
static void append(ox_task_queue *q, ox_task *first, ox_task *last, uint32_t n) {
  last->next = NULL;
  if (q->head)
    q->tail->next = first;
  else
    q->head = first;
  q->tail = last;
  q->pushed += n;
  if (q->pushed - q->young_at >= BATCH) {
    q->mark = q->young, q->mark_at = q->young_at;
    q->young = last, q->young_at = q->pushed;
  }
  count_more(q);
}

/* Lock held. Takes the first |n| tasks off, of which |last| is the last. */
static void cut(ox_task_queue *q, ox_task *last, uint32_t n) {
  q->head = last->next;
  q->popped += n;
  count_less(q);
}

void ox_queue_wake(ox_pool *pool, uint32_t want) {
  if (ox_pool_any_asleep(pool) && ox_pool_wake(pool, want)) return;
  if (atomic_load_explicit(&pool->n_waiting, memory_order_seq_cst)) ox_pool_wake_waiter(pool, false);
}

void ox_queue_push(ox_pool *pool, uint32_t own, ox_task *first, ox_task *last, uint32_t n_tasks, uint32_t n_units) {
  ox_pool_open_all(pool);
  ox_task_queue *q = lock_any(pool, own);
  append(q, first, last, n_tasks);
  ox_unlock(&q->lock);
  ox_queue_wake(pool, OX_MIN(n_units, 2u));
}

bool ox_queue_push_call(ox_pool *pool, uint32_t own, ox_unit_fn fn, void *payload, size_t bytes) {
  ox_pool_open_all(pool);
  ox_task_queue *q = lock_any(pool, own);
  ox_call_block *replaced = NULL;
  if (OX_UNLIKELY(ox_calls_are_full(&q->calls))) {
    ox_call_block *block = ox_spare_take_block(pool, own);
    if (!block) {
      ox_unlock(&q->lock);
      return false;
    }
    replaced = ox_calls_add_block(&q->calls, block);
  }
  ox_calls_append(&q->calls, fn, payload, bytes);
  q->n_calls++;
  count_more(q);
  ox_unlock(&q->lock);
  ox_spare_give_block(pool, replaced);
  ox_queue_wake(pool, 1);
  return true;
}

/* Lock held. Where a queue has both, claims alternate between calls and tasks, so that neither kind starves. False:
 * there is no call, or it is a task's turn. */
static bool take_call(ox_task_queue *q, ox_claim *out, ox_call_block **out_empty) {
  if (!q->n_calls || (q->head && q->alternate++ % 2)) return false;
  *out_empty = ox_calls_take(&q->calls, &out->call);
  q->n_calls--;
  count_less(q);
  out->task = NULL, out->begin = 0, out->n = 1, out->more = length(q) != 0;
  return true;
}

/* Lock held. */
static bool take_units(const ox_pool *pool, ox_task_queue *q, ox_claim *out) {
  ox_task *t = q->head;
  if (!t) return false;
  out->task = t;
  if (OX_LIKELY(t->n_units == 1)) {
    out->begin = 0, out->n = 1;
    cut(q, t, 1);
  } else {
    uint32_t left = t->n_units - t->next_unit;
    uint32_t n = left >> atomic_load_explicit(&pool->grain_shift, memory_order_relaxed);
    out->begin = t->next_unit, out->n = OX_MAX(n, 1);
    t->next_unit += out->n;
    if (out->n == left) cut(q, t, 1);
  }
  out->more = length(q) != 0;
  return true;
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

/* Adds what was cut from another queue, and wakes: other threads may have seen the tasks in no queue meanwhile. */
static void adopt(ox_pool *pool, uint32_t own, ox_task *first, ox_task *last, uint32_t n) {
  ox_task_queue *q = lock_any(pool, own);
  append(q, first, last, n);
  ox_unlock(&q->lock);
  ox_queue_wake(pool, 1);
}

static void adopt_calls(ox_pool *pool, uint32_t own, ox_call_block *block) {
  ox_task_queue *q = lock_any(pool, own);
  ox_call_block *replaced = ox_calls_add_block(&q->calls, block);
  q->n_calls += block->end - block->begin;
  count_more(q);
  ox_unlock(&q->lock);
  ox_spare_give_block(pool, replaced);
  ox_queue_wake(pool, 1);
}

static bool claim_own(ox_pool *pool, ox_task_queue *q, ox_claim *out) {
  if (!atomic_load_explicit(&q->count, memory_order_relaxed) || !ox_try_lock(&q->lock)) return false;
  ox_call_block *empty = NULL;
  bool found = take_call(q, out, &empty) || take_units(pool, q, out);
  ox_task *next = q->head;
  ox_unlock(&q->lock);
  if (next) OX_PREFETCH_WRITE(next);
  ox_spare_give_block(pool, empty);
  return found;
}

/* Lock held. A thief's share of the calls: the first block if there are others, else half of it. NULL: there are fewer
 * than two calls, or no memory. */
static ox_call_block *cut_calls(ox_pool *pool, uint32_t own, ox_task_queue *q) {
  if (q->n_calls < 2) return NULL;
  bool whole = q->calls.first->next != NULL;
  ox_call_block *share = whole ? ox_calls_cut_first(&q->calls) : ox_spare_take_block(pool, own);
  if (!share) return NULL;
  if (!whole) ox_calls_cut_half(&q->calls, share);
  q->n_calls -= share->end - share->begin;
  count_less(q);
  return share;
}

/* Claims from another thread's queue, and moves a share of the rest to our own. */
static bool steal(ox_pool *pool, uint32_t own, ox_task_queue *q, ox_claim *out) {
  if (!atomic_load_explicit(&q->count, memory_order_relaxed) || !ox_try_lock(&q->lock)) return false;
  ox_call_block *empty = NULL, *share = NULL;
  ox_task *first = NULL, *last;
  uint32_t n = 0;
  bool found = take_call(q, out, &empty);
  if (found) {
    pool->policy->stole_call(pool, q->n_calls);
    share = cut_calls(pool, own, q);
  } else {
    found = take_units(pool, q, out);
    if (q->head && q->head != out->task) n = cut_share(q, &first, &last);
  }
  ox_unlock(&q->lock);
  ox_spare_give_block(pool, empty);
  if (share) adopt_calls(pool, own, share);
  if (n) adopt(pool, own, first, last, n);
  return found;
}

bool ox_queue_claim(ox_pool *pool, uint32_t own, ox_claim *out) {
  if (claim_own(pool, &pool->queues[own], out)) return true;
  if (!pool->policy->may_steal(pool)) return false;
  for (uint32_t k = 1; k < pool->n_queues; k++)
    if (steal(pool, own, &pool->queues[(own + k) % pool->n_queues], out)) return true;
  return false;
}

bool ox_queue_any(const ox_pool *pool) {
  for (uint32_t i = 0; i < pool->n_queues; i++)
    if (get_count(&pool->queues[i])) return true;
  return false;
}
