/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/norm.h - the building blocks of row normalization of floats: moments, and scaling with them. */
#ifndef OX_KERN_NORM_NORM_H
#define OX_KERN_NORM_NORM_H

#include <math.h>
#include <stddef.h>

#include "base/cpu.h"

typedef struct ox_norm_table {
  ox_isa needs;
  const char *name;
  double (*mean)(const float *x, size_t n); /* as exact as sums of floats */
  double (*mean_square)(const float *x, size_t n);
  /* the mean of (x - center)^2; |*off|: the mean of x - center */
  double (*deviation)(const float *x, size_t n, float center, double *off);
  /* y = (x - center) * factor * scale + bias; scale and bias are rows or NULL. y may be x. The center is subtracted as
   * a sum of two floats, so that little of its precision is lost */
  void (*apply)(const float *x, float *y, size_t n, double center, float factor, const float *scale, const float *bias);
  /* sum = a + b + bias; bias may be NULL. sum may be a or b */
  void (*add)(const float *a, const float *b, const float *bias, float *sum, size_t n);
  /* normalizes |rows| consecutive rows of n <= short_most floats: divides by the root of epsilon plus their variance
   * or, if |plain|, plus the mean of their squares. y may be x. mean[r] and inverse[r], the factor, are of
   * row r; either may be NULL */
  void (*short_rows)(const float *x, float *y, size_t rows, size_t n, double epsilon, int plain, const float *scale,
                     const float *bias, float *mean, float *inverse);
  size_t short_most;
} ox_norm_table;

const ox_norm_table *ox_norm_select(ox_isa have);

typedef struct ox_moments {
  double mean, variance;
} ox_moments;

/* Mean and variance are both corrected by the mean deviation from a rough mean, so that no digits are lost where the
 * mean is much larger than the deviations. */
static inline ox_moments ox_norm_moments(const ox_norm_table *t, const float *x, size_t n) {
  enum { SAMPLE = 1024 };
  double off, square, variance, rough;
  /* One pass over a long row: the mean of its beginning will do, unless it is further off than the elements deviate. */
  if (n > 4 * SAMPLE) {
    rough = t->mean(x, SAMPLE), square = t->deviation(x, n, (float)rough, &off), variance = square - off * off;
    if (isfinite(square) && off * off <= variance) return (ox_moments){(double)(float)rough + off, variance};
  }
  rough = t->mean(x, n), square = t->deviation(x, n, (float)rough, &off), variance = square - off * off;
  if (off != off) return (ox_moments){rough, off}; /* infinities or NaN */
  return (ox_moments){(double)(float)rough + off, variance < 0 ? 0 : variance};
}

#endif
