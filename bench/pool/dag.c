/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/dag.c - layered graphs of tasks, the same in every process. */
#include <stdlib.h>

#include "measure.h"

static void *zeroed(size_t n, size_t size) {
  void *p = calloc(n, size);
  if (p == NULL) abort();
  return p;
}

bench_dag *bench_dag_create(uint32_t layers, uint32_t width, bench_fn fn, void *ctx) {
  uint32_t n = layers * width;
  uint32_t(*parents)[2] = zeroed(n, sizeof *parents);
  uint32_t *begin = zeroed(n + 2, sizeof *begin), *children = zeroed(2 * (size_t)n, sizeof *children);
  bench_call *calls = zeroed(n, sizeof *calls);
  uint64_t seed = 88172645463325252u;
  for (uint32_t i = 0; i < n; i++) calls[i] = (bench_call){fn, ctx, i};
  for (uint32_t i = width; i < n; i++) {
    uint32_t layer = i / width - 1, a = (uint32_t)(bench_random(&seed) % width);
    uint32_t b = (a + 1 + (uint32_t)(bench_random(&seed) % (width - 1))) % width; /* never a itself */
    parents[i][0] = layer * width + a;
    parents[i][1] = layer * width + b;
    for (int k = 0; k < 2; k++) begin[parents[i][k] + 2]++;
  }
  /* begin[p + 1] is where the next child of p goes, and at last where those of p + 1 begin. */
  for (uint32_t i = 2; i <= n + 1; i++) begin[i] += begin[i - 1];
  for (uint32_t i = width; i < n; i++)
    for (int k = 0; k < 2; k++) children[begin[parents[i][k] + 1]++] = i;
  bench_dag *dag = zeroed(1, sizeof *dag);
  *dag = (bench_dag){n, width, (const uint32_t(*)[2])parents, begin, children, calls};
  return dag;
}

void bench_dag_destroy(bench_dag *dag) {
  free((void *)dag->parents);
  free((void *)dag->child_begin);
  free((void *)dag->children);
  free((void *)dag->calls);
  free(dag);
}
