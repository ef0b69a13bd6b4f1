/* SPDX-License-Identifier: Apache-2.0
 * task/policy/adaptive.c - the default policy: which part of it serves which hook (task/policy.h). */
#include "task/policy/give_way.h"
#include "task/policy/join.h"
#include "task/policy/patience.h"
#include "task/policy/place.h"
#include "task/policy/spin.h"
#include "task/policy/state.h"
#include "task/policy/straggler.h"
#include "task/policy/surplus.h"

static void pool_made(ox_pool *pool) {
  atomic_store_explicit(&ox_state_of_pool(pool)->standing, 0, memory_order_relaxed);
}

static void worker_made(ox_worker *w) {
  ox_place_init(w);
  ox_spin_init(w);
  ox_state_of(w)->away_ns = 0;
}

static void worker_started(ox_worker *w) { ox_give_way_start(&ox_state_of(w)->way); }

static void worker_between(ox_worker *w) {
  ox_give_way *way = &ox_state_of(w)->way;
  if (ox_give_way_worker(w, way) && ox_surplus_stand_by(w)) ox_give_way_start(way);
}

static void caller_between(ox_pool *pool) { ox_give_way_caller(pool, &ox_state_of_pool(pool)->fair); }

static void worker_woken(ox_worker *w, uint64_t asleep_ns) {
  ox_place_woken(w);
  uint64_t now = ox_thread_now_ns(), woken = atomic_load_explicit(&ox_state_of(w)->woken_ns, memory_order_relaxed);
  if (woken > asleep_ns && woken < now) ox_cold_woken(&ox_state_of_pool(w->pool)->cold, now - woken);
  ox_spin_learn(w, now - asleep_ns);
  (void)ox_surplus_stand_by(w);
  ox_give_way_start(&ox_state_of(w)->way);
}

static void worker_is_woken(ox_worker *w) {
  ox_place_waking(w);
  atomic_store_explicit(&ox_state_of(w)->woken_ns, ox_thread_now_ns(), memory_order_relaxed);
}

static void loop_begins(ox_pool *pool, const ox_loop_slot *slot, ox_loop_note *out_note) {
  out_note->wake = OX_WAKE_NOBODY, out_note->ends = !ox_pool_is_large(pool) || ox_surplus_wants_more(pool, slot);
  if (!out_note->ends) return;
  ox_cold *cold = &ox_state_of_pool(pool)->cold;
  bool worth = ox_cold_begin(cold, slot->fn, slot->ctx, slot->n_tiles, ox_thread_now_ns(), out_note);
  out_note->wake = worth || ox_spin_is_long(pool) ? OX_WAKE_SOME : OX_WAKE_QUIET;
}

static void graph_begins(ox_pool *pool, ox_task_graph *graph, size_t n_nodes, ox_loop_note *out_note) {
  ox_cold *cold = &ox_state_of_pool(pool)->cold;
  bool worth = ox_cold_begin(cold, NULL, graph, (int64_t)n_nodes, ox_thread_now_ns(), out_note);
  out_note->wake = worth ? OX_WAKE_SOME : OX_WAKE_QUIET, out_note->ends = true;
}

static void loop_ended(ox_pool *pool, const ox_loop_note *note, uint32_t ran, uint32_t n) {
  ox_cold_end(&ox_state_of_pool(pool)->cold, note, ran, n, ox_thread_now_ns());
}

const ox_policy ox_policy_adaptive = {
    .name = "adaptive",
    .pool_bytes = sizeof(ox_pool_state),
    .worker_bytes = sizeof(ox_worker_state),
    .pool_made = pool_made,
    .worker_made = worker_made,
    .worker_started = worker_started,
    .worker_watches = ox_spin_worker,
    .waiter_watches = ox_spin_waiter,
    .worker_between = worker_between,
    .caller_between = caller_between,
    .worker_woken = worker_woken,
    .may_wake = ox_surplus_may_wake,
    .worker_is_woken = worker_is_woken,
    .section_begins = ox_spin_section,
    .loop_begins = loop_begins,
    .graph_begins = graph_begins,
    .loop_ended = loop_ended,
    .worker_joins = ox_join_is_worth_it,
    .worker_left = ox_join_ended,
    .may_steal = ox_patience_may_steal,
    .stole_call = ox_patience_stole,
    .waiter_sleeps = ox_straggler_pull,
    .worker_is_free = ox_straggler_return,
};
