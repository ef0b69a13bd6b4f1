/* SPDX-License-Identifier: Apache-2.0
 * task/task.c - submitting, running and ending tasks. The protocols are explained and proved in task.h. */
#include "task/task.h"

#include <stdlib.h>
#include <string.h>

#include "task/system/park.h"
#include "task/task_pool.h"
#include "task/queue.h"
#include "task/straggler.h"

static ox_task_link closed_link;
#define CLOSED (&closed_link)

static _Thread_local ox_task_frame *frames OX_TLS_FAST;

const ox_task_frame *ox_task_frames(void) { return frames; }
void ox_task_push_frame(ox_task_frame *frame) { frame->outer = frames, frames = frame; }
void ox_task_pop_frame(void) { frames = frames->outer; }

bool ox_task_is_running(void) { return frames && (frames->task || frames->call); }

bool ox_task_is_on(const ox_pool *pool) {
  const ox_task_frame *f = frames;
  while (f && f->pool != pool) f = f->outer;
  return f != NULL;
}

static atomic_int timing;

void ox_task_set_timing(int on) { atomic_store_explicit(&timing, on != 0, memory_order_relaxed); }
int ox_task_timing(void) { return atomic_load_explicit(&timing, memory_order_relaxed); }

static bool has(const ox_task *t, uint32_t bit) { return atomic_load_explicit(&t->state, memory_order_relaxed) & bit; }

static bool has_failed(const ox_task *t) {
  return atomic_load_explicit(&t->error, memory_order_acquire) || has(t, OX_TASK_CANCELLED);
}

/* A status of our own with the task's error, or NULL. */
static ox_status *copy_error(const ox_task *t) {
  const ox_status *st = atomic_load_explicit(&t->error, memory_order_acquire); /* pairs with ox_keep_first */
  if (st) return ox_fail(ox_status_code(st), "%s", ox_status_message(st));
  return has(t, OX_TASK_CANCELLED) ? ox_fail(OX_CANCELLED, "the task was cancelled") : NULL;
}

static void free_owned(ox_task *t) {
  if (!has(t, OX_TASK_OWNS)) return;
  ox_delete(ox_alloc_heap(), t->links, 0);
  t->links = NULL;
  if (t->payload_delete) t->payload_delete(t->payload);
  t->payload_delete = NULL;
}

static void free_rest(ox_task *t) {
  ox_status_free(atomic_load_explicit(&t->error, memory_order_acquire)); /* pairs with ox_keep_first */
  if (has(t, OX_TASK_KEPT)) ox_kept_drop(t);
}

void ox_task_discard(ox_task *t) {
  if (!atomic_load_explicit(&t->refs, memory_order_acquire)) return; /* a spare */
  if (!ox_task_has_ended(t)) free_owned(t);
  free_rest(t);
}

ox_task *ox_task_retain(ox_task *t) {
  if (t) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
  return t;
}

static void free_task(ox_task *t) {
  atomic_store_explicit(&t->refs, 0, memory_order_relaxed); /* a spare, for ox_task_discard */
  free_rest(t);
  ox_spare_give_task(t->pool, ox_queue_own(t->pool), t);
}

void ox_task_release(ox_task *t) {
  if (!t) return;
  if (atomic_load_explicit(&t->refs, memory_order_acquire) == 1 ||
      atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1)
    free_task(t);
}

/* A chain of tasks that became ready, in the order found. */
typedef struct chain {
  ox_task *first, *last;
  uint32_t n, n_units;
} chain;

static void chain_add(chain *c, ox_task *t) {
  t->next = NULL;
  if (c->last)
    c->last->next = t;
  else
    c->first = t;
  c->last = t, c->n++, c->n_units += OX_MIN(t->n_units, 2u);
}

/* The parent has ended: its failure, with what was kept, becomes the child's. */
static void inherit(const ox_task *parent, ox_task *child) {
  if (!has_failed(parent) || (ox_task_flags(child) & OX_TASK_RUN_ANYWAY)) return;
  ox_kept_share(parent, child);
  ox_keep_first(&child->error, copy_error(parent));
}

/* One parent fewer. The failure travels first: after the decrement the child may be running, or gone. */
static void parent_ended(const ox_task *parent, ox_task *child, chain *ready) {
  inherit(parent, child);
  /* acq_rel: the child's units see what all parents wrote */
  if (atomic_fetch_sub_explicit(&child->wait_parents, 1, memory_order_acq_rel) == 1) chain_add(ready, child);
}

/* All units have run: tells children and waiters, drops the run's reference. DONE comes first, so that who sees a child
 * run finds its parents done. */
static void end_one(ox_task *t, chain *ready) {
  if (ox_task_flags(t) & OX_TASK_TIMED) {
    t->end_ns = ox_thread_now_ns();
    if (!t->fn) atomic_store_explicit(&t->first_ns, t->end_ns, memory_order_relaxed); /* a barrier takes no time */
  }
  free_owned(t);
  bool waited = atomic_fetch_or_explicit(&t->state, OX_TASK_DONE, memory_order_seq_cst) & OX_TASK_WAITED;
  ox_task_link *link = atomic_exchange_explicit(&t->children, CLOSED, memory_order_acq_rel);
  while (link) {
    ox_task_link *next = link->next; /* read before the child may go */
    parent_ended(t, link->child, ready);
    link = next;
  }
  if (waited) ox_pool_wake_waiter(t->pool, true);
  ox_task_release(t);
}

static void flush(chain *ready) {
  if (!ready->n) return;
  ox_pool *pool = ready->first->pool;
  ox_queue_push(pool, ox_queue_own(pool), ready->first, ready->last, ready->n, ready->n_units);
  *ready = (chain){0};
}

/* Nobody has a handle, and nobody waits for it to end. */
static bool is_alone(const ox_task *t) {
  return atomic_load_explicit(&t->refs, memory_order_acquire) == 1 &&
         !atomic_load_explicit(&t->children, memory_order_relaxed);
}

/* Ends |t| and the barriers this sets free, in a loop rather than by recursion: chains of barriers may be long. Queues
 * the tasks that became ready. */
static void end_task(ox_task *t) {
  if (is_alone(t)) {
    free_owned(t);
    free_task(t);
    return;
  }
  chain ready = {0};
  ox_task *ending = t;
  t->next = NULL;
  while (ending) {
    chain found = {0};
    ox_task *next = ending->next;
    end_one(ending, &found);
    ending = next;
    for (ox_task *f = found.first; f; f = next) {
      next = f->next;
      if (!f->fn) {
        f->next = ending, ending = f;
        continue;
      }
      if (ready.n && ready.first->pool != f->pool) flush(&ready);
      chain_add(&ready, f);
    }
  }
  flush(&ready);
}

static void run_units(ox_task *t, uint32_t begin, uint32_t n) {
  ox_task_frame frame = {.task = t, .pool = t->pool, .outer = frames};
  frames = &frame;
  ox_worker *w = t->pool->workers[ox_pool_self(t->pool)]; /* NULL: not a worker */
  const void *outer = w ? ox_straggler_noted(w) : NULL;
  if (w) ox_straggler_note(w, t);
  if (OX_UNLIKELY(ox_task_flags(t) & OX_TASK_TIMED) && !atomic_load_explicit(&t->first_ns, memory_order_relaxed)) {
    uint_least64_t none = 0;
    (void)atomic_compare_exchange_strong_explicit(&t->first_ns, &none, ox_thread_now_ns(), memory_order_relaxed,
                                                  memory_order_relaxed);
  }
  for (uint32_t i = begin; i - begin < n && !has_failed(t); i++) {
    ox_status *st = t->fn(t->payload, i);
    if (OX_UNLIKELY(st != NULL)) ox_keep_first(&t->error, st);
  }
  frames = frame.outer;
  if (w) ox_straggler_note(w, outer);
  /* acq_rel: who ends the task sees what all units wrote */
  if (t->n_units == 1 || atomic_fetch_sub_explicit(&t->pending, n, memory_order_acq_rel) == n) end_task(t);
}

static void run_call(ox_pool *pool, ox_call *call) {
  ox_task_frame frame = {.pool = pool, .outer = frames, .call = call};
  frames = &frame;
  ox_status *st = call->fn(call->is_copied ? call->bytes : call->payload, 0);
  frames = frame.outer;
  if (OX_LIKELY(!frame.task)) {
    if (OX_UNLIKELY(st != NULL)) ox_status_free(st);
    return;
  }
  if (st) ox_keep_first(&frame.task->error, st);
  end_task(frame.task);
}

uint32_t ox_tasks_help(ox_pool *pool, uint32_t own) {
  ox_claim c;
  if (!ox_queue_claim(pool, own, &c)) return 0;
  if (c.more) ox_queue_wake(pool, 2);
  if (c.task)
    run_units(c.task, c.begin, c.n);
  else
    run_call(pool, &c.call);
  return c.n;
}

static ox_status *check(const ox_task_opts *opts) {
  if (!opts || opts->struct_size < sizeof *opts)
    return ox_fail(OX_INVALID_ARGUMENT, "ox_task_opts.struct_size: set it to sizeof(ox_task_opts)");
  if (opts->n_parents && !opts->parents)
    return ox_fail(OX_INVALID_ARGUMENT, "n_parents is %u but parents is NULL", (unsigned)opts->n_parents);
  if (opts->payload_bytes && !opts->payload) return ox_fail(OX_INVALID_ARGUMENT, "payload_bytes without a payload");
  return NULL;
}

/* Copies the payload and makes room for the links; false on out of memory, with nothing left behind. */
static bool take_payload(ox_task *t, const ox_task_opts *o, uint32_t n_parents) {
  bool many = n_parents > OX_TASK_LINKS, copy = o->payload_bytes && !o->payload_delete;
  bool big = copy && o->payload_bytes > sizeof t->bytes;
  ox_task_link *links = many ? ox_new(ox_alloc_heap(), n_parents * sizeof *links) : NULL;
  void *payload = big ? ox_new(ox_alloc_heap(), o->payload_bytes) : copy ? t->bytes : o->payload;
  if ((many && !links) || (big && !payload)) {
    ox_delete(ox_alloc_heap(), links, 0);
    if (big) ox_delete(ox_alloc_heap(), payload, 0);
    return false;
  }
  if (copy) memcpy(payload, o->payload, o->payload_bytes);
  t->payload = payload;
  if (!many && !big && !o->payload_delete) return true;
  t->links = links, t->payload_delete = big ? free : o->payload_delete;
  atomic_store_explicit(&t->state, OX_TASK_OWNS, memory_order_relaxed);
  return true;
}

/* All parents have ended. */
static void start(ox_task *t) {
  if (t->fn)
    ox_queue_push(t->pool, ox_queue_own(t->pool), t, t, 1, t->n_units);
  else
    end_task(t);
}

/* Hangs |t| on its parents; queues it if all of them have ended. */
static void add_parents(ox_task *t, const ox_task_opts *o) {
  uint32_t ended = 0, k = 0;
  ox_task_link *links = has(t, OX_TASK_OWNS) && t->links ? t->links : t->own;
  for (uint32_t i = 0; i < o->n_parents; i++) {
    ox_task *parent = o->parents[i];
    if (!parent) continue;
    ox_task_link *link = &links[k++], *head = atomic_load_explicit(&parent->children, memory_order_acquire);
    link->child = t;
    do {
      link->next = head;
    } while (head != CLOSED && !atomic_compare_exchange_weak_explicit(&parent->children, &head, link,
                                                                      memory_order_acq_rel, memory_order_acquire));
    if (head != CLOSED) continue;
    ended++;
    inherit(parent, t);
  }
  /* acq_rel: pairs with parent_ended */
  if (atomic_fetch_sub_explicit(&t->wait_parents, ended + 1, memory_order_acq_rel) == ended + 1) start(t);
}

static ox_status *run_now(const ox_task_opts *o) {
  ox_task_frame frame = {.outer = frames};
  frames = &frame;
  ox_status *st = o->fn ? o->fn(o->payload, 0) : NULL;
  frames = frame.outer;
  if (o->payload_delete) o->payload_delete(o->payload);
  return st;
}

/* Relaxed: published by the links, the queue or the handle. */
static void init_task(ox_task *t, ox_pool *pool, const ox_task_opts *o, uint32_t n_units, uint32_t flags,
                      uint32_t refs) {
  t->fn = n_units ? o->fn : NULL, t->pool = pool, t->n_units = n_units;
  uint32_t owns = atomic_load_explicit(&t->state, memory_order_relaxed);
  atomic_store_explicit(&t->state, owns | flags << OX_TASK_FLAG_SHIFT, memory_order_relaxed);
  atomic_store_explicit(&t->refs, refs, memory_order_relaxed);
  atomic_store_explicit(&t->error, NULL, memory_order_relaxed);
  atomic_store_explicit(&t->children, NULL, memory_order_relaxed);
  if (n_units > 1) atomic_store_explicit(&t->pending, n_units, memory_order_relaxed), t->next_unit = 0;
  if (OX_UNLIKELY(flags & OX_TASK_TIMED)) t->end_ns = 0, atomic_store_explicit(&t->first_ns, 0, memory_order_relaxed);
}

/* With nothing to free yet; NULL on out of memory. */
static ox_task *new_task(ox_pool *pool, uint32_t own) {
  ox_task *t = ox_spare_take_task(pool, own);
  if (t) atomic_store_explicit(&t->state, 0, memory_order_relaxed);
  return t;
}

ox_task *ox_task_current(void) {
  ox_task_frame *f = frames;
  if (!f || f->task || !f->call) return f ? f->task : NULL;
  ox_task *t = new_task(f->pool, ox_queue_own(f->pool));
  if (!t) return NULL;
  init_task(t, f->pool, &(ox_task_opts){.fn = f->call->fn}, 1, OX_TASK_ASYNC, 1);
  return f->task = t;
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
  if (OX_UNLIKELY(ox_pool_is_stale(pool))) ox_pool_rebuild(pool);
  uint32_t own = ox_queue_own(pool);
  if (!out_task && is_call(opts, n_units, n_parents, flags))
    return ox_queue_push_call(pool, own, opts->fn, opts->payload, opts->payload_bytes) ? NULL : ox_oom();
  ox_task *t = new_task(pool, own);
  if (!t) return ox_oom();
  if (!take_payload(t, opts, n_parents)) {
    ox_spare_give_task(pool, own, t);
    return ox_oom();
  }
  init_task(t, pool, opts, n_units, flags, out_task ? 2 : 1);
  if (out_task) *out_task = t;
  if (n_parents) {
    atomic_store_explicit(&t->wait_parents, n_parents + 1, memory_order_relaxed);
    add_parents(t, opts);
  } else if (now && t->fn) {
    run_units(t, 0, 1); /* here, but with a handle to ask for the time */
  } else {
    start(t);
  }
  return NULL;
}

void ox_task_cancel(ox_task *t) {
  if (!t) return;
  unsigned state = atomic_load_explicit(&t->state, memory_order_relaxed);
  while (!(state & OX_TASK_DONE) &&
         !atomic_compare_exchange_weak_explicit(&t->state, &state, state | OX_TASK_CANCELLED, memory_order_relaxed,
                                                memory_order_relaxed)) {
  }
}

int ox_task_is_done(const ox_task *t) { return !t || ox_task_has_ended(t); }

static double ms(uint64_t from, uint64_t to) { return from && to ? ((double)to - (double)from) * 1e-6 : 0; }

static uint64_t started(const ox_task *t) {
  return t && (ox_task_flags(t) & OX_TASK_TIMED) ? atomic_load_explicit(&t->first_ns, memory_order_relaxed) : 0;
}

double ox_task_ms(const ox_task *t) { return started(t) && ox_task_has_ended(t) ? ms(started(t), t->end_ns) : 0; }

double ox_task_ms_between(const ox_task *a, const ox_task *b) { return ms(started(a), started(b)); }

ox_status *ox_task_wait(ox_task *t) {
  if (!t) return NULL;
  if (!ox_task_has_ended(t)) OX_TRY(ox_pool_wait_task(t));
  return copy_error(t);
}

ox_status *ox_task_wait_release(ox_task *t) {
  ox_status *st = ox_task_wait(t);
  ox_task_release(t);
  return st;
}
