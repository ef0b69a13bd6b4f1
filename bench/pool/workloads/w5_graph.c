/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w5_graph.c - W5: 1000 tasks in 20 layers, each with two parents: built anew in every run, or
 * built once. */
#include "measure.h"

enum { LAYERS = 20, WIDTH = 50, N = LAYERS * WIDTH };

typedef struct graph {
  const bench_contender *pool;
  const bench_dag *dag;
  void *prepared;
} graph;

static void run_anew(void *arg) {
  const graph *g = arg;
  g->pool->graph_anew(g->dag);
}

static void run_prepared(void *arg) {
  const graph *g = arg;
  g->pool->graph_run(g->prepared);
}

static double median(void (*body)(void *), graph *g) {
  bench_samples times = {0};
  bench_repeat(body, g, 10, 120, &times);
  double ns = bench_samples_quantile(&times, 0.5);
  bench_samples_free(&times);
  return ns;
}

static void measure(const bench_run *run) {
  uint64_t steps = bench_steps(2000);
  bench_dag *empty = bench_dag_create(LAYERS, WIDTH, bench_unit_empty, NULL);
  bench_dag *busy = bench_dag_create(LAYERS, WIDTH, bench_unit_same, &steps);
  graph g = {run->pool, empty, NULL};
  double ideal = bench_serial(N, bench_unit_same, &steps) / run->width;
  if (run->pool->graph_anew) {
    bench_report_more("anew M tasks/s", N * 1e3 / median(run_anew, &g));
    g.dag = busy;
    bench_report_more("anew 2 us: eff %", 100 * ideal / median(run_anew, &g));
  }
  if (run->pool->graph_prepare) {
    g.prepared = run->pool->graph_prepare(empty);
    bench_report_more("prepared M tasks/s", N * 1e3 / median(run_prepared, &g));
    run->pool->graph_free(g.prepared);
    g.prepared = run->pool->graph_prepare(busy);
    bench_report_more("prepared 2 us: eff %", 100 * ideal / median(run_prepared, &g));
    run->pool->graph_free(g.prepared);
  }
  bench_dag_destroy(empty);
  bench_dag_destroy(busy);
}

const bench_workload bench_w5_graph[] = {{"W5", "graphs of 1000 tasks", BENCH_NEEDS_GRAPH, 1, measure}, {0}};
