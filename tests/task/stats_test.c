/* SPDX-License-Identifier: Apache-2.0
 * task/stats_test.c - profiles: what happened between two points, and no more. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"
#include "task/pool.h"

static ox_status *tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)ctx, (void)begin, (void)end, (void)worker;
  for (volatile int i = 0; i < 20000; i++) {
  }
  return NULL;
}
static void loops(ox_pool *pool, int n) {
  for (int i = 0; i < n; i++) CHECK_OK(ox_task_for(pool, 32, tile, NULL));
}

static ox_pool_stats start(ox_pool *pool) {
  ox_pool_stats s = {.struct_size = sizeof s};
  ox_pool_profile_start(pool, &s);
  return s;
}

static void nothing_runs_on_no_pool(void **state) {
  (void)state;
  ox_pool_stats s = start(NULL);
  loops(NULL, 3);
  ox_pool_profile_stop(NULL, &s);
  assert_int_equal(s.struct_size, sizeof s);
  assert_int_equal(s.n_threads, 1);
  assert_int_equal(s.loops + s.claims + s.steals + s.units + s.sleeps + s.wakes + s.wait_ns + s.run_ns + s.pulls, 0);
  assert_true(s.time_ns > 0);
}

static void a_profile_counts_what_it_saw(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 4; n++) {
    ox_pool *pool = test_pool(n);
    uint64_t counted = ox_pool_size(pool) > 1; /* on one thread loops are function calls */
    loops(pool, 7);
    ox_pool_stats outer = start(pool);
    loops(pool, 5);
    ox_pool_stats inner = start(pool);
    loops(pool, 11);
    ox_pool_profile_stop(pool, &inner);
    loops(pool, 3);
    ox_pool_profile_stop(pool, &outer);
    loops(pool, 9);
    assert_int_equal(inner.loops, 11 * counted);
    assert_int_equal(outer.loops, 19 * counted);
    assert_int_equal(outer.n_threads, ox_pool_size(pool));
    assert_true(outer.claims >= outer.loops && outer.claims <= outer.loops * 32);
    assert_true(inner.claims <= outer.claims && inner.run_ns <= outer.run_ns && inner.time_ns <= outer.time_ns);
    assert_true(outer.run_ns <= outer.time_ns * n);
    assert_int_equal(pool->profiles, 0);
    ox_pool_destroy(pool);
  }
}

/* Time is measured if somebody helps, which takes a free processor. */
static void time_is_measured_while_a_profile_is_on(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  ox_pool_stats off = {.struct_size = sizeof off}, on = {.struct_size = sizeof on};
  loops(pool, 100);
  ox_pool_get_stats(pool, &off);
  assert_int_equal(off.run_ns, 0);
  for (int i = 0; i < 500 && !on.run_ns; i++) {
    on = start(pool);
    loops(pool, 20);
    ox_pool_profile_stop(pool, &on);
  }
  assert_int_equal(on.run_ns > 0, test_pool_has_company(pool));
  ox_pool_destroy(pool);
}

static void older_callers_get_what_they_know(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  ox_pool_stats s;
  memset(&s, 0x5a, sizeof s);
  s.struct_size = offsetof(ox_pool_stats, run_ns);
  ox_pool_profile_start(pool, &s);
  loops(pool, 4);
  ox_pool_profile_stop(pool, &s);
  assert_int_equal(s.struct_size, offsetof(ox_pool_stats, run_ns));
  assert_int_equal(s.loops, ox_pool_size(pool) > 1 ? 4 : 0);
  assert_true(s.run_ns == 0x5a5a5a5a5a5a5a5a && s.time_ns == 0x5a5a5a5a5a5a5a5a);
  ox_pool_destroy(pool);
}

static void counters_survive_a_resize(void **state) {
  (void)state;
  if (!test_pool_resizes()) skip();
  ox_pool *pool = test_pool(4);
  ox_pool_stats before = {.struct_size = sizeof before}, after = before;
  loops(pool, 50);
  for (uint32_t n = 5; n >= 1; n--) {
    ox_pool_get_stats(pool, &before);
    CHECK_OK(ox_pool_resize(pool, n));
    ox_pool_get_stats(pool, &after);
    assert_true(after.claims >= before.claims && after.loops == before.loops && after.sleeps >= before.sleeps);
  }
  ox_pool_destroy(pool);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_runs_on_no_pool),
      cmocka_unit_test(a_profile_counts_what_it_saw),
      cmocka_unit_test(time_is_measured_while_a_profile_is_on),
      cmocka_unit_test(older_callers_get_what_they_know),
      cmocka_unit_test(counters_survive_a_resize),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
