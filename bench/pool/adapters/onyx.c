/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/adapters/onyx.c - the pool of onyx/task.h: as it comes, and with workers that watch for 10 ms. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "onyx/task.h"
#include "../pool_bench.h"

static ox_pool *pool;

static void must(ox_status *st) {
  if (st == NULL) return;
  fprintf(stderr, "onyx: a task failed\n");
  abort();
}

static int start(int threads, uint32_t spin_us) {
  ox_pool_opts opts = {.struct_size = sizeof opts, .n_threads = (uint32_t)threads, .spin_us = spin_us};
  return ox_pool_create(&opts, &pool) == NULL;
}

static int init(int threads, int clients) {
  (void)clients;
  return start(threads, 0);
}

static int init_latency(int threads, int clients) {
  (void)clients;
  return start(threads, 10000);
}

static void fini(void) { ox_pool_destroy(pool); }

static ox_status *run_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const bench_call *c = ctx;
  (void)worker;
  for (int64_t i = begin; i < end; i++) c->fn(c->ctx, (size_t)i);
  return NULL;
}

static void loop(size_t n, bench_fn fn, void *ctx) {
  bench_call c = {fn, ctx, 0};
  must(ox_task_for(pool, (int64_t)n, run_tiles, &c));
}

static ox_status *run_call(void *payload, uint32_t unit) {
  const bench_call *c = payload;
  (void)unit;
  c->fn(c->ctx, c->index);
  return NULL;
}

static ox_task *submit(const bench_call *c, ox_task *const *parents, uint32_t n_parents) {
  ox_task_opts opts = {.struct_size = sizeof opts, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = run_call};
  opts.payload = (void *)c;
  opts.parents = parents;
  opts.n_parents = n_parents;
  ox_task *task;
  must(ox_task_submit(pool, &opts, &task));
  return task;
}

static void tasks_held(const bench_call *call, size_t n) {
  ox_task **handles = malloc(n * sizeof(ox_task *));
  if (handles == NULL) abort();
  bench_submits(1);
  for (size_t i = 0; i < n; i++) handles[i] = submit(call, NULL, 0);
  bench_submits(0);
  for (size_t i = 0; i < n; i++) must(ox_task_wait_release(handles[i]));
  free(handles);
}

/* On a line of its own: whoever submits reads |pool|. */
static struct {
  _Alignas(128) atomic_size_t left;
  char rest[128 - sizeof(atomic_size_t)];
} counter;

static ox_status *run_counted(void *payload, uint32_t unit) {
  run_call(payload, unit);
  atomic_fetch_sub_explicit(&counter.left, 1, memory_order_release);
  return NULL;
}

static int none_left(void *ctx) {
  (void)ctx;
  return atomic_load_explicit(&counter.left, memory_order_acquire) == 0;
}

static void tasks(const bench_call *call, size_t n) {
  ox_task_opts opts = {.struct_size = sizeof opts, .flags = OX_TASK_ASYNC, .n_units = 1, .fn = run_counted};
  opts.payload = (void *)call;
  atomic_store(&counter.left, n);
  bench_submits(1);
  for (size_t i = 0; i < n; i++) must(ox_task_submit(pool, &opts, NULL));
  bench_submits(0);
  ox_pool_work_until(pool, none_left, NULL);
}

static void graph_anew(const bench_dag *dag) {
  ox_task **handles = malloc(dag->n_nodes * sizeof(ox_task *));
  if (handles == NULL) abort();
  for (uint32_t i = 0; i < dag->n_nodes; i++) {
    ox_task *parents[2] = {handles[dag->parents[i][0]], handles[dag->parents[i][1]]};
    handles[i] = submit(&dag->calls[i], parents, i < dag->n_roots ? 0 : 2);
  }
  for (uint32_t i = 0; i < dag->n_nodes; i++) {
    if (dag->child_begin[i] == dag->child_begin[i + 1])
      must(ox_task_wait_release(handles[i]));
    else
      ox_task_release(handles[i]);
  }
  free(handles);
}

static void *graph_prepare(const bench_dag *dag) {
  ox_task_graph *g;
  must(ox_task_graph_create(&g));
  for (uint32_t i = 0; i < dag->n_nodes; i++) {
    uint32_t node;
    must(ox_task_graph_add(g, run_call, (void *)&dag->calls[i], 1, dag->parents[i], i < dag->n_roots ? 0 : 2, &node));
  }
  return g;
}

static void graph_run(void *graph) { must(ox_task_graph_run(pool, graph)); }
static void graph_free(void *graph) { ox_task_graph_destroy(graph); }

#define ONYX(title, start)                                                                                        \
  {                                                                                                               \
    .name = title, .can = BENCH_NESTS | BENCH_CLIENTS, .init = start, .fini = fini, .loop = loop, .tasks = tasks, \
    .tasks_held = tasks_held, .graph_anew = graph_anew, .graph_prepare = graph_prepare, .graph_run = graph_run,   \
    .graph_free = graph_free                                                                                      \
  }
static const bench_contender plain = ONYX("onyx", init), latency = ONYX("onyx-latency", init_latency);
const bench_contender *const bench_contenders[] = {&plain, &latency, NULL};
