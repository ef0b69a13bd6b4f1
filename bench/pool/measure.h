/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/measure.h - clocks, units of known length, samples, and what a workload prints. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "pool_bench.h"

/* Once per process: measures the clock and how fast bench_spin turns. */
void bench_calibrate(void);

/* Nanoseconds since some moment, by the cheapest clock there is. Two readings in a row differ by bench_clock_cost(). */
double bench_now(void);
double bench_clock_cost(void);
double bench_cpu_now(void); /* CPU time of the process in ns */
void bench_sleep_ms(double ms);
int bench_usable_cpus(void);

/* Computes for about |ns|; the work is fixed: whoever loses the processor meanwhile takes longer. */
uint64_t bench_steps(double ns);
void bench_spin(uint64_t steps);

/* Units: nothing; *(uint64_t *)ctx steps; ((uint64_t *)ctx)[i] steps. */
void bench_unit_empty(void *ctx, size_t i);
void bench_unit_same(void *ctx, size_t i);
void bench_unit_each(void *ctx, size_t i);

typedef struct bench_samples {
  double *v;
  size_t n, cap;
} bench_samples;
void bench_samples_add(bench_samples *s, double v);
double bench_samples_quantile(bench_samples *s, double q); /* sorts */
double bench_samples_mean(const bench_samples *s);
void bench_samples_free(bench_samples *s);

typedef struct bench_body {
  void (*fn)(void *arg);
  void *arg;
} bench_body;

/* Runs |body| for |warm_ms|, then for |ms|, and times each call. */
void bench_repeat(bench_body body, double warm_ms, double ms, bench_samples *out_times);

/* A loop as a body, by a pool or serially. |pool| NULL: serially. */
typedef struct bench_loop {
  const bench_contender *pool;
  size_t n;
  bench_fn fn;
  void *ctx;
} bench_loop;
bench_body bench_loop_body(bench_loop *loop);

/* Median ns of a body that is run for |ms|; and of one that runs in this thread alone. */
double bench_median(bench_body body, double ms);
double bench_serial(bench_body body, double ms);

typedef struct bench_figures {
  double efficiency;        /* 1: as fast as |width| processors could be; median of each stretch, median of stretches */
  double median, p99, mean; /* ns */
} bench_figures;

/* Stretches of |body|, |ms| in all, between stretches of the same work run serially: the machine's speed may drift. */
bench_figures bench_against_serial(bench_body body, bench_body serial, double width, double ms);

/* One figure: its column, and whether less or more is better. */
void bench_report_less(const char *column, double value);
void bench_report_more(const char *column, double value);
void bench_report_fact(const char *column, double value); /* neither */

/* Ends the process with an error if the pool loses, repeats or misorders work. */
void bench_check(const bench_run *run);

/* |layers| layers of |width| nodes; the two parents of a node are in the layer before. */
bench_dag *bench_dag_create(uint32_t layers, uint32_t width, bench_fn fn, void *ctx);
void bench_dag_destroy(bench_dag *dag);

/* A generator with a fixed seed: the same sequence in every process. */
uint64_t bench_random(uint64_t *state);

#endif
