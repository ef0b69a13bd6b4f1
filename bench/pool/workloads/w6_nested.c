/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w6_nested.c - W6: a loop of 8 units that each run a loop of 64. */
#include "measure.h"

enum { OUTER = 8, INNER = 64 };

typedef struct nest {
  const bench_contender *pool;
  bench_fn fn;
  uint64_t steps;
} nest;

static void outer(void *ctx, size_t i) {
  nest *t = ctx;
  (void)i;
  t->pool->loop(INNER, t->fn, &t->steps);
}

static double median(const bench_run *run, nest *t) {
  bench_samples times = {0};
  bench_repeat_loop(run, OUTER, outer, t, 150, &times);
  double ns = bench_samples_quantile(&times, 0.5);
  bench_samples_free(&times);
  return ns;
}

static void measure(const bench_run *run) {
  nest empty = {run->pool, bench_unit_empty, 0}, busy = {run->pool, bench_unit_same, bench_steps(500)};
  bench_report_less("empty us", median(run, &empty) / 1e3);
  double ideal = bench_serial(OUTER * INNER, bench_unit_same, &busy.steps) / run->width;
  bench_report_more("0.5 us: eff %", 100 * ideal / median(run, &busy));
}

const bench_workload bench_w6_nested[] = {
    {"W6", "nested loops 8 x 64", BENCH_NEEDS_LOOP | BENCH_NEEDS_NESTS, 1, measure}, {0}};
