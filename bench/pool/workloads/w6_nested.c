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

static void measure(const bench_run *run) {
  nest empty = {run->pool, bench_unit_empty, 0}, busy = {run->pool, bench_unit_same, bench_steps(500)};
  bench_loop loop = {run->pool, OUTER, outer, &empty}, serial = {NULL, OUTER * INNER, bench_unit_same, &busy.steps};
  bench_report_less("empty us", bench_median(bench_loop_body(&loop), 150) / 1e3);
  loop.ctx = &busy;
  bench_figures f = bench_against_serial(bench_loop_body(&loop), bench_loop_body(&serial), run->width, 150);
  bench_report_more("0.5 us: eff %", 100 * f.efficiency);
}

const bench_workload bench_w6_nested[] = {
    {"W6", "nested loops 8 x 64", BENCH_NEEDS_LOOP | BENCH_NEEDS_NESTS, 1, measure}, {0}};
