/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/plane.h - what normalisation and global pools do to a plane of floats. */
#ifndef OX_KERN_POOL_PLANE_H
#define OX_KERN_POOL_PLANE_H

#include <stddef.h>

#include "base/cpu.h"
#include "base/macros.h"

typedef struct ox_plane_variant {
  ox_isa needs;
  const char *name;
  float (*sum)(const float *x, size_t n);
  float (*largest)(const float *x, size_t n);                           /* -inf for n 0; NaN if any is NaN */
  float (*deviation)(const float *x, float mean, size_t n);             /* sum of squared distances from the mean */
  void (*affine)(float *y, const float *x, float a, float b, size_t n); /* a x + b; y may be x */
  void (*add_squares)(float *y, const float *x, size_t n);              /* y += x x */
  void (*damp)(float *y, const float *x, const float *s, float a, float b, float power,
               size_t n); /* x (a s + b)^power */
} ox_plane_variant;

/* The best for |have|; never NULL. */
const ox_plane_variant *ox_plane_select(ox_isa have);

#endif
