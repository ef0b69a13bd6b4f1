/* SPDX-License-Identifier: Apache-2.0
 * task/grow_test.c - how many threads the default pool makes, of four that it may have. */
#if !defined(__linux__) /* nobody lists the threads of a process */
int main(void) { return 0; }
#else
#define _GNU_SOURCE
#include "task/grow.h"

#include <pthread.h>

#include "base/macros.h"
#include "support/census.h"
#include "task/backend.h"

/* Tiles that are long enough for the others to come, however busy the machine is: |want| threads at once, or for ten
 * seconds. */
typedef struct {
  uint32_t want, number;
  atomic_uint in; /* threads */
} meeting;

static meeting meeting_of(uint32_t want) {
  static atomic_uint meetings;
  return (meeting){.want = want, .number = atomic_fetch_add(&meetings, 1) + 1};
}

static ox_status *meet(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  static _Thread_local uint32_t last; /* where this thread was */
  meeting *m = ctx;
  (void)begin, (void)end, (void)worker;
  if (last != m->number) atomic_fetch_add(&m->in, 1), last = m->number;
  for (int i = 0; i < 10000 && atomic_load(&m->in) < m->want; i++) usleep(1000);
  return NULL;
}

static int loop_of(uint32_t cap, uint32_t want) {
  meeting m = meeting_of(want);
  ox_status *st = ox_task_for_max(ox_pool_default(), cap, 64, meet, &m);
  return st || m.in < want;
}

static int nothing(const void *arg) {
  (void)arg;
  return ox_pool_size(ox_pool_default()) != 4;
}
static int one(const void *arg) { return nothing(arg) || loop_of(1, 0); }
static int two(const void *arg) {
  (void)arg;
  return loop_of(2, 2) || loop_of(2, 2);
}
static int all(const void *arg) {
  (void)arg;
  return loop_of(0, 4);
}
static int first_two_then_three(const void *arg) { return two(arg) || loop_of(3, 3); }

/* Loops of two within loops of two. */
static ox_status *nest(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) OX_TRY(ox_task_for_max(ox_pool_default(), 2, 16, meet, ctx));
  return NULL;
}
static int nested(const void *arg) {
  (void)arg;
  meeting m = meeting_of(2);
  return ox_task_for_max(ox_pool_default(), 2, 16, nest, &m) != NULL;
}

static ox_status *loop_in_a_node(void *payload, uint32_t unit) { return nest(payload, unit, unit + 1, 0); }
static int graph(const void *arg) {
  (void)arg;
  meeting m = meeting_of(2);
  ox_task_graph *g;
  ox_status *st = ox_task_graph_create(&g);
  for (uint32_t i = 0, node; i < 16 && !st; i++) st = ox_task_graph_add(g, loop_in_a_node, &m, 1, NULL, 0, &node);
  for (int i = 0; i < 4 && !st; i++) st = ox_task_graph_run_max(ox_pool_default(), 2, g);
  ox_task_graph_destroy(g);
  return st != NULL;
}

/* Two callers, with a helper each. The second stays, so as to be counted. */
typedef struct {
  meeting m;
  atomic_int done; /* 1: well, 2: with a status */
} second_caller;

static void *be_second(void *arg) {
  second_caller *c = arg;
  c->done = ox_task_for_max(ox_pool_default(), 2, 64, meet, &c->m) ? 2 : 1;
  while (pause() != 0) continue; /* for ever */
  return NULL;
}
static int callers(const void *arg) {
  (void)arg;
  static second_caller c;
  ox_pool *pool = ox_pool_default();
  pthread_t other;
  c.m = meeting_of(4);
  if (!pool || pthread_create(&other, NULL, be_second, &c) || ox_task_for_max(pool, 2, 64, meet, &c.m)) return 1;
  while (!c.done) usleep(1000);
  return c.done != 1 || c.m.in < 4;
}

static ox_status *count(void *payload, uint32_t unit) {
  (void)unit;
  atomic_fetch_add((atomic_int *)payload, 1);
  return NULL;
}
static int tasks(const void *arg) {
  (void)arg;
  atomic_int runs = 0;
  ox_task *t;
  ox_task_opts o = {.struct_size = sizeof o, .n_units = 1000, .fn = count, .payload = &runs};
  ox_status *st = ox_task_submit(ox_pool_default(), &o, &t);
  return st || ox_task_wait_release(t) || runs != 1000;
}
/* Nobody waits for it: a worker has to. */
static int calls(const void *arg) {
  (void)arg;
  static atomic_int runs;
  ox_task_opts o = {.struct_size = sizeof o, .n_units = 1, .flags = OX_TASK_ASYNC, .fn = count, .payload = &runs};
  if (ox_task_submit(ox_pool_default(), &o, NULL)) return 1;
  for (int i = 0; i < 5000 && !runs; i++) usleep(1000);
  return !runs;
}

/* Who asks for a size has it at once; what was never needed is not joined. */
static int resized(const void *arg) {
  if (ox_pool_resize(ox_pool_default(), 2) || ox_pool_size(ox_pool_default()) != 2) return 1;
  return two(arg);
}
static int grown_and_resized(const void *arg) {
  if (all(arg) || ox_pool_resize(NULL, 1) || loop_of(0, 1)) return 1;
  return ox_pool_resize(NULL, 3) || loop_of(3, 3);
}

static int forked(const void *arg) {
  int status;
  if (all(arg)) return 1;
  pid_t child = fork();
  if (child == 0) _exit(two(arg) || census_count(getpid()) != 2);
  return waitpid(child, &status, 0) != child || status != 0;
}

static void test_threads(void **state) {
  static const struct {
    const char *what;
    int (*fn)(const void *);
    int least, most;
  } rows[] = {
      {"nobody has used it", nothing, 1, 1},
      {"a loop of one", one, 1, 1},
      {"loops of two", two, 2, 2},
      {"a loop of all", all, 4, 4},
      {"of two, then of three", first_two_then_three, 3, 3},
      {"nested loops", nested, 2, 2},
      {"a graph with loops", graph, 2, 2},
      {"two callers", callers, 4, 4},
      {"tasks", tasks, 1, 4},
      {"a call", calls, 2, 2},
      {"made smaller before it had threads", resized, 2, 2},
      {"made smaller and larger", grown_and_resized, 3, 4},
      {"forked", forked, 4, 4},
  };
  (void)state;
  if (!CAN_COUNT_THREADS || ox_backend_of_build.run_loop || ox_backend_of_build.most_threads == 1) skip();
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    census c = census_take(rows[i].fn, NULL);
    if (c.most > rows[i].most || c.most < rows[i].least)
      fail_msg("%s: %d threads, not %d to %d", rows[i].what, c.most, rows[i].least, rows[i].most);
  }
}

int main(void) {
  setenv("ONYX_NUM_THREADS", "4", 1);
  setenv("ONYX_POOL_POLICY", "off", 1); /* who may be woken is woken */
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
