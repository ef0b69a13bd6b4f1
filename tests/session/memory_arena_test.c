/* SPDX-License-Identifier: Apache-2.0
 * session/memory_arena_test.c - arenas over memories of providers: how they grow, use again, shrink, refuse; shared by
 * the sessions of an env. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "onyx/onyx.h"
#include "support/check.h"
#include "support/device_ep.h"
#include "support/device_memory.h"
#include "support/ep_models.h"
#include "support/ep_watch.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

static const char chain[] = HEAD "g (float[N,1024] x) => (float[N,1024] y) { a = Abs (x) b = Neg (a) y = Exp (b) }";
static const char weights[] =
    HEAD "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}> { a = Add (x, w) y = Mul (a, v) }";

enum { MB = 1 << 20 };

static ox_env *new_env(void) {
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_add_provider(env, device_ep()));
  CHECK_OK(ox_env_add_provider(env, device_ep_other()));
  return env;
}

static ox_memory *open_memory(ox_env *env, const char *strategy, const char *limit) {
  const char *keys[] = {"arena_extend_strategy", "gpu_mem_limit"}, *values[] = {strategy, limit};
  const ox_provider_spec spec = {"device", {2, keys, values}};
  ox_memory *m;
  CHECK_OK(ox_memory_open(env, &spec, NULL, &m));
  return m;
}

static ox_memory_stats stats_of(ox_memory *m) {
  ox_memory_stats s;
  ox_memory_get_stats(m, &s);
  return s;
}

static void *take(ox_memory *m, size_t bytes) {
  void *p;
  CHECK_OK(ox_memory_take(m, bytes, &p));
  assert_non_null(p);
  assert_true(device_memory_holds(p) && (uintptr_t)p % 256 == 0); /* as the provider's memory is aligned */
  return p;
}

static void test_how_it_grows(void **state) {
  (void)state;
  static const struct {
    const char *strategy;
    size_t total[4]; /* after blocks of 1 byte, 1 MB, 3 MB, 100 bytes */
  } rows[] = {{"kNextPowerOfTwo", {MB, 3 * MB, 7 * MB, 7 * MB}},
              {"kSameAsRequested", {256, 256 + MB, 256 + 4 * MB, 512 + 4 * MB}}};
  static const size_t sizes[] = {1, MB, 3 * MB, 100};
  ox_env *env = new_env();
  for (size_t r = 0; r < OX_COUNT(rows); r++) {
    ox_memory *m = open_memory(env, rows[r].strategy, "0");
    void *p[4];
    for (size_t i = 0; i < 4; i++) {
      p[i] = take(m, sizes[i]);
      assert_int_equal(stats_of(m).total, rows[r].total[i]);
    }
    ox_memory_stats s = stats_of(m);
    assert_int_equal(s.in_use, 512 + 4 * MB);
    assert_int_equal(s.max_alloc, 3 * MB);
    assert_int_equal(s.n_allocs, 4);
    assert_int_equal(s.limit, 0);
    for (size_t i = 0; i < 4; i++) ox_memory_give(m, p[i], sizes[i]);
    for (int turn = 0; turn < 3; turn++) /* used again: nothing more of the provider's */
      for (size_t i = 4; i-- > 0;) ox_memory_give(m, take(m, sizes[i]), sizes[i]);
    assert_int_equal(stats_of(m).total, rows[r].total[3]);
    assert_int_equal(stats_of(m).in_use, 0);
    assert_int_equal(stats_of(m).max_in_use, 512 + 4 * MB);
    ox_memory_shrink(m);
    assert_int_equal(stats_of(m).total, 0);
    assert_true(stats_of(m).n_shrinkages == s.n_extensions);
    ox_memory_release(m);
  }
  ox_env_release(env);
  assert_int_equal(atomic_load(&ep_watch.live), 0);
}

static void test_free_neighbours_are_one(void **state) {
  (void)state;
  static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}};
  ox_env *env = new_env();
  for (size_t i = 0; i < OX_COUNT(orders); i++) {
    ox_memory *m = open_memory(env, "kNextPowerOfTwo", "0");
    void *p[3];
    for (int k = 0; k < 3; k++) p[k] = take(m, MB / 4);
    for (int k = 0; k < 3; k++) ox_memory_give(m, p[orders[i][k]], MB / 4);
    void *whole = take(m, MB);
    assert_ptr_equal(whole, p[0]);
    assert_int_equal(stats_of(m).total, MB);
    ox_memory_give(m, whole, MB);
    ox_memory_release(m);
  }
  ox_env_release(env);
}

static void test_limits(void **state) {
  (void)state;
  ox_env *env = new_env();
  ox_memory *m = open_memory(env, "kNextPowerOfTwo", "3145728");
  void *a = take(m, 600 << 10), *b = take(m, 2 * MB), *none; /* 1 MB, then what is asked for, not 2 MB more */
  assert_int_equal(stats_of(m).total, 3 * MB);
  CHECK_FAILS(ox_memory_take(m, MB, &none), OX_LIMIT, "wanted 1048576 bytes; 2711552 are in use, the limit is 3145728");
  assert_null(none);
  ox_memory_give(m, b, 2 * MB);
  void *c = take(m, MB), *d = take(m, MB); /* pieces of what was given back */
  ox_memory_give(m, c, MB), ox_memory_give(m, d, MB), ox_memory_give(m, a, 600 << 10);
  void *all = take(m, 3 * MB); /* free regions go for it */
  ox_memory_give(m, all, 3 * MB);
  ox_memory_release(m);
  const char *keys[] = {"gpu_mem_limit"}, *values[] = {"-1"};
  const ox_provider_spec wrong = {"device", {1, keys, values}};
  CHECK_FAILS(ox_memory_open(env, &wrong, NULL, &m), OX_INVALID_ARGUMENT, "'gpu_mem_limit': wanted bytes, got '-1'");
  ox_env_release(env);
}

static ox_status *open_with(ox_env *env, const char *text, const char *limit, ox_memory *shared, ox_session **out) {
  const char *keys[] = {"no_bodies", "gpu_mem_limit"}, *values[] = {"1", limit};
  const ox_provider_spec spec = {"device", {limit ? 2 : 1, keys, values}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.providers = &spec, so.n_providers = 1;
  so.memories = &shared, so.n_memories = shared != NULL;
  return text_session(env, text, &so, out);
}

static ox_status *run(ox_env *env, ox_session *s, int64_t rows) {
  ep_inputs in;
  ep_outputs out;
  ep_inputs_make(env, s, rows, &in);
  ox_status *st = ep_run(s, &in, &out);
  if (!st) ep_outputs_free(&out);
  ep_inputs_free(&in);
  return st;
}

static void test_a_session_with_a_limit(void **state) {
  (void)state;
  ox_env *env = new_env();
  ox_session *s;
  ox_memory_stats stats;
  CHECK_OK(open_with(env, chain, "2097152", NULL, &s));
  for (int i = 0; i < 3; i++) CHECK_OK(run(env, s, 16));
  assert_int_equal(ox_session_memory_stats(s, "device", NULL, &stats), 1);
  assert_int_equal(stats.n_allocs, 1); /* the planned values; later runs take nothing */
  assert_int_equal(stats.limit, 2097152);
  CHECK_FAILS(run(env, s, 1024), OX_LIMIT, "the largest value is 'a' with 4194304 bytes");
  CHECK_OK(run(env, s, 16));
  ox_session_shrink(s);
  assert_int_equal(ox_session_memory_stats(s, "device", "far", &stats), 1);
  assert_int_equal(stats.total, 0);
  assert_int_equal(ox_session_memory_stats(s, "cpu", NULL, &stats), 0);
  CHECK_OK(run(env, s, 16));
  ox_session_release(s);
  CHECK_FAILS(open_with(env, weights, "256", NULL, &s), OX_LIMIT, "constant 'v'");
  ox_env_release(env);
  assert_int_equal(atomic_load(&ep_watch.live), 0);
}

static void test_sessions_share(void **state) {
  (void)state;
  ox_env *env = new_env();
  ox_memory *m = open_memory(env, "kNextPowerOfTwo", "0");
  ox_session *s[2];
  for (int i = 0; i < 2; i++) {
    CHECK_OK(open_with(env, weights, NULL, m, &s[i]));
    CHECK_OK(run(env, s[i], 1));
  }
  ox_memory_stats all = stats_of(m), one;
  assert_int_equal(all.n_extensions, 1);
  assert_int_equal(all.n_allocs, 6); /* two constants and the values, twice */
  assert_int_equal(ox_session_memory_stats(s[1], "device", NULL, &one), 1);
  assert_int_equal(one.n_allocs, 6);
  ox_memory_release(m); /* the sessions hold it */
  ox_session_release(s[0]);
  CHECK_OK(run(env, s[1], 1));
  ox_session_release(s[1]);
  ox_env_release(env);
  assert_int_equal(atomic_load(&ep_watch.live), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_how_it_grows),
                                     cmocka_unit_test(test_free_neighbours_are_one), cmocka_unit_test(test_limits),
                                     cmocka_unit_test(test_a_session_with_a_limit),
                                     cmocka_unit_test(test_sessions_share)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
