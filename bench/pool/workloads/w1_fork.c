/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w1_fork.c - W1: what a loop costs that does nothing, back to back. */
#include <stdio.h>

#include "measure.h"

enum { BATCH = 32 };

/* Batches hide the clock from the median; the loops that are slow show one by one only. */
static void measure_size(const bench_run *run, size_t n) {
  bench_samples batches = {0}, singles = {0};
  char column[32];
  for (double end = bench_now() + 10e6; bench_now() < end;) run->pool->loop(n, bench_unit_empty, NULL);
  for (double a = bench_now(), begin = a; a - begin < 60e6;) {
    int loops = batches.n == 0 ? 1 : BATCH;
    for (int k = 0; k < loops; k++) run->pool->loop(n, bench_unit_empty, NULL);
    double b = bench_now();
    bench_samples_add(&batches, (b - a - bench_clock_cost()) / loops);
    if (batches.n == 1 && b - a > 1e6) break; /* batches would take too long */
    a = bench_now();
  }
  bench_repeat(bench_loop_body(&(bench_loop){run->pool, n, bench_unit_empty, NULL}), 5, 60, &singles);
  bench_samples *best = batches.n > 1 ? &batches : &singles;
  snprintf(column, sizeof column, "n=%zu ns", n);
  bench_report_less(column, bench_samples_quantile(best, 0.5));
  bench_report_less("p99", bench_samples_quantile(&singles, 0.99));
  bench_samples_free(&batches);
  bench_samples_free(&singles);
}

static void measure(const bench_run *run) {
  measure_size(run, 2);
  measure_size(run, 16);
  measure_size(run, 256);
}

const bench_workload bench_w1_fork[] = {{"W1", "empty loops back to back", BENCH_NEEDS_LOOP, 1, measure}, {0}};
