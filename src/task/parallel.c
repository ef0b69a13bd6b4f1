/* SPDX-License-Identifier: Apache-2.0
 * task/parallel.c - ox_task_for. The protocol is explained and proved in parallel.h. */
#include "task/parallel.h"

#include "task/backend.h"
#include "task/grow.h"
#include "task/lane.h"
#include "task/self.h"
#include "task/system/park.h"
#include "task/wake.h"

typedef atomic_uint_least64_t lane_word;

static lane_word *lane_of(ox_pool *pool, uint32_t slot, uint32_t index) {
  return index ? &pool->workers[index]->lanes[slot].range : &pool->slots[slot].range0;
}

/* One participant in one loop. */
typedef struct run {
  ox_pool *pool;
  ox_loop_slot *slot;
  lane_word *own;
  uint32_t slot_index, lane; /* lane: 0 for the owner, else the worker's index in the pool */
  uint32_t worker;           /* passed to tiles: 0 for the owner, even if it is a worker of the pool */
  uint32_t done;             /* finished, not yet subtracted from pending */
  uint32_t ran;              /* finished, in all */
  uint32_t claims, steals;
} run;

/* Steals the upper half of |victim|: claims the first blocks of it, at *out_begin, and puts the rest into our lane,
 * which is empty. Returns how many blocks are claimed. */
static uint32_t steal(run *r, lane_word *victim, uint32_t *out_begin) {
  uint64_t range = atomic_load_explicit(victim, memory_order_relaxed);
  while (!is_empty(range)) {
    uint32_t b = begin_of(range), e = end_of(range), mid = b + (e - b) / 2;
    uint64_t gate = range & GATE_MASK; /* the same word that the CAS compares decides whether we are admitted */
    if (r->lane && !ox_gate_admits(gate_of(range), r->lane)) return 0;
    /* acquire: pairs with the release that filled the lane; from here the slot is pinned */
    if (!atomic_compare_exchange_weak_explicit(victim, &range, pack(gate, b, mid), memory_order_acquire,
                                               memory_order_relaxed))
      continue;
    uint32_t n = OX_MIN(r->slot->grain, e - mid);
    if (mid + n < e)
      atomic_store_explicit(r->own, pack(gate, mid + n, e), memory_order_release); /* pairs with the above */
    r->worker = r->lane ? r->lane - gate_of(range).first : 0;
    *out_begin = mid;
    r->steals++;
    return n;
  }
  return 0;
}

/* Tries every lane of the slot but our own: the owner's first, which had the most to begin with, then those after our
 * own, so that different thieves try different lanes. */
static uint32_t steal_any(run *r, uint32_t *out_begin) {
  uint32_t others = ox_pool_threads(r->pool) - 1;
  for (uint32_t k = 0; k <= others; k++) {
    uint32_t lane = k ? 1 + (r->lane + k - 1) % others : 0;
    if (lane == r->lane) continue;
    uint32_t n = steal(r, lane_of(r->pool, r->slot_index, lane), out_begin);
    if (n) return n;
  }
  return 0;
}

static inline bool has_failed(const ox_loop_slot *slot) {
  return OX_UNLIKELY(atomic_load_explicit(&slot->error, memory_order_relaxed) != NULL);
}

static inline void run_blocks(ox_loop_slot *slot, uint32_t begin, uint32_t n, uint32_t worker) {
  if (has_failed(slot)) return;                       /* skip the rest of the loop */
  int64_t first = (int64_t)begin * slot->block_tiles; /* first < n_tiles */
  int64_t count = OX_MIN((int64_t)n * slot->block_tiles, slot->n_tiles - first);
  ox_status *st = slot->fn(slot->ctx, first, first + count, worker);
  if (OX_UNLIKELY(st != NULL)) ox_keep_first(&slot->error, st);
}

/* Claims a quarter of our own lane, between |least| and |most| blocks. One block at a time would be too slow, as a
 * claim costs 50 ns between blocks of a microsecond; but claimed blocks cannot be stolen, so a claim is not larger.
 * |most| matters to the first thieves, whose lanes hold the shares of many threads. Relaxed: the slot's fields were
 * acquired when this thread filled the lane. */
static inline uint32_t claim(lane_word *own, uint32_t least, uint32_t most, uint32_t *out_begin) {
  uint64_t range = atomic_load_explicit(own, memory_order_relaxed);
  while (!is_empty(range)) {
    uint32_t b = begin_of(range), left = end_of(range) - b, n = OX_MIN(left / 4, most);
    n = OX_MIN(OX_MAX(n, least), left);
    if (atomic_compare_exchange_weak_explicit(own, &range, range + n, memory_order_relaxed, memory_order_relaxed)) {
      *out_begin = b;
      return n;
    }
  }
  return 0;
}

/* Runs the claimed blocks, then those in our own lane. After an error the lane is emptied in one claim. */
static void drain_own(run *r, uint32_t begin, uint32_t n) {
  ox_loop_slot *slot = r->slot;
  for (; n; n = claim(r->own, has_failed(slot) ? MOST_BLOCKS : slot->grain, slot->most, &begin)) {
    run_blocks(slot, begin, n, r->worker);
    r->done += n, r->ran += n, r->claims++;
  }
}

/* Subtracts finished blocks from |pending|; from here on we do not pin the slot. Returns the new value, with
 * OX_PARK_WAITING if it is set. acq_rel: releases what our tiles wrote to the owner, which acquires in finish(). */
static uint32_t report(run *r) {
  uint32_t n = r->done;
  r->done = 0;
  return atomic_fetch_sub_explicit(&r->slot->pending, n, memory_order_acq_rel) - n;
}

/* Each woken worker wakes two more while there is work for them, in the owner's lane or in the one it has just filled,
 * so that n workers are awake after log2(n) steps. Not in loops that are too short for it. */
static void wake_more(const run *r) {
  uint64_t range0 = atomic_load_explicit(&r->slot->range0, memory_order_relaxed);
  if (atomic_load_explicit(&r->slot->quiet, memory_order_relaxed)) return;
  /* In a large pool the policy may wake one worker at a time; the chain must go on even if our lane is empty. */
  bool more = !is_empty(range0) || !is_empty(atomic_load_explicit(r->own, memory_order_relaxed));
  if (more || ox_pool_is_large(r->pool)) ox_pool_wake_admitted(r->pool, gate_of(range0), 2);
}

static bool help_slot(ox_pool *pool, uint32_t slot_index, uint32_t index) {
  ox_loop_slot *slot = &pool->slots[slot_index];
  ox_worker *w = pool->workers[index];
  run r = {pool, slot, &w->lanes[slot_index].range, slot_index, index, index, 0, 0, 0, 0};
  uint32_t begin, n = 0;
  uint64_t seen = atomic_load_explicit(&slot->range0, memory_order_relaxed);
  if (!is_empty(seen)) {
    if (!ox_gate_admits(gate_of(seen), index)) return false;
    if (!pool->policy->worker_joins(w, slot, seen)) return false;
    n = steal(&r, &slot->range0, &begin);
  }
  if (!n) {
    /* the owner's lane is empty: others may still have blocks, unless the loop has ended */
    if (!(atomic_load_explicit(&slot->pending, memory_order_relaxed) & ~OX_PARK_WAITING)) return false;
    n = steal_any(&r, &begin);
    if (!n) return false;
  }
  uint64_t start = ox_ticks();
  ox_worker_helps(w, slot);
  do {
    if (ox_pool_any_asleep(pool)) wake_more(&r);
    drain_own(&r, begin, n);
    uint32_t left = report(&r);
    /* The slot may already serve another loop: an extra wake is harmless, the sleeper checks again. */
    if (left == OX_PARK_WAITING) ox_park_wake(&slot->pending, 1);
    n = left & ~OX_PARK_WAITING ? steal_any(&r, &begin) : 0;
  } while (n);
  ox_worker_helps(w, NULL);
  pool->policy->worker_left(w, ox_ticks() - start);
  ox_count(&w->claims, r.claims), ox_count(&w->steals, r.steals);
  return true;
}

bool ox_loops_help(ox_pool *pool, uint32_t index) {
  uint32_t used = atomic_load_explicit(&pool->n_used, memory_order_acquire);
  ox_worker *w = pool->workers[index];
  for (uint32_t k = 0, i = w->next_slot; k < used; k++, i++) {
    if (i >= used) i = 0;
    const ox_loop_slot *slot = &pool->slots[i];
    if (is_empty(atomic_load_explicit(&slot->range0, memory_order_relaxed)) &&
        !atomic_load_explicit(&slot->pending, memory_order_relaxed))
      continue;
    if (!help_slot(pool, i, index)) continue;
    w->next_slot = i + 1; /* the next client's loop comes first next time */
    return true;
  }
  return false;
}

bool ox_loops_any(const ox_pool *pool, uint32_t index) {
  uint32_t used = atomic_load_explicit(&pool->n_used, memory_order_seq_cst);
  for (uint32_t i = 0; i < used; i++) {
    uint64_t range = atomic_load_explicit(&pool->slots[i].range0, memory_order_seq_cst);
    if (!is_empty(range) && ox_gate_admits(gate_of(range), index)) return true;
  }
  return false;
}

/* Takes a free slot for a new loop. NULL: there is none, the caller runs the loop alone. */
static ox_loop_slot *take_slot(ox_pool *pool, unsigned kind, uint32_t *out_index) {
  static _Thread_local uint32_t last OX_TLS_FAST; /* the slot used last: its lines are probably still in our cache */
  for (uint32_t k = 0; k <= pool->n_slots; k++) {
    uint32_t i = k ? k - 1 : last % pool->n_slots;
    ox_loop_slot *slot = &pool->slots[i];
    if (atomic_load_explicit(&slot->busy, memory_order_relaxed)) continue;
    /* acquire: pairs with the release in ox_task_for's end */
    if (atomic_exchange_explicit(&slot->busy, kind, memory_order_acquire)) continue;
    *out_index = last = i;
    uint32_t used =
        atomic_load_explicit(&pool->n_used, memory_order_seq_cst); /* another thread may have raised it for us */
    while (used <= i && !atomic_compare_exchange_weak_explicit(&pool->n_used, &used, i + 1, memory_order_seq_cst,
                                                               memory_order_relaxed)) {
    }
    return slot;
  }
  return NULL;
}

/* Spins until the loop is finished (true) or the policy says to sleep (false); meanwhile steals back blocks that others
 * have not started. *start: when it began; stays 0 if the wait was shorter than a microsecond or so. */
static bool spin_until_finished(run *r, uint64_t *start) {
  ox_loop_slot *slot = r->slot;
  for (;;) {
    for (int i = 0; i < OX_LOOKS_PER_ASK; i++) {
      if (!atomic_load_explicit(&slot->pending, memory_order_acquire)) return true;
      uint32_t begin, n = steal_any(r, &begin);
      if (n) {
        drain_own(r, begin, n);
        if (report(r) == 0) return true;
      }
      ox_pause();
    }
    uint64_t now = ox_thread_now_ns();
    if (!*start) *start = now;
    if (!r->pool->policy->waiter_watches(r->pool, now - *start)) return false;
  }
}

/* Sleeps, so that the thread with the last block can have this processor. The thread that brings |pending| to
 * OX_PARK_WAITING | 0 wakes us. */
static void sleep_until_finished(ox_loop_slot *slot) {
  ox_park_until_zero(&slot->pending);
  atomic_store_explicit(&slot->pending, 0, memory_order_relaxed); /* drops WAITING */
}

/* The owner, with nothing left to claim, waits until all blocks are finished. */
static void finish(run *r) {
  ox_loop_slot *slot = r->slot;
  if (atomic_load_explicit(&slot->pending, memory_order_acquire) == r->done) { /* pairs with report() */
    atomic_store_explicit(&slot->pending, 0, memory_order_relaxed);
    return;
  }
  if (report(r) == 0) return;
  uint64_t start = 0;
  if (!spin_until_finished(r, &start)) {
    r->pool->policy->waiter_sleeps(r->pool, slot);
    sleep_until_finished(slot);
  }
  if (start) ox_count(&slot->wait_ns, ox_thread_now_ns() - start);
}

static _Thread_local uint32_t n_owned OX_TLS_FAST;

uint32_t ox_loops_owned(void) { return n_owned; }
void ox_loops_enter(void) { n_owned++; }
void ox_loops_leave(void) { n_owned--; }

/* Some worker sleeps: asks the policy whether to wake. Returns whether loop_ended is to be called. */
static bool wake_for_loop(ox_pool *pool, ox_loop_slot *slot, ox_gate gate, uint32_t n, ox_loop_note *out_note) {
  pool->policy->loop_begins(pool, slot, out_note);
  if (out_note->wake == OX_WAKE_SOME)
    ox_pool_wake_admitted(pool, gate, OX_MIN(n - 1, 2));
  else if (out_note->wake == OX_WAKE_QUIET)
    atomic_store_explicit(&slot->quiet, true, memory_order_relaxed);
  return out_note->ends;
}

/* A client ends a loop: calls the policy from time to time. */
static inline void call_between(ox_pool *pool) {
  static _Thread_local uint64_t last OX_TLS_FAST; /* ox_ticks() at the last call */
  if (OX_LIKELY(ox_ticks() - last < OX_CALLER_ASKS_US * pool->us_ticks)) return;
  pool->policy->caller_between(pool);
  last = ox_ticks();
}

/* Opens enough workers (grow.h) for a loop of |cap| threads (0: all), beside the loops of other clients. */
static OX_NOINLINE void open_workers(ox_pool *pool, uint32_t slot_index, uint32_t cap, bool client) {
  uint32_t size = ox_pool_threads(pool), want = cap ? cap : size;
  uint32_t used = client ? atomic_load_explicit(&pool->n_used, memory_order_relaxed) : 0;
  for (uint32_t i = 0; i < used && want < size; i++) {
    const ox_loop_slot *slot = &pool->slots[i];
    if (i == slot_index || atomic_load_explicit(&slot->busy, memory_order_relaxed) != OX_LOOP_CLIENT) continue;
    uint32_t other = gate_of(atomic_load_explicit(&slot->range0, memory_order_relaxed)).cap;
    want += other ? other - 1 : 0;
  }
  if (ox_pool_open(pool) < want) ox_pool_grow(pool, want);
}

static ox_status *run_shared(ox_pool *pool, uint32_t cap, int64_t n_tiles, ox_tile_fn fn, void *ctx) {
  uint32_t slot_index;
  ox_pool_renew(pool);
  bool client = !n_owned && !ox_pool_thread_id();
  ox_loop_slot *slot = take_slot(pool, client ? OX_LOOP_CLIENT : OX_LOOP_INNER, &slot_index);
  if (!slot) return fn(ctx, 0, n_tiles, 0);
  int64_t block = OX_LIKELY(n_tiles <= MOST_BLOCKS) ? 1 : 1 + (n_tiles - 1) / MOST_BLOCKS;
  uint32_t n = (uint32_t)(block == 1 ? n_tiles : 1 + (n_tiles - 1) / block);
  uint32_t shift = atomic_load_explicit(&pool->grain_shift, memory_order_relaxed), grain = n >> shift;
  slot->most = n >> (shift - (shift <= 8 ? 5 : 3)); /* half of a thread's share; of more than four threads an eighth */
  slot->fn = fn, slot->ctx = ctx, slot->n_tiles = n_tiles, slot->block_tiles = block;
  slot->grain = grain = grain ? grain : 1;
  atomic_store_explicit(&slot->error, NULL, memory_order_relaxed);
  atomic_store_explicit(&slot->quiet, false, memory_order_relaxed);
  atomic_store_explicit(&slot->pending, n, memory_order_relaxed);
  atomic_store_explicit(&slot->serial, atomic_load_explicit(&slot->serial, memory_order_relaxed) + 1,
                        memory_order_relaxed);
  /* P1. The owner's first claim is left out of the published range. n >= 2 and grain <= n / 64, so it is not empty. */
  if (OX_UNLIKELY(ox_pool_open(pool) < ox_pool_threads(pool))) open_workers(pool, slot_index, cap, client);
  ox_gate gate = ox_gate_choose(ox_pool_threads(pool), ox_pool_open(pool), slot_index, cap);
  uint64_t range = pack(gate_bits(gate), grain, n);
  atomic_exchange_explicit(&slot->range0, range, memory_order_seq_cst);
  run r = {pool, slot, &slot->range0, slot_index, 0, 0, 0, 0, 0, 0};
  ox_loop_note note;
  bool noted = OX_UNLIKELY(ox_pool_any_asleep(pool)) && wake_for_loop(pool, slot, gate, n, &note); /* P2 */

  n_owned++;
  uint32_t begin = 0, claimed = grain;
  do {
    drain_own(&r, begin, claimed);
    claimed = steal_any(&r, &begin);
  } while (claimed);
  finish(&r);
  n_owned--;
  if (OX_UNLIKELY(noted)) pool->policy->loop_ended(pool, &note, r.ran, n);
  ox_count(&slot->loops, 1), ox_count(&slot->claims, r.claims), ox_count(&slot->steals, r.steals);
  ox_status *st = atomic_load_explicit(&slot->error, memory_order_acquire); /* pairs with ox_keep_first */
  if (client) call_between(pool);
  atomic_store_explicit(&slot->busy, 0, memory_order_release); /* pairs with take_slot */
  return st;
}

/* The loop runs on the back-end's threads, or denormals are flushed: in the caller, too, or results would depend on
 * which thread ran a tile. */
static OX_NOINLINE ox_status *run_unusual(ox_pool *pool, uint32_t cap, int64_t n_tiles, ox_tile_fn fn, void *ctx) {
  bool flush = pool->opts.flags & OX_POOL_FLUSH_DENORMALS;
  unsigned mode = flush ? ox_thread_flush_denormals() : 0;
  uint32_t size = ox_pool_threads(pool), n = cap ? OX_MIN(cap, size) : size;
  ox_status *st;
  if (n_tiles == 1 || n <= 1)
    st = fn(ctx, 0, n_tiles, 0);
  else if (pool->backend->run_loop)
    st = pool->backend->run_loop(pool, n, n_tiles, fn, ctx);
  else
    st = run_shared(pool, cap, n_tiles, fn, ctx);
  if (flush) ox_thread_restore_denormals(mode);
  return st;
}

ox_status *ox_task_for_max(ox_pool *pool, uint32_t max_threads, int64_t n_tiles, ox_tile_fn fn, void *ctx) {
  if (n_tiles <= 0) return NULL;
  if (pool && OX_UNLIKELY(pool->opts.flags & OX_POOL_UNUSUAL)) return run_unusual(pool, max_threads, n_tiles, fn, ctx);
  if (!pool || n_tiles == 1 || max_threads == 1 || ox_pool_threads(pool) <= 1) return fn(ctx, 0, n_tiles, 0);
  return run_shared(pool, max_threads, n_tiles, fn, ctx);
}

ox_status *ox_task_for(ox_pool *pool, int64_t n_tiles, ox_tile_fn fn, void *ctx) {
  return ox_task_for_max(pool, 0, n_tiles, fn, ctx);
}

ox_status *ox_task_error(ox_code code, const char *text) { return ox_fail(code, "%s", text); }
