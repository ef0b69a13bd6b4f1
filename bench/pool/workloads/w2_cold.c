/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w2_cold.c - W2: the first loop after 5 ms without work, and what the waiting workers burn: while
 * the client pauses, and in the second after the last loop. The client sleeps. */
#include "measure.h"

enum { PAUSE_MS = 5, LOOPS = 80 };

typedef struct cost {
  double cpu, wall;
} cost;

static void measure_loop(const bench_run *run, size_t n, double ns, bench_samples *out_times, cost *pauses) {
  uint64_t steps = bench_steps(ns);
  bench_fn fn = ns > 0 ? bench_unit_same : bench_unit_empty;
  run->pool->loop(n, fn, &steps);
  for (int i = 0; i < LOOPS; i++) {
    double cpu = bench_cpu_now(), begin = bench_now();
    bench_sleep_ms(PAUSE_MS);
    pauses->cpu += bench_cpu_now() - cpu;
    pauses->wall += bench_now() - begin;
    begin = bench_now();
    run->pool->loop(n, fn, &steps);
    bench_samples_add(out_times, (bench_now() - begin) / 1e3);
  }
}

static void measure(const bench_run *run) {
  bench_samples empty = {0}, busy = {0};
  cost pauses = {0};
  measure_loop(run, 16, 0, &empty, &pauses);
  measure_loop(run, 2, 50e3, &busy, &pauses);
  double cpu = bench_cpu_now();
  bench_sleep_ms(1000);
  cpu = bench_cpu_now() - cpu;
  bench_report_less("16 empty us", bench_samples_quantile(&empty, 0.5));
  bench_report_less("p99", bench_samples_quantile(&empty, 0.99));
  bench_report_less("2 x 50 us: us", bench_samples_quantile(&busy, 0.5));
  bench_report_less("p99", bench_samples_quantile(&busy, 0.99));
  bench_report_less("CPU % in pauses", 100 * pauses.cpu / pauses.wall);
  bench_report_less("CPU ms in idle second", cpu / 1e6);
  bench_samples_free(&empty);
  bench_samples_free(&busy);
}

const bench_workload bench_w2_cold[] = {{"W2", "loops after 5 ms of idleness", BENCH_NEEDS_LOOP, 1, measure}, {0}};
