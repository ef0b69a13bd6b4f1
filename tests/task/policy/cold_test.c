/* SPDX-License-Identifier: Apache-2.0
 * task/policy/cold_test.c - new loops wake, known short ones do not, long ones and many short ones do. */
#include "task/policy/cold.h"

#include <string.h>

#include "support/check.h"

/* Never called. A fixed number: with real addresses, which change from run to run, two loops may share a row. */
static const ox_tile_fn nothing = (ox_tile_fn)(uintptr_t)0x1000;

static uint64_t now = 1000000000; /* the test's own clock */

/* A loop of 10 blocks, |ran| of which the caller runs in |ns|. */
static bool loop(ox_cold *cold, uintptr_t ctx, int64_t n, uint64_t ns, uint32_t ran) {
  ox_loop_note l;
  bool woke = ox_cold_begin(cold, nothing, (void *)ctx, n, now, &l);
  now += ns;
  ox_cold_end(cold, &l, ran, 10, now);
  return woke;
}

static void loops_are_remembered_by_length(void **state) {
  (void)state;
  static ox_cold cold;
  memset(&cold, 0, sizeof cold);
  const uintptr_t a = 0x100, b = 0x200;
  assert_true(loop(&cold, a, 10, 0, 10)); /* never seen */
  assert_false(loop(&cold, a, 10, 0, 10));
  assert_true(loop(&cold, b, 10, 0, 10)); /* another context */
  assert_true(loop(&cold, a, 11, 0, 10)); /* another size */
  assert_false(loop(&cold, a, 10, 0, 10));
  assert_true(loop(&cold, b, 20, 2000000, 10));
  assert_true(loop(&cold, b, 20, 0, 10));  /* it was long */
  assert_false(loop(&cold, b, 20, 0, 10)); /* and is short now */
  assert_true(loop(&cold, b, 30, 60000, 1));
  assert_true(loop(&cold, b, 30, 0, 1)); /* we ran a tenth of it */
}

static void short_loops_add_up(void **state) {
  (void)state;
  static ox_cold cold;
  memset(&cold, 0, sizeof cold);
  int woke = 0;
  const uintptr_t ctx = 0x300;
  (void)loop(&cold, ctx, 10, 10000, 10);
  for (int i = 0; i < 40; i++) woke += loop(&cold, ctx, 10, 10000, 10);
  assert_int_equal(woke, 5);     /* every seventh, as lengths are rounded down */
  for (int i = 0; i < 10; i++) { /* with pauses in between they do not */
    now += 1100000;
    assert_false(loop(&cold, ctx, 10, 10000, 10));
  }
}

static void the_limit_follows_the_wake(void **state) {
  (void)state;
  static ox_cold cold;
  memset(&cold, 0, sizeof cold);
  const uintptr_t ctx = 0x300;
  for (int i = 0; i < 100; i++) ox_cold_woken(&cold, UINT64_MAX); /* clamped */
  assert_in_range(atomic_load(&cold.wake_ns), 90000, 110000);
  for (int i = 0; i < 100; i++) ox_cold_woken(&cold, 1000);
  assert_in_range(atomic_load(&cold.wake_ns), 900, 1100);
  assert_true(loop(&cold, ctx, 10, 20000, 10));
  assert_true(loop(&cold, ctx, 10, 20000, 10)); /* 20 us are long where a wake takes 1 */
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_are_remembered_by_length),
      cmocka_unit_test(short_loops_add_up),
      cmocka_unit_test(the_limit_follows_the_wake),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
