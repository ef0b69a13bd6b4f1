/* SPDX-License-Identifier: Apache-2.0
 * task/task_life.c - how tasks begin, become ready, end and are freed. The protocols are explained and proved in
 * task.h. */
#include "task/task_life.h"

#include "task/kept.h"
#include "task/queue.h"
#include "task/wake.h"

static ox_task_link closed_link;
#define CLOSED (&closed_link)

static bool has(const ox_task *t, uint32_t bit) { return atomic_load_explicit(&t->state, memory_order_relaxed) & bit; }

ox_status *ox_task_copy_error(const ox_task *t) {
  const ox_status *st = atomic_load_explicit(&t->error, memory_order_acquire); /* pairs with ox_keep_first */
  if (st) return ox_fail(ox_status_code(st), "%s", ox_status_message(st));
  return has(t, OX_TASK_CANCELLED) ? ox_fail(OX_CANCELLED, "the task was cancelled") : NULL;
}

static void free_owned(ox_task *t) {
  if (!has(t, OX_TASK_OWNS)) return;
  ox_heap_free(t->links);
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

/* The parent has ended: if it failed, the child takes over its error and the object kept with it. */
static void inherit(const ox_task *parent, ox_task *child) {
  if (!ox_task_has_failed(parent) || (ox_task_flags(child) & OX_TASK_RUN_ANYWAY)) return;
  ox_kept_share(parent, child);
  ox_keep_first(&child->error, ox_task_copy_error(parent));
}

/* One parent fewer. The error is passed on first: after the decrement the child may be running or freed. */
static void parent_ended(const ox_task *parent, ox_task *child, chain *ready) {
  inherit(parent, child);
  /* acq_rel: the child's units see what all parents wrote */
  if (atomic_fetch_sub_explicit(&child->wait_parents, 1, memory_order_acq_rel) == 1) chain_add(ready, child);
}

/* All units have run: notifies children and waiters, and drops the run's reference. DONE is set first, so that when a
 * child runs its parents are done. */
static void end_one(ox_task *t, chain *ready) {
  if (ox_task_flags(t) & OX_TASK_TIMED) {
    t->end_ns = ox_thread_now_ns();
    if (!t->fn) atomic_store_explicit(&t->first_ns, t->end_ns, memory_order_relaxed); /* a barrier takes no time */
  }
  free_owned(t);
  bool waited = atomic_fetch_or_explicit(&t->state, OX_TASK_DONE, memory_order_seq_cst) & OX_TASK_WAITED;
  ox_task_link *link = atomic_exchange_explicit(&t->children, CLOSED, memory_order_acq_rel);
  while (link) {
    ox_task_link *next = link->next; /* read first: the child may be freed below */
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

/* Is there no handle and no child, so that nothing depends on its end? */
static bool is_unobserved(const ox_task *t) {
  return atomic_load_explicit(&t->refs, memory_order_acquire) == 1 &&
         !atomic_load_explicit(&t->children, memory_order_relaxed);
}

/* A loop, not recursion: chains of barriers may be long. */
void ox_task_end(ox_task *t) {
  if (is_unobserved(t)) {
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

void ox_task_start(ox_task *t) {
  if (t->fn)
    ox_queue_push(t->pool, ox_queue_own(t->pool), t, t, 1, t->n_units);
  else
    ox_task_end(t);
}

void ox_task_add_parents(ox_task *t, const ox_task_opts *o) {
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
  if (atomic_fetch_sub_explicit(&t->wait_parents, ended + 1, memory_order_acq_rel) == ended + 1) ox_task_start(t);
}

/* Relaxed: published by the links, the queue or the handle. */
void ox_task_init(ox_task *t, ox_pool *pool, const ox_task_opts *o, uint32_t n_units, uint32_t flags, uint32_t refs) {
  t->fn = n_units ? o->fn : NULL, t->pool = pool, t->n_units = n_units;
  uint32_t owns = atomic_load_explicit(&t->state, memory_order_relaxed);
  atomic_store_explicit(&t->state, owns | flags << OX_TASK_FLAG_SHIFT, memory_order_relaxed);
  atomic_store_explicit(&t->refs, refs, memory_order_relaxed);
  atomic_store_explicit(&t->error, NULL, memory_order_relaxed);
  atomic_store_explicit(&t->children, NULL, memory_order_relaxed);
  if (n_units > 1) atomic_store_explicit(&t->pending, n_units, memory_order_relaxed), t->next_unit = 0;
  if (OX_UNLIKELY(flags & OX_TASK_TIMED)) t->end_ns = 0, atomic_store_explicit(&t->first_ns, 0, memory_order_relaxed);
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
