/* SPDX-License-Identifier: Apache-2.0
 * task/policy_test.c - the switch that turns policy off: who chooses, and that nothing of it is left then. */
#define _GNU_SOURCE
#include "task/policy.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/pool_backend.h"
#include "support/set_variable.h"
#include "task/wake.h"

static const char VARIABLE[] = "ONYX_POOL_POLICY";

static void options_and_environment_choose(void **state) {
  (void)state;
  static const struct {
    uint32_t option;
    const char *variable, *wanted;
  } rows[] = {
      {OX_POOL_POLICY_DEFAULT, NULL, "adaptive"},       {OX_POOL_POLICY_DEFAULT, "", "adaptive"},
      {OX_POOL_POLICY_DEFAULT, "adaptive", "adaptive"}, {OX_POOL_POLICY_DEFAULT, "off", "off"},
      {OX_POOL_POLICY_DEFAULT, "OFF", "adaptive"},      {OX_POOL_POLICY_DEFAULT, "off ", "adaptive"},
      {OX_POOL_POLICY_DEFAULT, "of", "adaptive"},       {OX_POOL_POLICY_ADAPTIVE, NULL, "adaptive"},
      {OX_POOL_POLICY_ADAPTIVE, "off", "adaptive"},     {OX_POOL_POLICY_OFF, NULL, "off"},
      {OX_POOL_POLICY_OFF, "adaptive", "off"},
  };
  const char *inherited = getenv(VARIABLE);
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    set_variable(VARIABLE, rows[i].variable);
    ox_pool *pool = test_pool_with((ox_pool_opts){.n_threads = 2, .policy = rows[i].option});
    if (strcmp(pool->policy->name, rows[i].wanted) != 0)
      fail_msg("row %d: %s, wanted %s", (int)i, pool->policy->name, rows[i].wanted);
    ox_pool_destroy(pool);
  }
  set_variable(VARIABLE, inherited);
}

static void others_are_refused(void **state) {
  (void)state;
  static const uint32_t bad[] = {OX_POOL_POLICY_OFF + 1, 1000, UINT32_MAX};
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    ox_pool_opts o = {.struct_size = sizeof o, .n_threads = 2, .policy = bad[i]};
    ox_pool *pool;
    CHECK_FAILS(ox_pool_create(&o, &pool), OX_INVALID_ARGUMENT, "policy");
    assert_null(pool);
    o.struct_size = offsetof(ox_pool_opts, policy); /* who does not know the option has not set it */
    CHECK_OK(ox_pool_create(&o, &pool));
    ox_pool_destroy(pool);
  }
}

static void both_answer_every_hook(void **state) {
  (void)state;
  static const ox_policy *const policies[] = {&ox_policy_adaptive, &ox_policy_off};
  enum { HOOKS = (sizeof(ox_policy) - offsetof(ox_policy, pool_made)) / sizeof(void (*)(void)) };
  for (size_t i = 0; i < OX_COUNT(policies); i++) {
    void (*hooks[HOOKS])(void);
    memcpy(hooks, &policies[i]->pool_made, sizeof hooks);
    for (size_t k = 0; k < HOOKS; k++)
      if (!hooks[k]) fail_msg("%s: hook %d is missing", policies[i]->name, (int)k);
  }
  assert_int_equal(ox_policy_off.pool_bytes + ox_policy_off.worker_bytes, 0);
}

static ox_status *tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  atomic_fetch_add((atomic_int *)ctx, (int)(end - begin));
  return NULL;
}

/* A loop of 16 short tiles that finds the pool's only worker asleep. Returns how many wakes it took. */
static uint64_t wakes_of_a_short_loop(ox_pool *pool, atomic_int *tiles) {
  usleep(2000); /* longer than loops add up */
  while (!ox_pool_any_asleep(pool)) usleep(100);
  uint64_t before = pool->wakes;
  CHECK_OK(ox_task_for(pool, 16, tile, tiles));
  return pool->wakes - before;
}

enum { ROUNDS = 20 };

static void without_policy_all_work_wakes(void **state) {
  (void)state;
  ox_pool *pool = test_pool_with((ox_pool_opts){.n_threads = 2, .policy = OX_POOL_POLICY_OFF});
  atomic_int tiles = 0;
  if (test_pool_has_workers(pool)) {
    for (int i = 0; i < ROUNDS; i++) assert_int_equal(wakes_of_a_short_loop(pool, &tiles), 1);
    assert_int_equal(tiles, ROUNDS * 16);
  }
  ox_pool_destroy(pool);
}

static void with_it_short_loops_do_not(void **state) {
  (void)state;
  ox_pool *pool = test_pool_with((ox_pool_opts){.n_threads = 2, .policy = OX_POOL_POLICY_ADAPTIVE});
  atomic_int tiles = 0;
  uint64_t least = test_pool_has_workers(pool) ? 1 : 0;
  for (int i = 0; i < 50 * ROUNDS && least; i++) { /* while the machine is busy with something else they may be long */
    (void)wakes_of_a_short_loop(pool, &tiles);     /* learns */
    least = wakes_of_a_short_loop(pool, &tiles);
  }
  assert_int_equal(least, 0);
  ox_pool_destroy(pool);
}

static void without_policy_nobody_watches(void **state) {
  (void)state;
  for (uint32_t policy = OX_POOL_POLICY_ADAPTIVE; policy <= OX_POOL_POLICY_OFF; policy++) {
    ox_pool *pool = test_pool_with((ox_pool_opts){.n_threads = 2, .spin_us = 60 * 1000 * 1000, .policy = policy});
    atomic_int tiles = 0;
    if (test_pool_has_workers(pool) && !pool->executor.run) { /* whose threads do not run until there is work */
      bool slept = false;
      for (int i = 0; i < 100 && !slept; i++) {
        CHECK_OK(ox_task_for(pool, 16, tile, &tiles));
        usleep(policy == OX_POOL_POLICY_OFF ? 10000 : 1000);
        slept = ox_pool_any_asleep(pool);
      }
      assert_int_equal(slept, policy == OX_POOL_POLICY_OFF);
    }
    ox_pool_destroy(pool);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_and_environment_choose), cmocka_unit_test(others_are_refused),
      cmocka_unit_test(both_answer_every_hook),         cmocka_unit_test(without_policy_all_work_wakes),
      cmocka_unit_test(with_it_short_loops_do_not),     cmocka_unit_test(without_policy_nobody_watches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
