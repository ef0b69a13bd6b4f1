/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w8_tasks.c - W8: a million tasks submitted one by one by one thread, which then waits; and how
 * many of them that thread ran itself: a pool that runs tasks inside submit times function calls. */
#include "measure.h"

static _Thread_local int submits;
static size_t own; /* counted by the thread that submits */

static void count_own(void *ctx, size_t i) {
  (void)ctx, (void)i;
  if (submits) own++;
}

static double rate(void (*tasks)(const bench_call *, size_t), size_t n) {
  bench_call call = {bench_unit_empty, NULL, 0};
  double begin = bench_now();
  tasks(&call, n);
  return (double)n * 1e3 / (bench_now() - begin);
}

static void measure(const bench_run *run) {
  enum { N = 1000000, FEW = 100000 };
  submits = 1;
  run->pool->tasks(&(bench_call){count_own, NULL, 0}, FEW);
  bench_report_more("M tasks/s", rate(run->pool->tasks, N));
  bench_report_less("run by submitter %", 100.0 * (double)own / FEW);
  if (run->pool->tasks_held) bench_report_more("with handles M tasks/s", rate(run->pool->tasks_held, N));
}

const bench_workload bench_w8_tasks[] = {{"W8", "a million single tasks", BENCH_NEEDS_TASKS, 1, measure}, {0}};
