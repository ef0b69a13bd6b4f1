/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/adapters/gomp.c - OpenMP of the compiler (gcc: libgomp): static and dynamic loops, and dynamic ones whose
 * threads sleep at once. Each client thread gets a team of its own; inner loops are serial, OpenMP's default.
 * needs: omp.h -fopenmp */
#include <omp.h>
#include <stdlib.h>

#include "../pool_bench.h"

static int n_threads;

static int init(int threads, int clients) {
  (void)clients;
  n_threads = threads;
  return 1;
}

static void loop_static(size_t n, bench_fn fn, void *ctx) {
#pragma omp parallel for schedule(static) num_threads(n_threads)
  for (size_t i = 0; i < n; i++) fn(ctx, i);
}

static void loop_dynamic(size_t n, bench_fn fn, void *ctx) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads)
  for (size_t i = 0; i < n; i++) fn(ctx, i);
}

static void tasks(const bench_call *call, size_t n) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
  {
    bench_submits(1);
    for (size_t i = 0; i < n; i++) {
#pragma omp task firstprivate(call)
      call->fn(call->ctx, call->index);
    }
    bench_submits(0);
  }
}

static void graph_anew(const bench_dag *dag) {
  char *done = malloc(dag->n_nodes); /* addresses that stand for tasks */
  if (done == NULL) abort();
#pragma omp parallel num_threads(n_threads)
#pragma omp single
  for (uint32_t i = 0; i < dag->n_nodes; i++) {
    const bench_call *c = &dag->calls[i];
    if (i < dag->n_roots) {
#pragma omp task firstprivate(c) depend(out : done[i])
      c->fn(c->ctx, c->index);
    } else {
      uint32_t a = dag->parents[i][0], b = dag->parents[i][1];
#pragma omp task firstprivate(c) depend(in : done[a], done[b]) depend(out : done[i])
      c->fn(c->ctx, c->index);
    }
  }
  free(done);
}

static const bench_contender fixed = {
    .name = "gomp-static", .can = BENCH_NESTS | BENCH_CLIENTS, .init = init, .loop = loop_static};
static const bench_contender dynamic = {.name = "gomp-dyn",
                                        .can = BENCH_NESTS | BENCH_CLIENTS,
                                        .init = init,
                                        .loop = loop_dynamic,
                                        .tasks = tasks,
                                        .graph_anew = graph_anew};
static const bench_contender passive = {.name = "gomp-passive",
                                        .can = BENCH_NESTS | BENCH_CLIENTS,
                                        .env = "OMP_WAIT_POLICY=passive",
                                        .init = init,
                                        .loop = loop_dynamic,
                                        .tasks = tasks,
                                        .graph_anew = graph_anew};
const bench_contender *const bench_contenders[] = {&fixed, &dynamic, &passive, NULL};
