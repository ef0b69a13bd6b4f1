/* SPDX-License-Identifier: Apache-2.0
 * task/team_test.c - members of a team run at the same time on different threads; nobody waits for those who do not
 * come. */
#define _GNU_SOURCE
#include "task/team.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/pool_backend.h"
#include "task/system/thread.h"

enum { MOST = 8 };

typedef struct {
  atomic_uint calls, arrived, sizes; /* sizes: the sum */
  pthread_t thread[MOST];
} meeting;

/* Returns only when every member has come: would hang if they took turns. */
static void meet(void *ctx, uint32_t member, uint32_t size) {
  meeting *m = ctx;
  assert_true(member < size && size <= MOST);
  m->thread[member] = pthread_self();
  atomic_fetch_add(&m->calls, 1);
  atomic_fetch_add(&m->sizes, size);
  for (atomic_fetch_add(&m->arrived, 1); atomic_load(&m->arrived) < size;) ox_thread_yield();
}

/* Returns the team's size. */
static uint32_t hold(ox_pool *pool, uint32_t n) {
  meeting m = {0};
  ox_task_team(pool, n, meet, &m);
  uint32_t size = m.calls;
  assert_true(size >= 1 && m.sizes == size * size);
  assert_true(pthread_equal(m.thread[0], pthread_self()));
  for (uint32_t i = 0; i < size; i++)
    for (uint32_t k = 0; k < i; k++) assert_false(pthread_equal(m.thread[i], m.thread[k]));
  return size;
}

static void test_size_is_within_what_was_asked(void **state) {
  (void)state;
  static const struct {
    uint32_t threads, n, most;
  } rows[] = {{1, 0, 1}, {1, 5, 1}, {4, 1, 1}, {4, 2, 2}, {4, 0, 4}, {4, 4, 4}, {4, UINT32_MAX, 4}};
  assert_int_equal(hold(NULL, 3), 1);
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_pool *pool = test_pool(rows[i].threads);
    for (int k = 0; k < 200; k++) assert_true(hold(pool, rows[i].n) <= rows[i].most);
    ox_pool_destroy(pool);
  }
}

/* Workers that watch for work do come. */
static void test_teams_of_two_come_about(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  int pairs = 0, tries = 0;
  while (test_pool_has_company(pool) && !pairs && tries++ < 100000) pairs += hold(pool, 2) == 2;
  assert_true(pairs || !test_pool_has_company(pool));
  ox_pool_destroy(pool);
}

static ox_status *team_in_tile(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) hold(ctx, 0);
  return NULL;
}

/* Teams in the tiles of a loop compete for the same workers. */
static void test_teams_nest_in_loops(void **state) {
  (void)state;
  ox_pool *pool = test_pool(4);
  CHECK_OK(ox_task_for(pool, 100, team_in_tile, pool));
  ox_pool_destroy(pool);
}

static void *client(void *pool) {
  for (int i = 0; i < 300; i++) hold(pool, 0);
  return NULL;
}

static void test_clients_have_teams_at_once(void **state) {
  (void)state;
  ox_pool *pool = test_pool(4);
  pthread_t threads[3];
  for (size_t i = 0; i < OX_COUNT(threads); i++) assert_int_equal(pthread_create(&threads[i], NULL, client, pool), 0);
  for (size_t i = 0; i < OX_COUNT(threads); i++) pthread_join(threads[i], NULL);
  ox_pool_destroy(pool);
}

enum { WORKER_IN = 1, GO = 2 }; /* bits of a flag */

static ox_status *busy(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)begin, (void)end;
  atomic_uint *flag = ctx;
  if (!worker) { /* the other tile has been taken, or will not be */
    for (int i = 0; i < 1000 && !atomic_load(flag); i++) ox_thread_nap(1000);
    return NULL;
  }
  for (atomic_fetch_or(flag, WORKER_IN); !(atomic_load(flag) & GO);) ox_thread_yield();
  return NULL;
}

static void *busy_client(void *args) {
  void **a = args;
  CHECK_OK(ox_task_for(a[0], 2, busy, a[1]));
  return NULL;
}

/* The only worker is in a long tile: the team is of one, and soon. (OpenMP gives each client workers of its own.) */
static void test_busy_workers_stay_out(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  atomic_uint flag = 0;
  void *args[] = {pool, &flag};
  pthread_t t;
  assert_int_equal(pthread_create(&t, NULL, busy_client, args), 0);
  for (int i = 0; i < 1000 && !atomic_load(&flag); i++) ox_thread_nap(1000);
  bool worker_in = atomic_load(&flag) != 0;
  uint32_t size = hold(pool, 2);
  if (worker_in && test_pool_has_workers(pool)) assert_int_equal(size, 1);
  atomic_fetch_or(&flag, GO);
  pthread_join(t, NULL);
  ox_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_size_is_within_what_was_asked), cmocka_unit_test(test_teams_of_two_come_about),
      cmocka_unit_test(test_teams_nest_in_loops),           cmocka_unit_test(test_clients_have_teams_at_once),
      cmocka_unit_test(test_busy_workers_stay_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
