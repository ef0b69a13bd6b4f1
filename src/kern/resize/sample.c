/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/sample.c - taps of a position between pixels, for every mode of interpolation and padding. */
#include "kern/resize/sample.h"

#include <math.h>

static double reflect(double x, double lo, double hi) {
  double range = hi - lo;
  if (x >= lo && x <= hi) return x;
  if (!(range > 0) || isnan(x) || isinf(x)) return lo;
  double d = x < lo ? lo - x : x - hi, turns = floor(d / range), rest = d - turns * range;
  bool even = fmod(turns, 2) == 0;
  return (x < lo) == even ? lo + rest : hi - rest;
}

/* The pixel for index |i| of an axis, after padding; -1: zero. */
static int64_t pixel(const ox_sampler *s, double i, int64_t n) {
  if (i >= 0 && i <= (double)(n - 1)) return (int64_t)i;
  if (s->pad == OX_SAMPLE_ZEROS || isnan(i)) return -1;
  if (s->pad == OX_SAMPLE_BORDER) return i < 0 ? 0 : n - 1;
  double lo = s->align_corners ? 0 : -0.5, hi = s->align_corners ? (double)(n - 1) : (double)n - 0.5;
  double r = reflect(i, lo, hi);
  return r <= 0 ? 0 : r >= (double)(n - 1) ? n - 1 : (int64_t)r;
}

static void cubic(double t, double *w) {
  const double a = -0.75;
  w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
  w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  w[2] = ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1;
  w[3] = ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a;
}

/* Pixels and weights on one axis; returns their number. */
static int axis_taps(const ox_sampler *s, double x, int64_t n, int64_t *at, double *w) {
  if (s->mode == OX_SAMPLE_NEAREST) x = nearbyint(x);
  double lo = s->align_corners ? 0 : -0.5, hi = s->align_corners ? (double)(n - 1) : (double)n - 0.5;
  if (x < lo || x > hi || isnan(x)) { /* cubic keeps the position and pads each pixel instead */
    if (s->pad == OX_SAMPLE_BORDER && s->mode != OX_SAMPLE_CUBIC)
      x = x > hi ? (double)(n - 1) : 0;
    else if (s->pad == OX_SAMPLE_REFLECTION)
      x = reflect(x, lo, hi);
  }
  if (s->mode == OX_SAMPLE_NEAREST) {
    at[0] = pixel(s, trunc(x), n), w[0] = 1;
    return 1;
  }
  double base = floor(x), t = x - base;
  int taps = s->mode == OX_SAMPLE_LINEAR ? 2 : 4;
  if (taps == 2)
    w[0] = 1 - t, w[1] = t;
  else
    cubic(t, w);
  for (int k = 0; k < taps; k++) at[k] = pixel(s, base + (taps == 4 ? k - 1 : k), n);
  return taps;
}

int ox_sample_taps(const ox_sampler *s, const double *x, int64_t *offset, double *weight) {
  int n = 1;
  offset[0] = 0, weight[0] = 1;
  for (int a = 0; a < s->axes; a++) { /* the product of the axes' taps, in place from the back */
    int64_t at[4];
    double w[4];
    int taps = axis_taps(s, x[a], s->dim[a], at, w), kept = 0;
    for (int k = 0; k < taps; k++)
      if (at[k] >= 0) at[kept] = at[k], w[kept++] = w[k];
    for (int i = n; i-- > 0;)
      for (int k = kept; k-- > 0;) {
        offset[i * kept + k] = offset[i] * s->dim[a] + at[k];
        weight[i * kept + k] = weight[i] * w[k];
      }
    n *= kept;
  }
  return n;
}
