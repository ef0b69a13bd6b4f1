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

/* The sum of term(i) over n elements: four sums that do not wait for each other. */
#define OX_MEAN_SUM_(sum, n, term)                               \
  do {                                                           \
    double s_[4] = {0, 0, 0, 0};                                 \
    size_t i_ = 0;                                               \
    for (; i_ + 4 <= (n); i_ += 4)                               \
      for (size_t k_ = 0; k_ < 4; k_++) s_[k_] += term(i_ + k_); \
    for (; i_ < (n); i_++) s_[0] += term(i_);                    \
    (sum) = (s_[0] + s_[1]) + (s_[2] + s_[3]);                   \
  } while (0)

static inline ox_mean ox_mean_f64(const double *x, size_t n) {
  ox_mean m = {0, 0};
  double sum;
#define OX_MEAN_TERM_(i) (x[i] - m.hi)
  OX_MEAN_SUM_(sum, n, OX_MEAN_TERM_);
  m.hi = sum / (double)n;
  OX_MEAN_SUM_(sum, n, OX_MEAN_TERM_);
#undef OX_MEAN_TERM_
  m.lo = ox_mean_low(sum, (double)n);
  return m;
}

static inline double ox_variance_f64(const double *x, size_t n, ox_mean m) {
  double sum;
#define OX_MEAN_TERM_(i) (ox_mean_deviation(x[i], m) * ox_mean_deviation(x[i], m))
  OX_MEAN_SUM_(sum, n, OX_MEAN_TERM_);
#undef OX_MEAN_TERM_
  return sum / (double)n;
}

#endif
