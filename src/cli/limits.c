/* SPDX-License-Identifier: Apache-2.0
 * cli/limits.c - see limits.h. Compiled with -ffp-contract=fast: a product and a sum are one instruction where there is
 * one. */
#include "limits.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
  STEPS = 20000,
  ACCUMULATORS = 12, /* FMAs of 4 cycles, two or three a cycle, all in flight */
  LEAST_BYTES = 4 << 20,
  STEP_BYTES = 256 /* of a read, at most */
};

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* What goes through an empty asm may be any number to the compiler, so that it can neither fold equal accumulators into
 * one nor drop what is not read. */
#define EACH(statement) _Pragma("GCC unroll 12") for (int j = 0; j < ACCUMULATORS; j++) statement
#define HIDE(constraint, x) __asm__ volatile("" : "+" constraint(x))

#define DEFINE_FMA(name, target, bytes, constraint)                \
  typedef float name##_v __attribute__((vector_size(bytes)));      \
  target static void name(void *unused) {                          \
    (void)unused;                                                  \
    name##_v acc[ACCUMULATORS] = {0}, a = {0}, b = {0};            \
    HIDE(constraint, a);                                           \
    HIDE(constraint, b);                                           \
    EACH(HIDE(constraint, acc[j]));                                \
    for (int i = 0; i < STEPS; i++) EACH(acc[j] = acc[j] * a + b); \
    EACH(HIDE(constraint, acc[j]));                                \
  }

typedef struct {
  const char *data;
  size_t n, passes; /* a clock must not see single passes over small buffers */
} buffer;

#define DEFINE_READ(name, target, bytes, constraint)                              \
  typedef int64_t name##_v __attribute__((vector_size(bytes)));                   \
  target static void name(void *arg) {                                            \
    const buffer *b = arg;                                                        \
    name##_v sum[4] = {0};                                                        \
    for (size_t k = 0; k < b->passes; k++) {                                      \
      for (size_t i = 0; i < b->n; i += 4 * (bytes))                              \
        _Pragma("GCC unroll 4") for (size_t j = 0; j < 4; j++) sum[j] ^=          \
            *(const name##_v *)(const void *)(b->data + i + j * (bytes));         \
      __asm__ volatile("" ::: "memory");                                          \
    }                                                                             \
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) HIDE(constraint, sum[j]); \
  }

#if defined(__x86_64__)
#define TARGET(x) __attribute__((target(x)))
DEFINE_FMA(fma_sse, , 16, "x")
DEFINE_FMA(fma_avx2, TARGET("avx2,fma"), 32, "x")
DEFINE_FMA(fma_avx512, TARGET("avx512f"), 64, "v")
DEFINE_READ(read_sse, , 16, "x")
DEFINE_READ(read_avx2, TARGET("avx2"), 32, "x")
DEFINE_READ(read_avx512, TARGET("avx512f"), 64, "v")

TARGET("avx2") static __m256i dot_step(__m256i acc, __m256i a, __m256i b, __m256i ones) {
  HIDE("x", a); /* else all products are one */
  return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
}

TARGET("avx2") static void dot_avx2(void *unused) {
  (void)unused;
  __m256i acc[ACCUMULATORS], a = _mm256_setzero_si256(), b = a, ones = a;
  HIDE("x", b);
  HIDE("x", ones);
  EACH(acc[j] = a);
  EACH(HIDE("x", acc[j]));
  for (int i = 0; i < STEPS; i++) EACH(acc[j] = dot_step(acc[j], a, b, ones));
  EACH(HIDE("x", acc[j]));
}

TARGET("avx512f,avx512vnni") static void dot_vnni(void *unused) {
  (void)unused;
  __m512i acc[ACCUMULATORS], a = _mm512_setzero_si512(), b = a;
  HIDE("v", a);
  HIDE("v", b);
  EACH(acc[j] = a);
  EACH(HIDE("v", acc[j]));
  for (int i = 0; i < STEPS; i++) EACH(acc[j] = _mm512_dpbusd_epi32(acc[j], a, b));
  EACH(HIDE("v", acc[j]));
}
#else
DEFINE_FMA(fma_plain, , 16, "w")
DEFINE_READ(read_plain, , 16, "w")
#endif

typedef struct {
  void (*fma)(void *), (*read)(void *), (*dot)(void *);
  const char *name;
  double fma_lanes, dot_lanes; /* multiplications in a vector */
} level;

/* The highest level that the processor has and |cap| allows; dot is NULL where there is no such instruction. */
static level choose(const char *cap) {
  if (!cap) cap = "";
#if defined(__x86_64__)
  const level levels[] = {{fma_sse, read_sse, NULL, "sse", 4, 0},
                          {fma_avx2, read_avx2, dot_avx2, "avx2", 8, 32},
                          {fma_avx512, read_avx512, dot_avx2, "avx512", 16, 32},
                          {fma_avx512, read_avx512, dot_vnni, "avx512vnni", 16, 64}};
  const int have[] = {1, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
                      __builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512vnni")};
  int best = 0;
  for (int i = 0; i < 4 && have[i]; i++) {
    best = i;
    if (strcmp(cap, levels[i].name) == 0) break;
  }
  return levels[best];
#else
  return (level){fma_plain, read_plain, NULL, "plain", 4, 0};
#endif
}

/* ---- on several threads at once ---- */

typedef struct {
  void (*fn)(void *);
  buffer data;
  double start_ms, end_ms, best_ms;
  pthread_t thread;
} attempt;

/* The best of many short stretches: a limit is what is possible when nothing else runs. */
static void *try_for_a_while(void *arg) {
  attempt *a = arg;
  double begin = now_ms();
  while (begin < a->start_ms) begin = now_ms(); /* all start together */
  a->best_ms = 1e30;
  do {
    a->fn(&a->data);
    double stop = now_ms();
    if (stop - begin < a->best_ms) a->best_ms = stop - begin;
    begin = stop;
  } while (begin < a->end_ms);
  return NULL;
}

/* How often |amount| is done in a millisecond by all threads together; |data|: each has a part of it. */
static double per_ms(void (*fn)(void *), const buffer *data, double amount, const cli_limits_opts *o) {
  attempt *tries = calloc(o->n_threads, sizeof *tries);
  double sum = 0, start = now_ms() + (o->n_threads > 1 ? 1 : 0);
  uint32_t n = 0;
  if (!tries) return 0;
  for (uint32_t i = 0; i < o->n_threads; i++) {
    tries[i] = (attempt){.fn = fn, .start_ms = start, .end_ms = start + o->tries_ms};
    if (data) tries[i].data = *data, tries[i].data.data += data->n * i;
  }
  while (n + 1 < o->n_threads && !pthread_create(&tries[n].thread, NULL, try_for_a_while, &tries[n])) n++;
  try_for_a_while(&tries[n]);
  for (uint32_t i = 0; i < n; i++) pthread_join(tries[i].thread, NULL);
  for (uint32_t i = 0; i <= n; i++) sum += amount / tries[i].best_ms;
  free(tries);
  return sum;
}

static bool read_sizes(const level *l, const cli_limits_opts *o, cli_limits *out) {
  for (size_t n = 16 << 10; n <= o->most_bytes && out->n_reads < CLI_LIMITS_READS; n *= 4) {
    size_t each = n / o->n_threads / STEP_BYTES * STEP_BYTES;
    if (each < STEP_BYTES) continue;
    char *data = aligned_alloc(STEP_BYTES, each * o->n_threads);
    if (!data) return false;
    memset(data, 1, each * o->n_threads);
    buffer b = {data, each, each < LEAST_BYTES ? LEAST_BYTES / each : 1};
    out->read[out->n_reads++] = (cli_limits_read){n, per_ms(l->read, &b, (double)(each * b.passes) * 1e-6, o)};
    free(data);
  }
  return true;
}

bool cli_limits_measure(const cli_limits_opts *opts, cli_limits *out) {
  level l = choose(opts->cap);
  double operations = 2.0 * STEPS * ACCUMULATORS * 1e-6;
  *out = (cli_limits){.isa = l.name, .n_threads = opts->n_threads};
  out->float_gflops = per_ms(l.fma, NULL, operations * l.fma_lanes, opts);
  if (l.dot) out->int8_gops = per_ms(l.dot, NULL, operations * l.dot_lanes, opts);
  return read_sizes(&l, opts, out) && out->float_gflops > 0;
}

double cli_limits_gbs(const cli_limits *l, double bytes) {
  size_t i = 0;
  while (i + 1 < l->n_reads && (double)l->read[i].bytes < bytes) i++;
  return l->n_reads ? l->read[i].gbs : 0;
}
