/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_f32_body.h - softmax over the vocabulary. Long sums go to double a block at a time. */
#include "kern/softmax/softmax.h"

enum { L = VF32_LANES, BLOCK = 256 * L };

static float highest(const float *x, size_t n) {
  vf32 a = vf32_splat(-INFINITY), b = a;
  size_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) {
    a = vf32_max(vf32_load(x + i), a);
    b = vf32_max(vf32_load(x + i + L), b);
  }
  for (; i < n; i += L) {
    size_t k = vf32_lanes_at(i, n);
    a = vf32_max(vf32_select(vm32_first(k), vf32_load_n(x + i, k), a), a);
  }
  return vf32_hmax(vf32_max(a, b)); /* NaN is passed over here: the sum of exponentials picks it up */
}

/* The sum of exp(x - high); y, if not NULL, gets the exponentials. */
static double exponentials(const float *x, float *y, size_t n, float high) {
  vf32 h = vf32_splat(high);
  double total = 0;
  for (size_t from = 0; from < n; from += BLOCK) {
    size_t end = n - from < BLOCK ? n : from + BLOCK, i = from;
    vf32 a = vf32_zero(), b = a;
    for (; i + 2 * L <= end; i += 2 * L) {
      vf32 e = vf32_exp_flush(vf32_sub(vf32_load(x + i), h)), f = vf32_exp_flush(vf32_sub(vf32_load(x + i + L), h));
      if (y) vf32_store(y + i, e), vf32_store(y + i + L, f);
      a = vf32_add(a, e), b = vf32_add(b, f);
    }
    for (; i < end; i += L) {
      size_t k = vf32_lanes_at(i, end);
      vf32 e = vf32_exp_flush(vf32_sub(vf32_load_n(x + i, k), h));
      if (y) vf32_store_n(y + i, e, k);
      a = vf32_add(a, vf32_select(vm32_first(k), e, vf32_zero()));
    }
    total += (double)vf32_sum(vf32_add(a, b));
  }
  return total;
}

/* A row of M vectors stays in registers. Missing lanes are -inf: their exponentials are 0. */
OX_INLINE void small_row(const float *x, float *y, size_t n, const size_t M) {
  vf32 v[8], high = vf32_splat(-INFINITY), sum = vf32_zero();
  size_t rest = n - (M - 1) * L;
  OX_UNROLL for (size_t i = 0; i + 1 < M; i++) v[i] = vf32_load(x + i * L);
  v[M - 1] = vf32_select(vm32_first(rest), vf32_load_n(x + (M - 1) * L, rest), high);
  OX_UNROLL for (size_t i = 0; i < M; i++) high = vf32_max(v[i], high);
  high = vf32_splat(vf32_hmax(high));
  OX_UNROLL for (size_t i = 0; i < M; i++) v[i] = vf32_exp_flush(vf32_sub(v[i], high)), sum = vf32_add(sum, v[i]);
  vf32 scale = vf32_splat(1.0f / vf32_sum(sum));
  OX_UNROLL for (size_t i = 0; i + 1 < M; i++) vf32_store(y + i * L, vf32_mul(v[i], scale));
  vf32_store_n(y + (M - 1) * L, vf32_mul(v[M - 1], scale), rest);
}

static void row(const float *x, float *y, size_t n) {
  switch ((n + L - 1) / L) {
    case 1:
      small_row(x, y, n, 1);
      return;
    case 2:
      small_row(x, y, n, 2);
      return;
    case 3:
      small_row(x, y, n, 3);
      return;
    case 4:
      small_row(x, y, n, 4);
      return;
    case 5:
      small_row(x, y, n, 5);
      return;
    case 6:
      small_row(x, y, n, 6);
      return;
    case 7:
      small_row(x, y, n, 7);
      return;
    case 8:
      small_row(x, y, n, 8);
      return;
    default:
      break;
  }
  double sum = exponentials(x, y, n, highest(x, n));
  vf32 s = vf32_splat((float)(1 / sum));
  size_t i = 0;
  for (; i + L <= n; i += L) vf32_store(y + i, vf32_mul(vf32_load(y + i), s));
  if (i < n) vf32_store_n(y + i, vf32_mul(vf32_load_n(y + i, n - i), s), n - i);
}

static void log_row(const float *x, float *y, size_t n) {
  float high = highest(x, n);
  vf32 h = vf32_splat(high), s = vf32_splat((float)log(exponentials(x, NULL, n, high)));
  size_t i = 0;
  for (; i + L <= n; i += L) vf32_store(y + i, vf32_sub(vf32_sub(vf32_load(x + i), h), s));
  if (i < n) vf32_store_n(y + i, vf32_sub(vf32_sub(vf32_load_n(x + i, n - i), h), s), n - i);
}

/* One vector of columns at a time: its maximum, sum and results stay in registers. */
static void column_lanes(const float *x, float *y, size_t n, size_t pitch, size_t k, int is_log) {
  vf32 high = vf32_splat(-INFINITY), sum = vf32_zero();
  for (size_t r = 0; r < n; r++) high = vf32_max(vf32_load_n(x + r * pitch, k), high);
  for (size_t r = 0; r < n; r++) {
    vf32 e = vf32_exp_flush(vf32_sub(vf32_load_n(x + r * pitch, k), high));
    if (!is_log) vf32_store_n(y + r * pitch, e, k);
    sum = vf32_add(sum, e);
  }
  if (is_log) {
    vf32 s = vf32_log(sum);
    for (size_t r = 0; r < n; r++)
      vf32_store_n(y + r * pitch, vf32_sub(vf32_sub(vf32_load_n(x + r * pitch, k), high), s), k);
  } else {
    vf32 s = vf32_div(vf32_splat(1.0f), sum);
    for (size_t r = 0; r < n; r++) vf32_store_n(y + r * pitch, vf32_mul(vf32_load_n(y + r * pitch, k), s), k);
  }
}

static void columns(const float *x, float *y, size_t n, size_t width, size_t pitch, int is_log) {
  for (size_t i = 0; i < width; i += L) column_lanes(x + i, y + i, n, pitch, vf32_lanes_at(i, width), is_log);
}

const ox_softmax_table SOFTMAX_NAME = {SOFTMAX_NEEDS, SOFTMAX_ISA, row, log_row, columns};
