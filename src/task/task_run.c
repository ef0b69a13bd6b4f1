/* SPDX-License-Identifier: Apache-2.0
 * task/task_run.c - takes units and calls from the queues and runs them. */
#include "task/task_run.h"

#include "task/frame.h"
#include "task/queue.h"
#include "task/self.h"
#include "task/task_life.h"

void ox_task_run_units(ox_task *t, uint32_t begin, uint32_t n) {
  ox_task_frame frame = {.task = t, .pool = t->pool};
  ox_task_push_frame(&frame);
  ox_worker *w = t->pool->workers[ox_pool_self(t->pool)]; /* NULL: not a worker */
  const void *outer = w ? ox_worker_helped(w) : NULL;
  if (w) ox_worker_helps(w, t);
  if (OX_UNLIKELY(ox_task_flags(t) & OX_TASK_TIMED) && !atomic_load_explicit(&t->first_ns, memory_order_relaxed)) {
    uint_least64_t none = 0;
    (void)atomic_compare_exchange_strong_explicit(&t->first_ns, &none, ox_thread_now_ns(), memory_order_relaxed,
                                                  memory_order_relaxed);
  }
  for (uint32_t i = begin; i - begin < n && !ox_task_has_failed(t); i++) {
    ox_status *st = t->fn(t->payload, i);
    if (OX_UNLIKELY(st != NULL)) ox_keep_first(&t->error, st);
  }
  ox_task_pop_frame(&frame);
  if (w) ox_worker_helps(w, outer);
  /* acq_rel: the thread that ends the task sees what all units wrote */
  if (t->n_units == 1 || atomic_fetch_sub_explicit(&t->pending, n, memory_order_acq_rel) == n) ox_task_end(t);
}

static void run_call(ox_pool *pool, ox_task_call *call) {
  ox_task_frame frame = {.pool = pool, .call = call};
  ox_task_push_frame(&frame);
  ox_status *st = call->fn(call->is_copied ? call->bytes : call->payload, 0);
  ox_task_pop_frame(&frame);
  if (OX_LIKELY(!frame.task)) {
    if (OX_UNLIKELY(st != NULL)) ox_status_free(st);
    return;
  }
  if (st) ox_keep_first(&frame.task->error, st);
  ox_task_end(frame.task);
}

uint32_t ox_tasks_help(ox_pool *pool, uint32_t own) {
  ox_claim c;
  if (!ox_queue_claim(pool, own, &c)) return 0;
  if (c.more) ox_queue_wake(pool, 2);
  if (c.task)
    ox_task_run_units(c.task, c.begin, c.n);
  else
    run_call(pool, &c.call);
  return c.n;
}

/* A call becomes a task here. */
ox_task *ox_task_current(void) {
  ox_task_frame *f = ox_task_frames;
  if (!f || f->task || !f->call) return f ? f->task : NULL;
  ox_task *t = ox_task_new(f->pool, ox_queue_own(f->pool));
  if (!t) return NULL;
  ox_task_init(t, f->pool, &(ox_task_opts){.fn = f->call->fn}, 1, OX_TASK_ASYNC, 1);
  return f->task = t;
}
