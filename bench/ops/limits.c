/* SPDX-License-Identifier: Apache-2.0
 * bench/ops/limits.c - what one thread of this machine can do at most: float32 FMA, 8-bit dot products, reads from
 * buffers of several sizes. Prints JSON; a cap (avx2, avx512, avx512vnni) leaves out what is above it. usage: limits
 * [CAP] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
  STEPS = 20000,
  ACCUMULATORS = 12,
  TRIES_MS = 100,
  LEAST_BYTES = 4 << 20
}; /* 12: FMAs of 4 cycles, two or three a cycle, all in flight */

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The best of many short stretches: a limit is what is possible when nobody disturbs. */
static double best_ms(void (*fn)(void *), void *arg) {
  double best = 1e30;
  for (double end = now_ms() + TRIES_MS, start = now_ms(); start < end;) {
    fn(arg);
    double stop = now_ms();
    if (stop - start < best) best = stop - start;
    start = stop;
  }
  return best;
}

/* What goes through an empty asm may be any number to the compiler, so that it can neither fold equal accumulators into
 * one nor drop what nobody reads. */
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
  (void)cap;
  return (level){fma_plain, read_plain, NULL, "plain", 4, 0};
#endif
}

int main(int argc, char **argv) {
  level l = choose(argc > 1 ? argv[1] : "");
  double operations = 2.0 * STEPS * ACCUMULATORS * 1e-6;
  printf("{\"isa\": \"%s\", \"float_gflops\": %.1f, ", l.name, operations * l.fma_lanes / best_ms(l.fma, NULL));
  if (l.dot) printf("\"int8_gops\": %.1f, ", operations * l.dot_lanes / best_ms(l.dot, NULL));
  printf("\"read_gbs\": {");
  for (size_t n = 16 << 10; n <= (size_t)256 << 20; n *= 4) {
    char *data = aligned_alloc(64, n);
    if (!data) return 1;
    memset(data, 1, n);
    buffer b = {data, n, n < LEAST_BYTES ? LEAST_BYTES / n : 1};
    double megabytes = (double)(n * b.passes) * 1e-6;
    printf("%s\"%zu\": %.1f", n > 16 << 10 ? ", " : "", n, megabytes / best_ms(l.read, &b));
    free(data);
  }
  printf("}}\n");
  return 0;
}
