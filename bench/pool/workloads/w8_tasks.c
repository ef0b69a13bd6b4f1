/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w8_tasks.c - W8: a million tasks submitted one by one by one thread, which then waits; and how
 * many of them ran inside submit. Where those are most of them, the rate is one of function calls: its own column. */
#include "measure.h"

static _Thread_local int submitting;
static size_t inside; /* counted by the thread that submits */

void bench_submits(int on) { submitting = on; }

static void count_inside(void *ctx, size_t i) {
  (void)ctx, (void)i;
  if (submitting) inside++;
}

static double rate(void (*tasks)(const bench_call *, size_t), size_t n) {
  bench_call call = {bench_unit_empty, NULL, 0};
  double begin = bench_now();
  tasks(&call, n);
  return (double)n * 1e3 / (bench_now() - begin);
}

static void measure(const bench_run *run) {
  enum { N = 1000000, FEW = 100000 };
  run->pool->tasks(&(bench_call){count_inside, NULL, 0}, FEW);
  double percent = 100.0 * (double)inside / FEW;
  bench_report_fact("inside submit %", percent);
  bench_report_more(percent < 50 ? "M tasks/s" : "M calls/s", rate(run->pool->tasks, N));
  if (run->pool->tasks_held) bench_report_more("with handles M tasks/s", rate(run->pool->tasks_held, N));
}

const bench_workload bench_w8_tasks[] = {{"W8", "a million single tasks", BENCH_NEEDS_TASKS, 1, measure}, {0}};
