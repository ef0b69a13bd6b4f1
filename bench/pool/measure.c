/* SPDX-License-Identifier: Apache-2.0
 * bench/pool/measure.c - clocks, units of known length, samples. */
#define _GNU_SOURCE
#include "measure.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static double ns_per_tick = 1, clock_cost, steps_per_ns = 1;

static double clock_ns(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#if defined(__x86_64__)
static double ticks(void) { return (double)__rdtsc(); }
#else
static double ticks(void) { return clock_ns(CLOCK_MONOTONIC); }
#endif

double bench_now(void) { return ticks() * ns_per_tick; }
double bench_clock_cost(void) { return clock_cost; }
double bench_cpu_now(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

void bench_sleep_ms(double ms) {
  struct timespec t = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (double)(time_t)(ms / 1e3)) * 1e6)};
  while (nanosleep(&t, &t) != 0) continue;
}

int bench_usable_cpus(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* A chain of dependent multiplications: no memory, no vector units, the same speed next to a busy sibling. */
void bench_spin(uint64_t steps) {
  uint64_t x = steps;
  for (uint64_t i = 0; i < steps; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(x));
  }
}

uint64_t bench_steps(double ns) { return (uint64_t)(ns * steps_per_ns + 0.5); }

void bench_calibrate(void) {
  double c0 = clock_ns(CLOCK_MONOTONIC), t0 = ticks(), c1;
  do c1 = clock_ns(CLOCK_MONOTONIC);
  while (c1 - c0 < 20e6);
  ns_per_tick = (c1 - c0) / (ticks() - t0);

  bench_samples cost = {0}, spin = {0};
  for (int i = 0; i < 1001; i++) {
    double a = bench_now(), b = bench_now();
    bench_samples_add(&cost, b - a);
  }
  for (int i = 0; i < 101; i++) {
    double a = bench_now();
    bench_spin(10000);
    bench_samples_add(&spin, bench_now() - a);
  }
  clock_cost = bench_samples_quantile(&cost, 0.5);
  steps_per_ns = 10000 / bench_samples_quantile(&spin, 0.25);
  bench_samples_free(&cost);
  bench_samples_free(&spin);
}

void bench_unit_empty(void *ctx, size_t i) { (void)ctx, (void)i; }

void bench_unit_same(void *ctx, size_t i) {
  (void)i;
  bench_spin(*(const uint64_t *)ctx);
}

void bench_unit_each(void *ctx, size_t i) { bench_spin(((const uint64_t *)ctx)[i]); }

void bench_samples_add(bench_samples *s, double v) {
  if (s->n == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 4096;
    s->v = realloc(s->v, s->cap * sizeof *s->v);
    if (s->v == NULL) abort();
  }
  s->v[s->n++] = v;
}

static int compare(const void *pa, const void *pb) {
  double a = *(const double *)pa, b = *(const double *)pb;
  return (a > b) - (a < b);
}

double bench_samples_quantile(bench_samples *s, double q) {
  if (s->n == 0) return 0;
  qsort(s->v, s->n, sizeof *s->v, compare);
  return s->v[(size_t)(q * (double)(s->n - 1) + 0.5)];
}

double bench_samples_mean(const bench_samples *s) {
  double sum = 0;
  for (size_t i = 0; i < s->n; i++) sum += s->v[i];
  return s->n ? sum / (double)s->n : 0;
}

void bench_samples_free(bench_samples *s) {
  free(s->v);
  memset(s, 0, sizeof *s);
}

void bench_repeat(bench_body body, double warm_ms, double ms, bench_samples *out_times) {
  for (double end = bench_now() + warm_ms * 1e6; bench_now() < end;) body.fn(body.arg);
  double begin = bench_now(), t = begin;
  do {
    double a = bench_now();
    body.fn(body.arg);
    t = bench_now();
    bench_samples_add(out_times, t - a > clock_cost ? t - a - clock_cost : 0);
  } while (t - begin < ms * 1e6);
}

static void run_loop(void *arg) {
  const bench_loop *l = arg;
  if (l->pool)
    l->pool->loop(l->n, l->fn, l->ctx);
  else
    for (size_t i = 0; i < l->n; i++) l->fn(l->ctx, i);
}

bench_body bench_loop_body(bench_loop *loop) { return (bench_body){run_loop, loop}; }

/* CPU time, not wall time: with more threads than processors the pool's own workers, still spinning, would slow the
 * reference down. */
double bench_serial(bench_body body, double ms) {
  bench_samples times = {0};
  body.fn(body.arg);
  for (double end = bench_now() + ms * 1e6; bench_now() < end;) {
    double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    body.fn(body.arg);
    bench_samples_add(&times, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
  }
  double ns = bench_samples_quantile(&times, 0.5);
  bench_samples_free(&times);
  return ns;
}

double bench_median(bench_body body, double ms) {
  bench_samples times = {0};
  bench_repeat(body, ms / 10, ms, &times);
  double ns = bench_samples_quantile(&times, 0.5);
  bench_samples_free(&times);
  return ns;
}

bench_figures bench_against_serial(bench_body body, bench_body serial, double width, double ms) {
  enum { STRETCHES = 5, SERIAL_MS = 10 };
  bench_samples all = {0}, efficiencies = {0};
  double before = bench_serial(serial, SERIAL_MS);
  for (int k = 0; k < STRETCHES; k++) {
    bench_samples times = {0};
    bench_repeat(body, ms / STRETCHES / 10, ms / STRETCHES, &times);
    double after = bench_serial(serial, SERIAL_MS), ideal = (before + after) / 2 / width;
    bench_samples_add(&efficiencies, ideal / bench_samples_quantile(&times, 0.5));
    for (size_t i = 0; i < times.n; i++) bench_samples_add(&all, times.v[i]);
    bench_samples_free(&times);
    before = after;
  }
  bench_figures f = {bench_samples_quantile(&efficiencies, 0.5), bench_samples_quantile(&all, 0.5),
                     bench_samples_quantile(&all, 0.99), bench_samples_mean(&all)};
  bench_samples_free(&all);
  bench_samples_free(&efficiencies);
  return f;
}

void bench_report_less(const char *column, double value) { printf("%s|less|%.6g\n", column, value); }
void bench_report_fact(const char *column, double value) { printf("%s|fact|%.6g\n", column, value); }
void bench_report_more(const char *column, double value) { printf("%s|more|%.6g\n", column, value); }

uint64_t bench_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}
