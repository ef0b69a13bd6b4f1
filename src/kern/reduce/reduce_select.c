/* SPDX-License-Identifier: Apache-2.0
 * kern/reduce/reduce_wide.c - picks the float folds for an instruction set; the folds of doubles and integers. */
#include "kern/reduce/reduce.h"
#include "kern/variants.h"

#include <math.h>

OX_VARIANTS_SELECT(ox_reduce_table, ox_reduce__, ox_reduce_select)

/* Four partial sums: independent additions, and a quarter of the rounding. */
#define SUM4(expr)                        \
  do {                                    \
    double s[4] = {0, 0, 0, 0};           \
    size_t i = 0;                         \
    for (; i + 4 <= n; i += 4)            \
      for (size_t k = 0; k < 4; k++) {    \
        double v = x[i + k];              \
        s[k] += (expr);                   \
      }                                   \
    for (; i < n; i++) {                  \
      double v = x[i];                    \
      s[0] += (expr);                     \
    }                                     \
    return (s[0] + s[1]) + (s[2] + s[3]); \
  } while (0)

double ox_fold_f64_row(ox_fold f, const double *x, size_t n, double shift) {
  double best;
  switch (f) {
    case OX_FOLD_SUM:
      SUM4(v);
    case OX_FOLD_ABS:
      SUM4(fabs(v));
    case OX_FOLD_SQUARE:
      SUM4(v * v);
    case OX_FOLD_EXP:
      SUM4(exp(v - shift));
    case OX_FOLD_PROD:
      best = 1;
      for (size_t i = 0; i < n; i++) best *= x[i];
      return best;
    case OX_FOLD_MAX:
      best = -INFINITY;
      for (size_t i = 0; i < n; i++) best = x[i] > best || x[i] != x[i] ? x[i] : best;
      return best;
    default:
      best = INFINITY;
      for (size_t i = 0; i < n; i++) best = x[i] < best || x[i] != x[i] ? x[i] : best;
      return best;
  }
}

void ox_fold_f64_column(ox_fold f, double *acc, const double *x, size_t n, const double *shift) {
  for (size_t i = 0; i < n; i++) {
    double a = acc[i], v = x[i];
    switch (f) {
      case OX_FOLD_SUM:
        a += v;
        break;
      case OX_FOLD_ABS:
        a += fabs(v);
        break;
      case OX_FOLD_SQUARE:
        a += v * v;
        break;
      case OX_FOLD_EXP:
        a += exp(v - shift[i]);
        break;
      case OX_FOLD_PROD:
        a *= v;
        break;
      case OX_FOLD_MAX:
        a = ((v > a) | (v != v)) ? v : a;
        break;
      default:
        a = ((v < a) | (v != v)) ? v : a;
        break;
    }
    acc[i] = a;
  }
}

static inline int64_t fold_i64(ox_fold f, int64_t acc, int64_t v, uint64_t flip) {
  uint64_t a = (uint64_t)acc, u = (uint64_t)v;
  switch (f) {
    case OX_FOLD_SUM:
      return (int64_t)(a + u);
    case OX_FOLD_ABS:
      return (int64_t)(a + (v < 0 && !flip ? 0 - u : u));
    case OX_FOLD_SQUARE:
      return (int64_t)(a + u * u);
    case OX_FOLD_PROD:
      return (int64_t)(a * u);
    case OX_FOLD_MAX:
      return (int64_t)(u ^ flip) > (int64_t)(a ^ flip) ? v : acc;
    default:
      return (int64_t)(u ^ flip) < (int64_t)(a ^ flip) ? v : acc;
  }
}

int64_t ox_fold_i64_row(ox_fold f, int64_t acc, const int64_t *x, size_t n, int is_unsigned) {
  uint64_t flip = is_unsigned ? (uint64_t)1 << 63 : 0; /* makes unsigned order signed order */
  for (size_t i = 0; i < n; i++) acc = fold_i64(f, acc, x[i], flip);
  return acc;
}

void ox_fold_i64_column(ox_fold f, int64_t *acc, const int64_t *x, size_t n, int is_unsigned) {
  uint64_t flip = is_unsigned ? (uint64_t)1 << 63 : 0;
  for (size_t i = 0; i < n; i++) acc[i] = fold_i64(f, acc[i], x[i], flip);
}
