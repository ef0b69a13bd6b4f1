/* SPDX-License-Identifier: Apache-2.0
 * task/policy/cold.c - learns which loops are worth a wake. */
#include "task/policy/cold.h"

#include "base/macros.h"

enum {
  PAUSE_NS = 1000 * 1000,    /* a gap this long between loops ends a row of them */
  WAKE_GUESS_NS = 20 * 1000, /* how long a wake takes, before it has been measured */
  WAKE_MOST_NS = 100 * 1000  /* longer ones are counted as this long: something else delayed them */
};

static uint64_t get(const atomic_uint_least64_t *a) { return atomic_load_explicit(a, memory_order_relaxed); }
static void set(atomic_uint_least64_t *a, uint64_t v) { atomic_store_explicit(a, v, memory_order_relaxed); }

/* A hash of what identifies a loop (splitmix64's constants), never 0. */
static uint64_t key_of(ox_tile_fn fn, void *ctx, int64_t n_tiles) {
  uint64_t h = (uint64_t)(uintptr_t)fn * 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)ctx;
  h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u + (uint64_t)n_tiles;
  h = (h ^ h >> 32) * 0x94d049bb133111ebu;
  return (h ^ h >> 31) | 1;
}

/* A loop must take this long for a helper to shorten it: with two threads it takes half of that, and that must be
 * longer than a wake. */
static uint64_t worth_ns(const ox_cold *cold) {
  uint64_t wake = atomic_load_explicit(&cold->wake_ns, memory_order_relaxed);
  return (wake ? OX_MIN(wake, (uint64_t)WAKE_MOST_NS) : WAKE_GUESS_NS) * 3;
}

bool ox_cold_begin(ox_cold *cold, ox_tile_fn fn, void *ctx, int64_t n_tiles, uint64_t now_ns, ox_loop_note *out_note) {
  uint64_t key = key_of(fn, ctx, n_tiles), gap = now_ns - get(&cold->last_ns);
  set(&cold->gap_ns, gap);
  if (gap > PAUSE_NS) set(&cold->spent_ns, 0);
  uint64_t row = get(&cold->rows[key % OX_COLD_ROWS]), expected = row >> 32 << 6;
  bool known = (uint32_t)row == (uint32_t)(key >> 32);
  bool wakes = !known || get(&cold->spent_ns) + expected >= worth_ns(cold);
  if (wakes) set(&cold->spent_ns, 0);
  out_note->key = key, out_note->start_ns = now_ns, out_note->woke = wakes;
  return wakes;
}

void ox_cold_end(ox_cold *cold, const ox_loop_note *note, uint32_t ran, uint32_t n, uint64_t now_ns) {
  uint64_t took = now_ns - note->start_ns, alone = took / OX_MAX(ran, 1) * n;
  set(&cold->last_ns, now_ns);
  if (!note->woke) {
    set(&cold->spent_ns, get(&cold->spent_ns) + took);
  } else {
    /* The wake itself is in the measured time. */
    uint64_t wake = atomic_load_explicit(&cold->wake_ns, memory_order_relaxed);
    alone = alone > wake ? alone - wake / 2 : alone;
  }
  uint64_t units = OX_MIN(alone >> 6, (uint64_t)UINT32_MAX);
  set(&cold->rows[note->key % OX_COLD_ROWS], units << 32 | (uint32_t)(note->key >> 32));
}

void ox_cold_woken(ox_cold *cold, uint64_t ns) {
  uint64_t old = atomic_load_explicit(&cold->wake_ns, memory_order_relaxed);
  ns = OX_MIN(ns, (uint64_t)WAKE_MOST_NS) + 1;
  atomic_store_explicit(&cold->wake_ns, (uint32_t)(old ? (7 * old + ns) / 8 : ns), memory_order_relaxed);
}
