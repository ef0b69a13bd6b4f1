/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w3_small.c - W3: loops of 64 units of 1 us, against the same units run serially. */
#include "measure.h"

static void measure(const bench_run *run) {
  enum { N = 64 };
  uint64_t steps = bench_steps(1000);
  bench_samples times = {0};
  double before = bench_serial(N, bench_unit_same, &steps);
  bench_repeat_loop(run, N, bench_unit_same, &steps, 250, &times);
  double after = bench_serial(N, bench_unit_same, &steps), ideal = (before + after) / 2 / run->width;
  bench_report_more("efficiency %", 100 * ideal / bench_samples_quantile(&times, 0.5));
  bench_report_less("p99 us", bench_samples_quantile(&times, 0.99) / 1e3);
  bench_report_less("mean us", bench_samples_mean(&times) / 1e3);
  bench_samples_free(&times);
}

const bench_workload bench_w3_small = {"W3", "loops of 64 x 1 us", BENCH_NEEDS_LOOP, 1, measure};
