/* SPDX-License-Identifier: Apache-2.0
 * task/task_submit.c - ox_task_submit: runs a unit at once, or queues it as a call or a task. */
#include <string.h>

#include "task/frame.h"
#include "task/queue.h"
#include "task/spare.h"
#include "task/task_life.h"
#include "task/task_run.h"

static atomic_int timing;

void ox_task_set_timing(int on) { atomic_store_explicit(&timing, on != 0, memory_order_relaxed); }
int ox_task_timing(void) { return atomic_load_explicit(&timing, memory_order_relaxed); }

static ox_status *check(const ox_task_opts *opts) {
  if (!opts || opts->struct_size < sizeof *opts)
    return ox_fail(OX_INVALID_ARGUMENT, "ox_task_opts.struct_size: set it to sizeof(ox_task_opts)");
  if (opts->n_parents && !opts->parents)
    return ox_fail(OX_INVALID_ARGUMENT, "n_parents is %u but parents is NULL", (unsigned)opts->n_parents);
  if (opts->payload_bytes && !opts->payload) return ox_fail(OX_INVALID_ARGUMENT, "payload_bytes without a payload");
  return NULL;
}

/* Copies the payload and allocates the links; false on out of memory, with nothing left allocated. */
static bool take_payload(ox_task *t, const ox_task_opts *o, uint32_t n_parents) {
  bool many = n_parents > OX_TASK_LINKS, copy = o->payload_bytes && !o->payload_delete;
  bool big = copy && o->payload_bytes > sizeof t->bytes;
  ox_task_link *links = many ? ox_new(ox_alloc_heap(), n_parents * sizeof *links) : NULL;
  void *payload = big ? ox_new(ox_alloc_heap(), o->payload_bytes) : copy ? t->bytes : o->payload;
  if ((many && !links) || (big && !payload)) {
    ox_heap_free(links);
    if (big) ox_heap_free(payload);
    return false;
  }
  if (copy) memcpy(payload, o->payload, o->payload_bytes);
  t->payload = payload;
  if (!many && !big && !o->payload_delete) return true;
  t->links = links, t->payload_delete = big ? ox_heap_free : o->payload_delete;
  atomic_store_explicit(&t->state, OX_TASK_OWNS, memory_order_relaxed);
  return true;
}

static ox_status *run_now(const ox_task_opts *o) {
  ox_task_frame frame = {0};
  ox_task_push_frame(&frame);
  ox_status *st = o->fn ? o->fn(o->payload, 0) : NULL;
  ox_task_pop_frame(&frame);
  if (o->payload_delete) o->payload_delete(o->payload);
  return st;
}

/* Can it be a call? */
static bool is_call(const ox_task_opts *o, uint32_t n_units, uint32_t n_parents, uint32_t flags) {
  return n_units == 1 && !n_parents && !(flags & OX_TASK_TIMED) && !o->payload_delete &&
         o->payload_bytes <= OX_CALL_BYTES;
}

ox_status *ox_task_submit(ox_pool *pool, const ox_task_opts *opts, ox_task **out_task) {
  if (out_task) *out_task = NULL;
  OX_TRY(check(opts));
  uint32_t n_parents = 0, n_units = opts->fn && opts->n_units ? opts->n_units : 0;
  for (uint32_t i = 0; i < opts->n_parents; i++) n_parents += opts->parents[i] != NULL;
  uint32_t flags = opts->flags | (ox_task_timing() ? OX_TASK_TIMED : 0);
  bool now = n_units <= 1 && !n_parents && !(flags & OX_TASK_ASYNC);
  if (now && !(flags & OX_TASK_TIMED)) return run_now(opts);
  if (!pool && !(pool = ox_pool_default())) return ox_oom();
  ox_pool_renew(pool);
  uint32_t own = ox_queue_own(pool);
  if (!out_task && is_call(opts, n_units, n_parents, flags))
    return ox_queue_push_call(pool, own, opts->fn, opts->payload, opts->payload_bytes) ? NULL : ox_oom();
  ox_task *t = ox_task_new(pool, own);
  if (!t) return ox_oom();
  if (!take_payload(t, opts, n_parents)) {
    ox_spare_give_task(pool, own, t);
    return ox_oom();
  }
  ox_task_init(t, pool, opts, n_units, flags, out_task ? 2 : 1);
  if (out_task) *out_task = t;
  if (n_parents) {
    atomic_store_explicit(&t->wait_parents, n_parents + 1, memory_order_relaxed);
    ox_task_add_parents(t, opts);
  } else if (now && t->fn) {
    ox_task_run_units(t, 0, 1); /* here, but as a task, so that its time can be read */
  } else {
    ox_task_start(t);
  }
  return NULL;
}

static double ms(uint64_t from, uint64_t to) { return from && to ? ((double)to - (double)from) * 1e-6 : 0; }

static uint64_t started(const ox_task *t) {
  return t && (ox_task_flags(t) & OX_TASK_TIMED) ? atomic_load_explicit(&t->first_ns, memory_order_relaxed) : 0;
}

double ox_task_ms(const ox_task *t) { return started(t) && ox_task_has_ended(t) ? ms(started(t), t->end_ns) : 0; }

double ox_task_ms_between(const ox_task *a, const ox_task *b) { return ms(started(a), started(b)); }
