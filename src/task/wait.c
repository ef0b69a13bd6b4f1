/* SPDX-License-Identifier: Apache-2.0
 * task/wait.c - threads that wait for a task: they run other units, then spin, then sleep. Proved in task.h. */
#include "task/cycle.h"
#include "task/frame.h"
#include "task/queue.h"
#include "task/system/park.h"
#include "task/task_life.h"
#include "task/task_run.h"
#include "task/wake.h"

static void sleep_on(ox_pool *pool, ox_task *t) {
  if (atomic_fetch_or_explicit(&t->state, OX_TASK_WAITED, memory_order_seq_cst) & OX_TASK_DONE) return;
  atomic_fetch_add_explicit(&pool->n_waiting, 1, memory_order_seq_cst);
  unsigned epoch = atomic_load_explicit(&pool->wait_epoch, memory_order_seq_cst);
  if (!ox_queue_any(pool) && !ox_task_has_ended(t)) ox_park_wait(&pool->wait_epoch, epoch);
  atomic_fetch_sub_explicit(&pool->n_waiting, 1, memory_order_seq_cst);
}

/* Spins until |t| has ended or other units were run (true), or the policy says to sleep (false). */
static bool spin_until_ended(ox_pool *pool, uint32_t own, const ox_task *t) {
  uint64_t start = 0;
  for (;;) {
    for (int i = 0; i < OX_LOOKS_PER_ASK; i++) {
      if (ox_task_has_ended(t) || ox_tasks_help(pool, own)) return true;
      ox_pause();
    }
    uint64_t now = ox_thread_now_ns();
    if (!start) start = now;
    if (!pool->policy->waiter_watches(pool, now - start)) return false;
  }
}

static ox_status *never_ends(void) {
  return ox_fail(OX_INVALID_ARGUMENT, "a task cannot wait for itself, nor for one that depends on it");
}

/* Runs other units until |t| has ended; INVALID_ARGUMENT if it never can. */
static ox_status *wait_for(ox_task *t) {
  const ox_task_frame *inner = ox_task_frames;
  if (inner && inner->task == t) return never_ends();
  ox_status *st = NULL;
  ox_pool *pool = t->pool;
  uint32_t own = ox_queue_own(pool);
  unsigned float_mode = 0;
  bool flush = pool->opts.flags & OX_POOL_FLUSH_DENORMALS;
  if (flush) float_mode = ox_thread_flush_denormals();
  for (bool searched = false; !ox_task_has_ended(t);) {
    if (ox_tasks_help(pool, own) || spin_until_ended(pool, own, t)) continue;
    if (!searched && ox_task_needs_us(t)) {
      st = never_ends();
      break;
    }
    searched = true; /* parents are fixed, so once is enough */
    pool->policy->waiter_sleeps(pool, t);
    sleep_on(pool, t);
  }
  if (flush) ox_thread_restore_denormals(float_mode);
  return st;
}

ox_status *ox_task_wait(ox_task *t) {
  if (!t) return NULL;
  if (!ox_task_has_ended(t)) OX_TRY(wait_for(t));
  return ox_task_copy_error(t);
}

ox_status *ox_task_wait_release(ox_task *t) {
  ox_status *st = ox_task_wait(t);
  ox_task_release(t);
  return st;
}

void ox_pool_work_until(ox_pool *pool, int (*stop)(void *ctx), void *ctx) {
  if (!pool && !(pool = ox_pool_default())) return;
  ox_pool_renew(pool);
  uint32_t own = ox_queue_own(pool);
  for (uint32_t idle = 0; !stop(ctx);) {
    if (ox_tasks_help(pool, own)) {
      idle = 0;
    } else if (++idle < 64) {
      ox_pause();
    } else {
      ox_thread_yield(); /* |stop| must be polled, so this thread cannot sleep */
    }
  }
}
