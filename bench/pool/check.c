/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/check.c - a pool that loses, repeats or misorders work is not measured. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"

enum { N = 1000, OUTER = 8, INNER = 64 };

static atomic_int seen[N];
static atomic_int wrong;

static void expect(const bench_run *run, const char *what, size_t n, int times) {
  for (size_t i = 0; i < n; i++) {
    if (atomic_exchange(&seen[i], 0) != times) atomic_store(&wrong, 1);
  }
  if (!atomic_load(&wrong)) return;
  fprintf(stderr, "%s: wrong results: %s\n", run->pool->name, what);
  exit(3);
}

static void mark(void *ctx, size_t i) {
  (void)ctx;
  atomic_fetch_add(&seen[i], 1);
}

static void mark_inner(void *ctx, size_t i) { atomic_fetch_add(&seen[*(const size_t *)ctx * INNER + i], 1); }

static void mark_outer(void *ctx, size_t i) {
  const bench_run *run = ctx;
  run->pool->loop(INNER, mark_inner, &i);
}

static void mark_node(void *ctx, size_t i) {
  const bench_dag *dag = *(bench_dag **)ctx;
  if (i >= dag->n_roots) {
    for (int k = 0; k < 2; k++) {
      if (atomic_load(&seen[dag->parents[i][k]]) == 0) atomic_store(&wrong, 1);
    }
  }
  atomic_fetch_add(&seen[i], 1);
}

static void check_graphs(const bench_run *run) {
  bench_dag *dag = NULL;
  dag = bench_dag_create(20, N / 20, mark_node, &dag);
  if (run->pool->graph_anew) {
    run->pool->graph_anew(dag);
    expect(run, "graph anew", N, 1);
  }
  if (run->pool->graph_prepare) {
    void *graph = run->pool->graph_prepare(dag);
    for (int round = 0; round < 3; round++) {
      run->pool->graph_run(graph);
      expect(run, "graph prepared", N, 1);
    }
    run->pool->graph_free(graph);
  }
  bench_dag_destroy(dag);
}

static void check_tasks(const bench_run *run, void (*tasks)(const bench_call *, size_t)) {
  tasks(&(bench_call){mark, NULL, 7}, N);
  if (atomic_load(&seen[7]) != N) atomic_store(&wrong, 1);
  atomic_store(&seen[7], 0);
  expect(run, "tasks", N, 0);
}

void bench_check(const bench_run *run) {
  const bench_contender *pool = run->pool;
  if (pool->loop) {
    pool->loop(N, mark, NULL);
    expect(run, "loop", N, 1);
    if (pool->can & BENCH_NESTS) {
      pool->loop(OUTER, mark_outer, (void *)run);
      expect(run, "nested loops", OUTER * INNER, 1);
    }
  }
  if (pool->tasks) check_tasks(run, pool->tasks);
  if (pool->tasks_held) check_tasks(run, pool->tasks_held);
  check_graphs(run);
}
