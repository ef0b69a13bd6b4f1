/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w8_tasks.c - W8: a million tasks submitted one by one by one thread, which then waits. */
#include "measure.h"

static void measure(const bench_run *run) {
  enum { N = 1000000 };
  bench_call call = {bench_unit_empty, NULL, 0};
  run->pool->tasks(&call, N / 50);
  double begin = bench_now();
  run->pool->tasks(&call, N);
  bench_report_more("M tasks/s", N * 1e3 / (bench_now() - begin));
}

const bench_workload bench_w8_tasks = {"W8", "a million single tasks", BENCH_NEEDS_TASKS, 1, measure};
