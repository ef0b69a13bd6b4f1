/* SPDX-License-Identifier: Apache-2.0
 * kern/norm/norm.h - the pieces of row normalization on floats: moments, and scaling with them. */
#ifndef OX_KERN_NORM_NORM_H
#define OX_KERN_NORM_NORM_H

#include <stddef.h>

#include "base/cpu.h"

typedef struct ox_norm_table {
  ox_isa needs;
  const char *name;
  double (*mean)(const float *x, size_t n);
  /* the mean of (x - center)^2 */
  double (*variance)(const float *x, size_t n, float center);
  /* y = (x - center) * factor * scale + bias; scale and bias are rows or NULL. y may be x */
  void (*apply)(const float *x, float *y, size_t n, float center, float factor, const float *scale, const float *bias);
  /* sum = a + b + bias; bias may be NULL. sum may be a or b */
  void (*add)(const float *a, const float *b, const float *bias, float *sum, size_t n);
} ox_norm_table;

const ox_norm_table *ox_norm_select(ox_isa have);

#endif
