/* SPDX-License-Identifier: Apache-2.0
 * task/policy_off.c - no policy: the mechanism alone. A thread that finds nothing to do sleeps at once, new work wakes
 * sleeping threads, every loop is joined, and nothing depends on a clock. */
#include "task/policy.h"

static void leave_pool(ox_pool *pool) { (void)pool; }
static void leave_worker(struct ox_worker *w) { (void)w; }

static bool watch_no_more(struct ox_worker *w, bool looked) { return (void)w, (void)looked, false; }
static bool wait_no_more(const ox_pool *pool, uint64_t ns) { return (void)pool, (void)ns, false; }
static void forget_sleep(struct ox_worker *w, uint64_t asleep_ns) { (void)w, (void)asleep_ns; }

static uint32_t wake_all(const ox_pool *pool, uint32_t want) { return (void)pool, want; }
static void wake_for_loop(ox_pool *pool, const struct ox_loop_slot *slot, ox_loop_note *out_note) {
  (void)pool, (void)slot;
  *out_note = (ox_loop_note){.wake = OX_WAKE_SOME};
}
static void wake_for_graph(ox_pool *pool, ox_task_graph *graph, size_t n_nodes, ox_loop_note *out_note) {
  (void)pool, (void)graph, (void)n_nodes;
  *out_note = (ox_loop_note){.wake = OX_WAKE_SOME};
}
static void forget_loop(ox_pool *pool, const ox_loop_note *note, uint32_t ran, uint32_t n) {
  (void)pool, (void)note, (void)ran, (void)n;
}

static bool join(struct ox_worker *w, const struct ox_loop_slot *slot, uint64_t range) {
  return (void)w, (void)slot, (void)range, true;
}
static void leave_loop(struct ox_worker *w, uint64_t ticks) { (void)w, (void)ticks; }
static bool steal(const ox_pool *pool) { return (void)pool, true; }
static void forget_call(const ox_pool *pool, uint32_t left) { (void)pool, (void)left; }
static void go_to_sleep(ox_pool *pool, const void *what) { (void)pool, (void)what; }

const ox_policy ox_policy_off = {
    .name = "off",
    .pool_made = leave_pool,
    .worker_made = leave_worker,
    .worker_started = leave_worker,
    .worker_watches = watch_no_more,
    .waiter_watches = wait_no_more,
    .worker_between = leave_worker,
    .caller_between = leave_pool,
    .worker_woken = forget_sleep,
    .may_wake = wake_all,
    .worker_is_woken = leave_worker,
    .section_begins = leave_pool,
    .loop_begins = wake_for_loop,
    .graph_begins = wake_for_graph,
    .loop_ended = forget_loop,
    .worker_joins = join,
    .worker_left = leave_loop,
    .may_steal = steal,
    .stole_call = forget_call,
    .waiter_sleeps = go_to_sleep,
    .worker_is_free = leave_worker,
};
