/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/workloads/w3_units.c - W3: loops of equal units; W4: of very unequal ones; W9: both while another process
 * wants the last processor too. All against the same units run serially. */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

enum { EQUAL = 64, UNEQUAL = 500 };

static bench_figures measure_loop(const bench_run *run, size_t n, bench_fn fn, uint64_t *steps, double ms) {
  bench_loop loop = {run->pool, n, fn, steps}, serial = {NULL, n, fn, steps};
  return bench_against_serial(bench_loop_body(&loop), bench_loop_body(&serial), run->width, ms);
}

static bench_figures measure_equal(const bench_run *run, double ms) {
  uint64_t steps = bench_steps(1000);
  return measure_loop(run, EQUAL, bench_unit_same, &steps, ms);
}

/* Pareto with exponent 1.2 from 1 us up to 150 us, 2.2 ms in all: a few units are most of the work. With this seed the
 * larger half costs 1.13 times the mean, so that a loop cut in two cannot do better. */
static bench_figures measure_unequal(const bench_run *run, double ms) {
  uint64_t steps[UNEQUAL], seed = 5433940266529422234u;
  for (int i = 0; i < UNEQUAL; i++) {
    double u = ((double)(bench_random(&seed) >> 11) + 1) / 9007199254740993.0;
    steps[i] = bench_steps(fmin(1000 * pow(u, -1 / 1.2), 150e3));
  }
  return measure_loop(run, UNEQUAL, bench_unit_each, steps, ms);
}

static void measure_w3(const bench_run *run) {
  bench_figures f = measure_equal(run, 250);
  bench_report_more("efficiency %", 100 * f.efficiency);
  bench_report_less("p99 us", f.p99 / 1e3);
  bench_report_less("mean us", f.mean / 1e3);
}

static void measure_w4(const bench_run *run) {
  bench_figures f = measure_unequal(run, 400);
  bench_report_less("x ideal", 1 / f.efficiency);
  bench_report_less("p99 x ideal", f.p99 / (f.median * f.efficiency));
}

/* A process that computes on the last processor, until its parent ends it or ends. */
static pid_t burn(void) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  cpu_set_t all, last;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CPU_ZERO(&last);
  if (sched_getaffinity(0, sizeof all, &all) == 0) {
    for (int i = 0; i < CPU_SETSIZE; i++) {
      if (!CPU_ISSET(i, &all)) continue;
      CPU_ZERO(&last);
      CPU_SET(i, &last);
    }
    sched_setaffinity(0, sizeof last, &last);
  }
  for (;;) bench_spin(1000000);
}

/* Of the whole processors, in %; the mean, because it is the rare long loops that hurt. */
static double mean_efficiency(const bench_figures *f) { return 100 * f->median * f->efficiency / f->mean; }

static void measure_w9(const bench_run *run) {
  bench_figures equal = measure_equal(run, 100), unequal = measure_unequal(run, 100);
  pid_t burner = burn();
  if (burner < 0) return;
  bench_sleep_ms(10);
  bench_figures equal_hurt = measure_equal(run, 250), unequal_hurt = measure_unequal(run, 300);
  kill(burner, SIGKILL);
  waitpid(burner, NULL, 0);
  bench_report_more("W3 eff %", mean_efficiency(&equal_hurt));
  bench_report_fact("slowdown", equal_hurt.mean / equal.mean);
  bench_report_less("W3 p99 us", equal_hurt.p99 / 1e3);
  bench_report_more("W4 eff %", mean_efficiency(&unequal_hurt));
  bench_report_fact("slowdown", unequal_hurt.mean / unequal.mean);
  bench_report_less("W4 p99 ms", unequal_hurt.p99 / 1e6);
}

const bench_workload bench_w3_units[] = {
    {"W3", "loops of 64 x 1 us", BENCH_NEEDS_LOOP, 1, measure_w3},
    {"W4", "loops of 500 units, 1 to 150 us", BENCH_NEEDS_LOOP, 1, measure_w4},
    {"W9", "W3 and W4 with a busy process on the last processor", BENCH_NEEDS_LOOP, 1, measure_w9},
    {0}};
