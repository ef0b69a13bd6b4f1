/* SPDX-License-Identifier: Apache-2.0
 * task/policy/straggler_test.c - a worker whose processor is taken away in the middle of a block runs on the caller's,
 * and goes back. Taken away: a block pins its worker to the processor of a thread that does not stop, as another
 * program would. */
#define _GNU_SOURCE
#include "task/policy/straggler.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/pool_backend.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>

enum { MS = 1000 * 1000 };

static void spin_for(uint64_t ns) {
  uint64_t start = ox_thread_now_ns();
  while (ox_thread_now_ns() - start < ns) {
  }
}

static void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

/* Three threads that compute on one processor: the worker gets a quarter of it. */
enum { BURNERS = 3 };
static atomic_int burning;
static void *burn(void *cpu) {
  run_on(*(int *)cpu);
  while (atomic_load(&burning)) {
  }
  return NULL;
}

typedef struct place {
  int victim_cpu;
  bool sleeps;
  atomic_int began, worker_id;
  int ended_on; /* the worker's processor at the end of its block */
} place;

/* For 100 us, in the middle of which the burners' turns have just begun. */
static void wait_until_it_stands_still(int thread_id) {
  for (uint64_t last = 0, now; (now = ox_thread_cpu_ns_of(thread_id)) != last; last = now) spin_for(MS / 10);
}

/* Block 0 is the caller's, block 1 the worker's: nobody ends before both have begun. The worker's computes for 30 ms of
 * its own time, which the burners interrupt; the caller's ends while they do. */
static void straggle(place *p, bool on_worker) {
  atomic_fetch_add(&p->began, 1);
  while (atomic_load(&p->began) < 2) ox_thread_yield();
  if (!on_worker) {
    while (!atomic_load(&p->worker_id)) ox_thread_yield();
    wait_until_it_stands_still(p->worker_id);
    return;
  }
  if (!p->sleeps) run_on(p->victim_cpu);
  p->worker_id = ox_thread_id();
  if (p->sleeps) {
    ox_thread_nap(2 * MS);
  } else {
    uint64_t start = ox_thread_cpu_ns();
    while (ox_thread_cpu_ns() - start < 30 * MS) {
    }
  }
  p->ended_on = ox_thread_cpu();
}

static ox_status *straggle_in_loop(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  assert_int_equal(end - begin, 1);
  straggle(ctx, worker != 0);
  return NULL;
}
static ox_status *run_loop(ox_pool *pool, place *p) { return ox_task_for(pool, 2, straggle_in_loop, p); }

static ox_status *straggle_in_node(void *payload, uint32_t unit) {
  (void)unit;
  straggle(payload, ox_pool_thread_id() != 0);
  return NULL;
}
static ox_status *run_task(ox_pool *pool, place *p) {
  ox_task_opts o = {
      .struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = 2, .fn = straggle_in_node, .payload = p};
  ox_task *t;
  ox_status *st = ox_task_submit(pool, &o, &t);
  return st ? st : ox_task_wait_release(t);
}
static ox_status *run_graph(ox_pool *pool, place *p) {
  ox_task_graph *g;
  CHECK_OK(ox_task_graph_create(&g));
  for (int i = 0; i < 2; i++) CHECK_OK(ox_task_graph_add(g, straggle_in_node, p, 1, NULL, 0, NULL));
  ox_status *st = ox_task_graph_run(pool, g);
  ox_task_graph_destroy(g);
  return st;
}

/* Its mask, from inside: loops until the worker has a block. */
static ox_status *read_mask(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)begin, (void)end;
  ox_cpu_mask *m = ctx;
  if (worker)
    *m = ox_thread_mask();
  else
    spin_for(MS / 2);
  return NULL;
}

static ox_cpu_mask worker_mask(ox_pool *pool) {
  ox_cpu_mask m = {{0}}, none = {{0}};
  for (int i = 0; i < 1000 && !memcmp(&m, &none, sizeof m); i++) CHECK_OK(ox_task_for(pool, 2, read_mask, &m));
  return m;
}

static bool may_run_on(ox_pool *pool, int cpu) { return worker_mask(pool).bits[cpu / 64] >> cpu % 64 & 1; }

static uint64_t pulls(const ox_pool *pool) {
  ox_pool_stats s = {.struct_size = sizeof s};
  ox_pool_get_stats(pool, &s);
  return s.pulls;
}

/* Two processors this process may use, and a pool that may use both. */
static ox_pool *two(int cpus[2]) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  int n = 0;
  for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
    if (CPU_ISSET(i, &set)) cpus[n++] = i;
  ox_pool *pool = test_pool_with((ox_pool_opts){.n_threads = 2});
  if (n == 2 && test_pool_has_workers(pool) && !pool->executor.run) return pool;
  ox_pool_destroy(pool);
  return NULL;
}

static void check_pull(ox_status *(*run)(ox_pool *, place *)) {
  int cpus[2];
  ox_pool *pool = two(cpus);
  if (!pool) skip();
  ox_cpu_mask before = ox_thread_mask();
  run_on(cpus[0]);
  pthread_t burners[BURNERS];
  burning = 1;
  for (int i = 0; i < BURNERS; i++) assert_int_equal(pthread_create(&burners[i], NULL, burn, &cpus[1]), 0);
  place p = {.victim_cpu = cpus[1]};
  for (int i = 0; i < (test_pool_has_policy(pool) ? 20 : 1) && !pulls(pool); i++) {
    p.began = p.worker_id = 0;
    CHECK_OK(run(pool, &p));
  }
  uint64_t pulled = pulls(pool);
  burning = 0;
  for (int i = 0; i < BURNERS; i++) pthread_join(burners[i], NULL);
  assert_int_equal(pulled > 0, test_pool_has_policy(pool));
  assert_int_equal(p.ended_on, cpus[!pulled]);
  assert_true(may_run_on(pool, cpus[1])); /* not on cpus[0] alone; there, perhaps not: wakers avoid their own */
  (void)ox_thread_avoid_cpu(0, &before, -1);
  ox_pool_destroy(pool);
}

static void a_worker_without_processor_is_pulled(void **state) { (void)state, check_pull(run_loop); }
static void so_is_one_with_a_node(void **state) { (void)state, check_pull(run_graph); }
static void so_is_one_with_a_unit(void **state) { (void)state, check_pull(run_task); }

/* Looks the same from outside, does no harm: it goes back too. */
static void a_sleeping_block_goes_back_too(void **state) {
  (void)state;
  int cpus[2];
  ox_pool *pool = two(cpus);
  if (!pool) skip();
  ox_cpu_mask before = ox_thread_mask();
  run_on(cpus[0]);
  place p = {.sleeps = true};
  CHECK_OK(run_loop(pool, &p));
  assert_true(may_run_on(pool, cpus[1]));
  (void)ox_thread_avoid_cpu(0, &before, -1);
  ox_pool_destroy(pool);
}

/* Where the user said where workers run, they stay. */
static void affinity_is_kept(void **state) {
  (void)state;
  int cpus[2];
  ox_pool *probe = two(cpus);
  if (!probe) skip();
  ox_pool_destroy(probe);
  char where[16];
  snprintf(where, sizeof where, "%d", cpus[1] + 1); /* counts from 1 */
  ox_pool *pool = test_pool_with((ox_pool_opts){.n_threads = 2, .affinity = where});
  place p = {.sleeps = true};
  CHECK_OK(run_loop(pool, &p));
  assert_int_equal(pulls(pool), 0);
  ox_cpu_mask mask = worker_mask(pool);
  assert_true(mask.bits[cpus[1] / 64] == (uint64_t)1 << cpus[1] % 64);
  ox_pool_destroy(pool);
}
#else
static void so_is_one_with_a_node(void **state) {
  (void)state;
  skip();
}
static void so_is_one_with_a_unit(void **state) {
  (void)state;
  skip();
}
static void a_worker_without_processor_is_pulled(void **state) {
  (void)state;
  skip();
}
static void a_sleeping_block_goes_back_too(void **state) {
  (void)state;
  skip();
}
static void affinity_is_kept(void **state) {
  (void)state;
  skip();
}
#endif

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_worker_without_processor_is_pulled),
      cmocka_unit_test(so_is_one_with_a_node),
      cmocka_unit_test(so_is_one_with_a_unit),
      cmocka_unit_test(a_sleeping_block_goes_back_too),
      cmocka_unit_test(affinity_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
