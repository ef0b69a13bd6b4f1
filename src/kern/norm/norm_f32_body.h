/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/norm_f32_body.h - row moments and scaling in the SIMD vocabulary. Sums are converted to double after each
 * block. */
#include <math.h>

#include "kern/norm/norm.h"

enum { L = VF32_LANES, BLOCK = 256 * L, WAYS = 4 }; /* four sums hide the latency of an addition */

#define MEAN(name, map)                                                        \
  static double name(const float *x, size_t n) {                               \
    double total = 0;                                                          \
    for (size_t from = 0; from < n; from += BLOCK) {                           \
      size_t end = n - from < BLOCK ? n : from + BLOCK, i = from;              \
      vf32 s0 = vf32_zero(), s1 = s0, s2 = s0, s3 = s0, v;                     \
      for (; i + 4 * L <= end; i += 4 * L) {                                   \
        v = vf32_load(x + i), s0 = map(s0);                                    \
        v = vf32_load(x + i + L), s1 = map(s1);                                \
        v = vf32_load(x + i + 2 * L), s2 = map(s2);                            \
        v = vf32_load(x + i + 3 * L), s3 = map(s3);                            \
      }                                                                        \
      for (; i + L <= end; i += L) v = vf32_load(x + i), s1 = map(s1);         \
      if (i < end) v = vf32_load_n(x + i, end - i), s2 = map(s2);              \
      total += (double)vf32_sum(vf32_add(vf32_add(s0, s1), vf32_add(s2, s3))); \
    }                                                                          \
    return total / (double)n;                                                  \
  }
#define PLAIN(s) vf32_add(s, v)
#define SQUARE(s) vf32_fma(v, v, s)
MEAN(mean, PLAIN)
MEAN(mean_square, SQUARE)

static double deviation(const float *x, size_t n, float center, double *off) {
  vf32 c = vf32_splat(center);
  double squares = 0, plain = 0;
  for (size_t from = 0; from < n; from += BLOCK) {
    size_t end = n - from < BLOCK ? n : from + BLOCK, i = from;
    vf32 s[WAYS], d[WAYS];
    OX_UNROLL for (int j = 0; j < WAYS; j++) s[j] = d[j] = vf32_zero();
    for (; i + WAYS * L <= end; i += WAYS * L) OX_UNROLL for (int j = 0; j < WAYS; j++) {
        vf32 v = vf32_sub(vf32_load(x + i + j * L), c);
        s[j] = vf32_fma(v, v, s[j]), d[j] = vf32_add(d[j], v);
      }
    for (; i < end; i += L) {
      size_t k = vf32_lanes_at(i, end);
      vf32 v = vf32_sub(vf32_select(vm32_first(k), vf32_load_n(x + i, k), c), c);
      s[0] = vf32_fma(v, v, s[0]), d[0] = vf32_add(d[0], v);
    }
    squares += (double)vf32_sum(vf32_add(vf32_add(s[0], s[1]), vf32_add(s[2], s[3])));
    plain += (double)vf32_sum(vf32_add(vf32_add(d[0], d[1]), vf32_add(d[2], d[3])));
  }
  *off = plain / (double)n;
  return squares / (double)n;
}

/* (x - center - rest) * factor: center + rest is the mean. */
typedef struct normalizer {
  vf32 center, rest, factor;
} normalizer;
static inline vf32 normalized(vf32 v, normalizer a) {
  return vf32_mul(vf32_sub(vf32_sub(v, a.center), a.rest), a.factor);
}

static void apply(const float *x, float *y, size_t n, double center, float factor, const float *scale,
                  const float *bias) {
  float near = (float)center;
  double rest = center - (double)near; /* NaN for an infinite center, for which all results are NaN anyway */
  normalizer a = {vf32_splat(near), vf32_splat((float)rest), vf32_splat(factor)};
  size_t i = 0;
  if (scale && bias)
    for (; i + L <= n; i += L)
      vf32_store(y + i, vf32_fma(normalized(vf32_load(x + i), a), vf32_load(scale + i), vf32_load(bias + i)));
  else if (scale)
    for (; i + L <= n; i += L) vf32_store(y + i, vf32_mul(normalized(vf32_load(x + i), a), vf32_load(scale + i)));
  else if (!bias)
    for (; i + L <= n; i += L) vf32_store(y + i, normalized(vf32_load(x + i), a));
  for (; i < n; i += L) {
    size_t k = vf32_lanes_at(i, n);
    vf32 v = normalized(vf32_load_n(x + i, k), a);
    if (scale) v = vf32_mul(v, vf32_load_n(scale + i, k));
    if (bias) v = vf32_add(v, vf32_load_n(bias + i, k));
    vf32_store_n(y + i, v, k);
  }
}

static void add(const float *a, const float *b, const float *bias, float *sum, size_t n) {
  size_t i = 0;
  if (bias)
    for (; i + L <= n; i += L)
      vf32_store(sum + i, vf32_add(vf32_add(vf32_load(a + i), vf32_load(b + i)), vf32_load(bias + i)));
  else
    for (; i + L <= n; i += L) vf32_store(sum + i, vf32_add(vf32_load(a + i), vf32_load(b + i)));
  if (i == n) return;
  size_t k = n - i;
  vf32 v = vf32_add(vf32_load_n(a + i, k), vf32_load_n(b + i, k));
  if (bias) v = vf32_add(v, vf32_load_n(bias + i, k));
  vf32_store_n(sum + i, v, k);
}

/* ---- short rows: in registers ---- */
enum { MOST = 8 }; /* vectors of a short row */

typedef struct short_job {
  size_t n, tail;       /* elements; those of the last vector */
  double epsilon, each; /* 1 / n */
  int plain;
  const float *scale, *bias;
} short_job;

/* Moments are computed as for a long row: around a rough mean, then corrected. |stats|: the mean and the factor. */
OX_INLINE void short_row(const float *x, float *y, const short_job *j, float *stats, int nv) {
  vf32 v[MOST], sum = vf32_zero(), squares = sum;
  float rough = 0;
  OX_UNROLL for (int i = 0; i < nv; i++) v[i] = i == nv - 1 ? vf32_load_n(x + i * L, j->tail) : vf32_load(x + i * L);
  double off = 0;
  if (!j->plain) {
    OX_UNROLL for (int i = 0; i < nv; i++) sum = vf32_add(sum, v[i]);
    rough = (float)((double)vf32_sum(sum) * j->each);
    vf32 center = vf32_splat(rough);
    OX_UNROLL for (int i = 0; i < nv; i++) v[i] = vf32_sub(v[i], center);
    v[nv - 1] = vf32_select(vm32_first(j->tail), v[nv - 1], vf32_zero());
    sum = vf32_zero();
    OX_UNROLL for (int i = 0; i < nv; i++) sum = vf32_add(sum, v[i]);
    off = (double)vf32_sum(sum) * j->each;
  }
  OX_UNROLL for (int i = 0; i < nv; i++) squares = vf32_fma(v[i], v[i], squares);
  double variance = (double)vf32_sum(squares) * j->each - off * off;
  variance = variance < 0 ? 0 : variance; /* NaN stays */
  stats[0] = off == off ? (float)((double)rough + off) : rough;
  stats[1] = (float)(1 / sqrt(variance + j->epsilon));
  vf32 factor = vf32_splat(stats[1]), rest = vf32_splat((float)off);
  OX_UNROLL for (int i = 0; i < nv; i++) {
    size_t k = i == nv - 1 ? j->tail : L;
    vf32 w = vf32_mul(vf32_sub(v[i], rest), factor);
    if (j->scale) w = vf32_mul(w, vf32_load_n(j->scale + i * L, k));
    if (j->bias) w = vf32_add(w, vf32_load_n(j->bias + i * L, k));
    vf32_store_n(y + i * L, w, k);
  }
}

#define SHORT(nv)                                     \
  case nv:                                            \
    for (size_t r = 0; r < rows; r++) {               \
      short_row(x + r * n, y + r * n, &j, stats, nv); \
      if (mean) mean[r] = stats[0];                   \
      if (inverse) inverse[r] = stats[1];             \
    }                                                 \
    break;
static void short_rows(const float *x, float *y, size_t rows, size_t n, double epsilon, int plain, const float *scale,
                       const float *bias, float *mean, float *inverse) {
  float stats[2];
  size_t vectors = (n + L - 1) / L;
  short_job j = {n, n - (vectors - 1) * L, epsilon, 1 / (double)n, plain, scale, bias};
  switch (vectors) {
    SHORT(1)
    SHORT(2)
    SHORT(3)
    SHORT(4)
    SHORT(5)
    SHORT(6)
    SHORT(7)
    SHORT(8)
  }
}

const ox_norm_table NORM_NAME = {NORM_NEEDS, NORM_ISA, mean, mean_square, deviation, apply, add, short_rows, MOST *L};
