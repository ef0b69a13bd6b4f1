/* SPDX-License-Identifier: Apache-2.0
 * task/section_test.c - sections keep workers awake, no longer than they should, and never keep a pool from ending. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"
#include "task/policy/state.h"

static ox_status *tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (volatile int i = 0; i < 1000; i++) {
  }
  atomic_fetch_add((atomic_int *)ctx, (int)(end - begin));
  return NULL;
}

static void loop(ox_pool *pool) {
  atomic_int tiles = 0;
  CHECK_OK(ox_task_for(pool, 16, tile, &tiles));
  assert_int_equal(tiles, 16);
}

static uint64_t sleeps(const ox_pool *pool) {
  ox_pool_stats s = {.struct_size = sizeof s};
  ox_pool_get_stats(pool, &s);
  return s.sleeps;
}

static void nothing_happens_without_workers(void **state) {
  (void)state;
  ox_task_section s, never = {0};
  ox_task_section_end(&never);
  ox_task_section_begin(NULL, 0, &s);
  ox_task_section_end(&s);
  static const uint32_t caps[] = {0, 1, 2, UINT32_MAX};
  for (size_t i = 0; i < OX_COUNT(caps); i++) {
    ox_pool *pool = test_pool(1);
    ox_task_section_begin(pool, caps[i], &s);
    loop(pool);
    assert_int_equal(pool->held, 0);
    ox_task_section_end(&s);
    ox_pool_destroy(pool);
  }
}

static void sections_add_up_and_end_once(void **state) {
  (void)state;
  static const struct {
    uint32_t cap, held;
  } rows[] = {{0, 3}, {1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 3}, {UINT32_MAX, 3}};
  ox_pool *pool = test_pool(4);
  ox_task_section s[OX_COUNT(rows)];
  if (ox_pool_size(pool) == 4) {
    uint32_t sum = 0;
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
      ox_task_section_begin(pool, rows[i].cap, &s[i]);
      assert_int_equal(pool->held, sum += rows[i].held);
      loop(pool);
    }
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
      ox_task_section_end(&s[i]);
      ox_task_section_end(&s[i]);
      assert_int_equal(pool->held, sum -= rows[i].held);
      loop(pool);
    }
  }
  ox_pool_destroy(pool);
}

/* Loops with pauses that are longer than any worker watches by itself. Returns how often workers slept. */
static uint64_t run_with_pauses(ox_pool *pool) {
  loop(pool);
  usleep(2000);
  uint64_t before = sleeps(pool);
  for (int i = 0; i < 8; i++) {
    loop(pool);
    usleep(1000);
  }
  return sleeps(pool) - before;
}

static void workers_stay_awake(void **state) {
  (void)state;
  static const uint32_t spins[] = {0, 1, OX_POOL_NO_SPIN};
  for (size_t i = 0; i < OX_COUNT(spins); i++) {
    ox_pool *pool = test_pool_with((ox_pool_opts){.n_threads = 2, .spin_us = spins[i]});
    bool policy = test_pool_has_workers(pool) && test_pool_has_policy(pool);
    bool possible = policy && !ox_pool_is_crowded(pool), stayed = false;
    for (int k = 0; k < 200 && possible && !stayed; k++) { /* not when the machine is busy with something else */
      ox_task_section s;
      ox_task_section_begin(pool, 0, &s);
      stayed = run_with_pauses(pool) == 0;
      ox_task_section_end(&s);
    }
    assert_int_equal(stayed, possible);
    ox_pool_destroy(pool);
  }
}

/* True when workers have slept in one of many pauses. Sleeps are counted when they end. */
static bool somebody_sleeps(ox_pool *pool, useconds_t pause_us) {
  uint64_t before = sleeps(pool);
  for (int i = 0; i < 100; i++) {
    usleep(pause_us);
    for (int k = 0; k < 200; k++) loop(pool); /* short ones wake only together */
    if (sleeps(pool) > before) return true;
  }
  return false;
}

static void crowded_pools_sleep(void **state) {
  (void)state;
  ox_pool *pool = test_pool(ox_pool_usable_cpus() + 3);
  if (test_pool_has_workers(pool)) {
    ox_task_section s;
    ox_task_section_begin(pool, 0, &s);
    assert_true(somebody_sleeps(pool, 5000));
    ox_task_section_end(&s);
  }
  ox_pool_destroy(pool);
}

static void an_idle_section_lets_them_sleep(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  if (test_pool_has_workers(pool)) {
    ox_task_section s;
    ox_task_section_begin(pool, 0, &s);
    loop(pool);
    assert_true(somebody_sleeps(pool, 130000));
    ox_task_section_end(&s);
  }
  ox_pool_destroy(pool);
}

static void a_forgotten_end_holds_nothing_up(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 4; n++) {
    ox_pool *pool = test_pool(n);
    ox_task_section s;
    ox_task_section_begin(pool, 0, &s);
    loop(pool);
    if (test_pool_resizes())
      for (uint32_t k = 1; k <= 4; k++) {
        CHECK_OK(ox_pool_resize(pool, k));
        loop(pool);
      }
    ox_pool_destroy(pool);
  }
}

static void *client(void *arg) {
  ox_pool *pool = arg;
  for (uint32_t i = 0; i < 50; i++) {
    ox_task_section outer, inner;
    ox_task_section_begin(pool, i % 4, &outer);
    loop(pool);
    ox_task_section_begin(pool, i % 3, &inner);
    loop(pool);
    ox_task_section_end(i % 2 ? &outer : &inner); /* order does not matter */
    loop(pool);
    ox_task_section_end(i % 2 ? &inner : &outer);
  }
  return NULL;
}

static void threads_have_sections_of_their_own(void **state) {
  (void)state;
  enum { CLIENTS = 5 };
  for (uint32_t n = 1; n <= 3; n++) {
    ox_pool *pool = test_pool(n);
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) assert_int_equal(pthread_create(&threads[i], NULL, client, pool), 0);
    for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(pool->held, 0);
    ox_pool_destroy(pool);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_happens_without_workers),
      cmocka_unit_test(sections_add_up_and_end_once),
      cmocka_unit_test(workers_stay_awake),
      cmocka_unit_test(crowded_pools_sleep),
      cmocka_unit_test(an_idle_section_lets_them_sleep),
      cmocka_unit_test(a_forgotten_end_holds_nothing_up),
      cmocka_unit_test(threads_have_sections_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
