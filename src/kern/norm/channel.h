/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/channel.h - sums, maxima and maps over the n spatial elements of one channel of one image: for BatchNorm,
 * InstanceNorm, LRN and the global pools. */
#ifndef OX_KERN_NORM_CHANNEL_H
#define OX_KERN_NORM_CHANNEL_H

#include <stddef.h>

#include "base/cpu.h"
#include "base/macros.h"

typedef struct ox_channel_variant {
  ox_isa needs;
  const char *name;
  float (*sum)(const float *x, size_t n);
  float (*max)(const float *x, size_t n); /* -inf for n 0; NaN if any is NaN */
  /* y = scale (x - center) + shift; y may be x */
  void (*scale_shift)(float *y, const float *x, float center, float scale, float shift, size_t n);
  /* The same with separate parameters for each element. */
  void (*scale_shift_each)(float *y, const float *x, const float *center, const float *scale, const float *shift,
                           size_t n);
  /* y = scale ((x - mean) - low) + shift of doubles, for a mean in two parts; y may be x */
  void (*scale_shift_f64)(double *y, const double *x, double mean, double low, double scale, double shift, size_t n);
  void (*scale_shift_each_f64)(double *y, const double *x, const double *mean, const double *low, const double *scale,
                               const double *shift, size_t n);
  /* y += x^2 */
  void (*add_squares)(float *y, const float *x, size_t n);
  /* y = x (a s + b)^power, as LRN does with the sums of squares s; y may be x */
  void (*response_norm)(float *y, const float *x, const float *s, float a, float b, float power, size_t n);
} ox_channel_variant;

/* The best for |have|; never NULL. */
const ox_channel_variant *ox_channel_select(ox_isa have);

#endif
