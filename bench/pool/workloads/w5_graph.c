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

static void run_serial(void *arg) {
  const bench_dag *dag = arg;
  for (uint32_t i = 0; i < dag->n_nodes; i++) dag->calls[i].fn(dag->calls[i].ctx, dag->calls[i].index);
}

static void measure(const bench_run *run) {
  uint64_t steps = bench_steps(2000);
  bench_dag *empty = bench_dag_create(LAYERS, WIDTH, bench_unit_empty, NULL);
  bench_dag *busy = bench_dag_create(LAYERS, WIDTH, bench_unit_same, &steps);
  bench_body serial = {run_serial, busy};
  if (run->pool->graph_anew) {
    graph g = {run->pool, empty, NULL};
    bench_report_more("anew M tasks/s", N * 1e3 / bench_median((bench_body){run_anew, &g}, 120));
    g.dag = busy;
    bench_figures f = bench_against_serial((bench_body){run_anew, &g}, serial, run->width, 120);
    bench_report_more("anew 2 us: eff %", 100 * f.efficiency);
  }
  if (run->pool->graph_prepare) {
    graph g = {run->pool, NULL, run->pool->graph_prepare(empty)};
    bench_report_more("prepared M tasks/s", N * 1e3 / bench_median((bench_body){run_prepared, &g}, 120));
    run->pool->graph_free(g.prepared);
    g.prepared = run->pool->graph_prepare(busy);
    bench_figures f = bench_against_serial((bench_body){run_prepared, &g}, serial, run->width, 120);
    bench_report_more("prepared 2 us: eff %", 100 * f.efficiency);
    run->pool->graph_free(g.prepared);
  }
  bench_dag_destroy(empty);
  bench_dag_destroy(busy);
}

const bench_workload bench_w5_graph[] = {{"W5", "graphs of 1000 tasks", BENCH_NEEDS_GRAPH, 1, measure}, {0}};
