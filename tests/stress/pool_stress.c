/* SPDX-License-Identifier: Apache-2.0
 * stress/pool_stress.c - everything the task pool does, at once, for long. Clients submit tasks of all kinds while a
 * manager resizes the pool, changes its spinning and forks; in the end each unit must have run exactly once.
 * Environment: STRESS_TASKS (100000), STRESS_THREADS (64), STRESS_CLIENTS (4), STRESS_SEED (1). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "onyx/task.h"
#include "support/can_fork.h"

enum { MOST_CLIENTS = 64, BATCH = 64 };

typedef struct client {
  _Alignas(64) atomic_llong ran; /* units that ran and had to */
  _Alignas(64) ox_pool *pool;
  long long must; /* units that must run */
  long long tasks, most_tasks;
  atomic_llong shown; /* tasks, for the manager */
  uint64_t random;
  ox_task_graph *graph;
} client;

#define CHECK(cond, ...)                                                                                   \
  do {                                                                                                     \
    if (!(cond)) printf("%s:%d: %s: ", __FILE__, __LINE__, #cond), printf(__VA_ARGS__), puts(""), abort(); \
  } while (0)

static void check_ok(ox_status *st) { CHECK(!st, "%s", ox_status_message(st)); }
static void check_is(ox_status *st, ox_code code) {
  CHECK(ox_status_code(st) == code, "%s", ox_status_message(st));
  ox_status_free(st);
}

static uint32_t below(client *c, uint32_t n) {
  c->random ^= c->random << 13, c->random ^= c->random >> 7, c->random ^= c->random << 17;
  return (uint32_t)(c->random >> 33) % n;
}

static ox_task *submit(client *c, ox_unit_fn fn, void *payload, uint32_t n_units, ox_task *const *parents,
                       uint32_t n_parents, uint32_t flags) {
  ox_task *t;
  ox_task_opts o = {.struct_size = sizeof o, .flags = flags, .n_units = n_units, .fn = fn, .payload = payload};
  o.parents = parents, o.n_parents = n_parents;
  check_ok(ox_task_submit(c->pool, &o, &t));
  c->tasks++;
  return t;
}

static ox_status *bump(void *payload, uint32_t unit) {
  (void)unit;
  atomic_fetch_add_explicit(&((client *)payload)->ran, 1, memory_order_relaxed);
  return NULL;
}

/* --- Kinds of work ----------------------------------------------------------------------------------------------- */

static int all_ran(void *ctx) { return atomic_load(&((client *)ctx)->ran) == ((client *)ctx)->must; }

/* Nobody holds a handle; payloads are copies of a pointer. */
static ox_status *bump_copied(void *payload, uint32_t unit) { return bump(*(client **)payload, unit); }
static void unwatched_tasks(client *c) {
  for (int i = 0; i < BATCH; i++) {
    ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = bump_copied};
    o.payload = &c, o.payload_bytes = sizeof c;
    check_ok(ox_task_submit(c->pool, &o, NULL));
  }
  c->tasks += BATCH, c->must += BATCH;
  if (below(c, 4) == 0) ox_pool_work_until(c->pool, all_ran, c);
}

static void watched_tasks(client *c) {
  ox_task *tasks[BATCH];
  for (int i = 0; i < BATCH; i++) tasks[i] = submit(c, bump, c, 1, NULL, 0, OX_TASK_ASYNC);
  for (int i = 0; i < BATCH; i++)
    if (i % 2)
      check_ok(ox_task_wait_release(tasks[i]));
    else
      ox_task_release(tasks[i]);
  c->must += BATCH;
}

static void small_tasks(client *c) {
  for (int i = 0; i < BATCH; i++) CHECK(!submit(c, bump, c, 1, NULL, 0, 0), "not run at once");
  c->must += BATCH;
}

static void many_units(client *c) {
  uint32_t n = 1 + below(c, 300);
  check_ok(ox_task_wait_release(submit(c, bump, c, n, NULL, 0, OX_TASK_ASYNC)));
  c->must += n;
}

/* Each node is 1 + its parents' sum. */
typedef struct node {
  client *owner;
  struct node *parents[5];
  uint32_t n_parents;
  uint64_t value;
} node;
static ox_status *add_parents(void *payload, uint32_t unit) {
  node *n = payload;
  n->value = 1;
  for (uint32_t i = 0; i < n->n_parents; i++) n->value += n->parents[i]->value;
  return bump(n->owner, unit);
}
static void graph_of_tasks(client *c) {
  enum { LAYERS = 5, WIDTH = 7 };
  node nodes[LAYERS][WIDTH];
  uint64_t want[LAYERS][WIDTH];
  ox_task *tasks[LAYERS][WIDTH], *parents[5];
  for (int l = 0; l < LAYERS; l++)
    for (int w = 0; w < WIDTH; w++) {
      node *n = &nodes[l][w];
      *n = (node){.owner = c, .n_parents = l ? below(c, 6) : 0};
      want[l][w] = 1;
      for (uint32_t i = 0; i < n->n_parents; i++) {
        uint32_t from = below(c, WIDTH);
        parents[i] = tasks[l - 1][from], n->parents[i] = &nodes[l - 1][from], want[l][w] += want[l - 1][from];
      }
      tasks[l][w] = submit(c, add_parents, n, 1, parents, n->n_parents, OX_TASK_ASYNC);
    }
  for (int i = 0; i < LAYERS * WIDTH; i++) {
    int l = i / WIDTH, w = i % WIDTH;
    check_ok(ox_task_wait_release(tasks[l][w]));
    CHECK(nodes[l][w].value == want[l][w], "layer %d, node %d", l, w);
  }
  c->must += LAYERS * WIDTH;
}

/* A task that submits tasks and waits for them, three levels. */
typedef struct nest {
  client *owner;
  int depth;
} nest;
static ox_status *nested(void *payload, uint32_t unit) {
  nest *n = payload, inner = {n->owner, n->depth - 1};
  ox_task *tasks[3];
  ox_task_opts o = {.struct_size = sizeof o, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = nested, .payload = &inner};
  if (n->depth > 0) {
    for (int i = 0; i < 3; i++) check_ok(ox_task_submit(n->owner->pool, &o, &tasks[i]));
    for (int i = 0; i < 3; i++) check_ok(ox_task_wait_release(tasks[i]));
  }
  return bump(n->owner, unit);
}
static void nested_tasks(client *c) {
  nest top = {c, 2};
  ox_task *tasks[4];
  for (int i = 0; i < 4; i++) tasks[i] = submit(c, nested, &top, 1, NULL, 0, OX_TASK_ASYNC);
  for (int i = 0; i < 4; i++) check_ok(ox_task_wait_release(tasks[i]));
  c->tasks += 4 * 12, c->must += 4 * 13;
}

static ox_status *count_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  atomic_fetch_add_explicit(&((client *)ctx)->ran, end - begin, memory_order_relaxed);
  return NULL;
}
static ox_status *inner_loops(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  for (; begin < end; begin++) check_ok(ox_task_for(((client *)ctx)->pool, 10, count_tiles, ctx));
  return NULL;
}
static ox_status *loop_in_a_unit(void *payload, uint32_t unit) {
  (void)unit;
  return ox_task_for_max(((client *)payload)->pool, 3, 20, count_tiles, payload);
}
static void loops(client *c) {
  uint32_t n = below(c, 2000);
  check_ok(ox_task_for(c->pool, n, count_tiles, c));
  check_ok(ox_task_for(c->pool, 12, inner_loops, c));
  check_ok(ox_task_wait_release(submit(c, loop_in_a_unit, c, 4, NULL, 0, OX_TASK_ASYNC)));
  c->must += n + 12 * 10 + 4 * 20;
}

/* Its children cannot start before |go|, so those cancelled by then never run. */
static ox_status *wait_for_go(void *payload, uint32_t unit) {
  (void)unit;
  while (!atomic_load((atomic_int *)payload)) usleep(50);
  return NULL;
}
static void cancelled_tasks(client *c) {
  atomic_int go = 0;
  ox_task *gate = submit(c, wait_for_go, &go, 1, NULL, 0, OX_TASK_ASYNC), *tasks[BATCH];
  for (int i = 0; i < BATCH; i++) {
    tasks[i] = submit(c, bump, c, 1 + (uint32_t)i % 3, &gate, 1, 0);
    if (i % 4 == 0) ox_task_cancel(tasks[i]);
    if (i % 4) c->must += 1 + i % 3;
  }
  atomic_store(&go, 1);
  for (int i = 0; i < BATCH; i++) check_is(ox_task_wait_release(tasks[i]), i % 4 ? OX_OK : OX_CANCELLED);
  check_ok(ox_task_wait_release(gate));
}

static ox_status *fail_at_7(void *payload, uint32_t unit) {
  (void)payload;
  return unit == 7 ? ox_task_error(OX_LIMIT, "unit 7") : NULL;
}
static void failing_tasks(client *c) {
  ox_task *bad = submit(c, fail_at_7, NULL, 30, NULL, 0, OX_TASK_ASYNC);
  ox_task *child = submit(c, bump, c, 5, &bad, 1, 0), *anyway = submit(c, bump, c, 5, &bad, 1, OX_TASK_RUN_ANYWAY);
  ox_task *both[] = {child, anyway}, *barrier = submit(c, NULL, NULL, 0, both, 2, OX_TASK_TIMED);
  ox_task_release(child), ox_task_release(bad);
  check_is(ox_task_wait_release(barrier), OX_LIMIT);
  check_ok(ox_task_wait_release(anyway));
  c->must += 5;
}

/* Prepared once for each client, run many times; nodes count as tasks. */
static void prepared_graph(client *c) {
  enum { NODES = 40 };
  uint32_t ids[NODES], parents[3];
  if (!c->graph) {
    check_ok(ox_task_graph_create(&c->graph));
    for (uint32_t i = 0; i < NODES; i++) {
      uint32_t n_parents = i ? below(c, 4) : 0, n_units = i % 8 == 7 ? 20 : 1;
      for (uint32_t k = 0; k < n_parents; k++) parents[k] = ids[below(c, i)];
      check_ok(ox_task_graph_add(c->graph, bump, c, n_units, parents, n_parents, &ids[i]));
    }
  }
  int runs = 1 + (int)below(c, 5);
  for (int i = 0; i < runs; i++) check_ok(ox_task_graph_run(c->pool, c->graph));
  c->tasks += runs * NODES, c->must += runs * (NODES + NODES / 8 * 19);
}

static void (*const kinds[])(client *c) = {
    unwatched_tasks, watched_tasks, small_tasks,     many_units,      graph_of_tasks,
    nested_tasks,    loops,         unwatched_tasks, watched_tasks,   unwatched_tasks,
    cancelled_tasks, watched_tasks, failing_tasks,   unwatched_tasks, prepared_graph,
};

static void *run_client(void *p) {
  client *c = p;
  while (c->tasks < c->most_tasks) {
    kinds[below(c, sizeof kinds / sizeof *kinds)](c);
    atomic_store_explicit(&c->shown, c->tasks, memory_order_relaxed);
  }
  ox_pool_work_until(c->pool, all_ran, c);
  ox_task_graph_destroy(c->graph);
  return NULL;
}

/* --- The manager ------------------------------------------------------------------------------------------------- */

static client clients[MOST_CLIENTS];

/* The child has the pool but none of its threads. */
static int fork_once(ox_pool *pool) {
  pid_t pid = CAN_FORK ? fork() : -1;
  if (pid < 0) return 0;
  if (pid == 0) {
    static client c;
    alarm(100);
    c.pool = pool, c.random = 7, c.most_tasks = 3000;
    run_client(&c);
    _exit(atomic_load(&c.ran) == c.must ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  CHECK(status == 0, "a forked child ended with %#x", (unsigned)status);
  return 1;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long long env(const char *name, long long otherwise) {
  const char *text = getenv(name);
  return text && atoll(text) > 0 ? atoll(text) : otherwise;
}

static void manage(ox_pool *pool, uint32_t n_clients, uint32_t most_threads, long long n_tasks) {
  client random = {.random = (uint64_t)env("STRESS_SEED", 1) * 77777};
  long long done = 0, shown = 0, resizes = 0, forks = 0;
  double start = now(), forked = 0;
  while (done < n_tasks) {
    usleep(30000);
    done = 0;
    for (uint32_t i = 0; i < n_clients; i++) done += atomic_load_explicit(&clients[i].shown, memory_order_relaxed);
    check_ok(ox_pool_resize(pool, below(&random, 4) ? 1 + below(&random, most_threads) : most_threads));
    ox_pool_set_spin(pool, (uint32_t[]){0, OX_POOL_NO_SPIN, 5, 50}[below(&random, 4)]);
    resizes++;
    if (now() - forked > 0.2) forks += fork_once(pool), forked = now();
    if (done - shown > n_tasks / 10) shown = done, printf("%lld tasks, %.0f s\n", done, now() - start), fflush(stdout);
  }
  printf("%lld resizes, %lld forks\n", resizes, forks);
}

int main(void) {
  long long n_tasks = env("STRESS_TASKS", 100000), ran = 0, must = 0, tasks = 0;
  uint32_t n_threads = (uint32_t)env("STRESS_THREADS", 64), n_clients = (uint32_t)env("STRESS_CLIENTS", 4);
  if (n_clients > MOST_CLIENTS) n_clients = MOST_CLIENTS;
  pthread_t threads[MOST_CLIENTS];
  ox_pool *pool;
  ox_pool_opts o = {.struct_size = sizeof o, .n_threads = n_threads};
  check_ok(ox_pool_create(&o, &pool));
  double start = now();
  for (uint32_t i = 0; i < n_clients; i++) {
    clients[i].pool = pool, clients[i].most_tasks = n_tasks / n_clients + 1;
    clients[i].random = (uint64_t)env("STRESS_SEED", 1) * 1000003 + i + 1;
    if (pthread_create(&threads[i], NULL, run_client, &clients[i]) != 0) abort();
  }
  manage(pool, n_clients, n_threads, n_tasks);
  for (uint32_t i = 0; i < n_clients; i++) {
    pthread_join(threads[i], NULL);
    ran += atomic_load(&clients[i].ran), must += clients[i].must, tasks += clients[i].tasks;
  }
  double seconds = now() - start;
  ox_pool_destroy(pool);
  CHECK(ran == must, "%lld units ran, %lld had to", ran, must);
  printf("%lld tasks, %lld units in %.1f s (%.2f M tasks/s) on %u threads: each unit ran once\n", tasks, ran, seconds,
         (double)tasks / seconds * 1e-6, (unsigned)n_threads);
  return 0;
}
