/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/mean.h - a mean in two parts, so that deviations are exact even where the mean is much larger: for a mean
 * of about 1e6, rounding it to one double is an error of 1e-10, which would spoil the last digits of small deviations.
 */
#ifndef OX_KERN_NORM_MEAN_H
#define OX_KERN_NORM_MEAN_H

#include <math.h>
#include <stddef.h>

/* hi + lo; |lo| is the mean of the deviations from |hi|. */
typedef struct ox_mean {
  double hi, lo;
} ox_mean;

/* x - hi is exact for an x near the mean; elsewhere its rounding is small beside the deviation. */
static inline double ox_mean_deviation(double x, ox_mean m) { return (x - m.hi) - m.lo; }

/* The second part, from the sum of n deviations from the first. For an infinite mean it is 0, not NaN. */
static inline double ox_mean_low(double sum, double n) { return isfinite(sum) ? sum / n : 0; }

static inline ox_mean ox_mean_f64(const double *x, size_t n) {
  ox_mean m = {0, 0};
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  m.hi = sum / (double)n, sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] - m.hi;
  m.lo = ox_mean_low(sum, (double)n);
  return m;
}

static inline double ox_variance_f64(const double *x, size_t n, ox_mean m) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += ox_mean_deviation(x[i], m) * ox_mean_deviation(x[i], m);
  return sum / (double)n;
}

#endif
