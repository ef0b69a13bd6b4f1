/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_f64_body.h - softmax of doubles: plain loops without calls, which the compiler vectorises at the
 * includer's instruction set. The same bits on each. */
#include <math.h>

#include "base/macros.h"
#include "kern/softmax/softmax.h"
#include "kern/unary/math_f64.h"

enum { SIDE = 16, BLOCK = 512, PIECE = 16 * BLOCK, ROWS = 1024 }; /* SIDE: sums that do not wait for each other */

static bool is_over(const ox_stop *stop) { return stop && ox_stop_asked(stop); }

/* Misses NaN, which the sum of exponentials passes on. */
static double highest(double high, const double *x, size_t n) {
  double s[SIDE];
  for (size_t k = 0; k < SIDE; k++) s[k] = high;
  for (; n >= SIDE; n -= SIDE, x += SIDE)
    for (size_t k = 0; k < SIDE; k++) s[k] = x[k] > s[k] ? x[k] : s[k];
  for (size_t k = 0; k < n; k++) s[k] = x[k] > s[k] ? x[k] : s[k];
  for (size_t k = 0; k < SIDE; k++) high = s[k] > high ? s[k] : high;
  return high;
}

static double sum_of(const double *x, size_t n) {
  double s[SIDE] = {0}, all = 0;
  for (; n >= SIDE; n -= SIDE, x += SIDE)
    for (size_t k = 0; k < SIDE; k++) s[k] += x[k];
  for (size_t k = 0; k < n; k++) s[k] += x[k];
  for (size_t k = 0; k < SIDE; k++) all += s[k];
  return all;
}

/* Their exponentials into y, if it is not NULL; what they add up to. */
static double exponentials(const double *x, double *y, size_t n, double high) {
  double sum = 0, spare[BLOCK];
  for (size_t from = 0; from < n; from += BLOCK) {
    size_t m = n - from < BLOCK ? n - from : BLOCK;
    double *e = y ? y + from : spare;
    OX_IVDEP for (size_t i = 0; i < m; i++) e[i] = ox_f64_exp(x[from + i] - high);
    sum += sum_of(e, m);
  }
  return sum;
}

static void row_f64(const double *x, double *y, size_t n, int is_log, const ox_stop *stop) {
#define PIECES(i, k) \
  for (size_t i = 0, k; i < n && (k = n - i < PIECE ? n - i : PIECE, !(n > PIECE && is_over(stop))); i += PIECE)
  double high = -INFINITY, sum = 0;
  PIECES(i, k) high = highest(high, x + i, k);
  PIECES(i, k) sum += exponentials(x + i, is_log ? NULL : y + i, k, high);
  double by = is_log ? log(sum) : sum;
  PIECES(i, k) {
    if (is_log) {
      OX_IVDEP for (size_t j = i; j < i + k; j++) y[j] = (x[j] - high) - by;
    } else {
      OX_IVDEP for (size_t j = i; j < i + k; j++) y[j] = y[j] / by;
    }
  }
#undef PIECES
}

/* So many columns at a time: their maxima and sums stay in the first-level cache. */
enum { WIDE = 64 };

static void some_columns(const double *x, double *y, size_t n, size_t width, size_t pitch, int is_log,
                         const ox_stop *stop) {
  double high[WIDE], sum[WIDE];
#define ALL_ROWS(r) for (size_t r = 0; r < n && !(r % ROWS == ROWS - 1 && is_over(stop)); r++)
#define ALL(j) OX_IVDEP for (size_t j = 0; j < width; j++)
  ALL(j) high[j] = -INFINITY, sum[j] = 0;
  ALL_ROWS(r) ALL(j) high[j] = x[r * pitch + j] > high[j] ? x[r * pitch + j] : high[j];
  if (is_log) {
    ALL_ROWS(r) ALL(j) sum[j] += ox_f64_exp(x[r * pitch + j] - high[j]);
    for (size_t j = 0; j < width; j++) sum[j] = log(sum[j]);
    ALL_ROWS(r) ALL(j) y[r * pitch + j] = (x[r * pitch + j] - high[j]) - sum[j];
  } else {
    ALL_ROWS(r) ALL(j) {
      double e = ox_f64_exp(x[r * pitch + j] - high[j]);
      y[r * pitch + j] = e, sum[j] += e;
    }
    ALL_ROWS(r) ALL(j) y[r * pitch + j] = y[r * pitch + j] / sum[j];
  }
#undef ALL
#undef ALL_ROWS
}

static void columns_f64(const double *x, double *y, size_t n, size_t width, size_t pitch, int is_log,
                        const ox_stop *stop) {
  for (size_t i = 0; i < width; i += WIDE)
    some_columns(x + i, y + i, n, width - i < WIDE ? width - i : WIDE, pitch, is_log, stop);
}

const ox_softmax_f64 SOFTMAX_F64_NAME = {row_f64, columns_f64};
