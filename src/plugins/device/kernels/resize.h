/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/resize.h - Resize along one axis. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/resize_params.h"

/* The input coordinate of output pixel |i|. */
FUNCTION float resize_place(const resize_params *p, int i) {
  float x = (float)i, half_pixel = (x + 0.5f) * p->num / p->den - 0.5f, in = (float)p->in, out = (float)p->out;
  switch (p->coordinates) {
    case RESIZE_SYMMETRIC:
      return in * 0.5f * (1.0f - out * p->num / (p->den * in)) + half_pixel;
    case RESIZE_PYTORCH:
      return p->out > 1 ? half_pixel : 0.0f;
    case RESIZE_CORNERS:
      return p->out > 1 ? x * (in - 1.0f) / p->spread : 0.0f;
    case RESIZE_ASYMMETRIC:
      return x * p->num / p->den;
    case RESIZE_HALF_NN:
      return (x + 0.5f) * p->num / p->den;
    case RESIZE_CROP:
      return p->out > 1 ? p->first * (in - 1.0f) + x * (p->last - p->first) * (in - 1.0f) / p->spread
                        : 0.5f * (p->first + p->last) * (in - 1.0f);
  }
  return half_pixel;
}

FUNCTION float resize_nearest(int rounding, float x) {
  if (rounding == RESIZE_ROUND_FLOOR) return CEILF(x - 0.5f);
  if (rounding == RESIZE_ROUND_CEIL) return FLOORF(x + 0.5f);
  return rounding == RESIZE_FLOOR ? FLOORF(x) : CEILF(x);
}

/* The weight of a pixel at distance |d|. */
FUNCTION float resize_weight(int mode, float a, float d) {
  d = FABSF(d);
  if (mode == RESIZE_LINEAR) return MAX_OF(1.0f - d, 0.0f);
  if (d <= 1.0f) return ((a + 2.0f) * d - (a + 3.0f)) * d * d + 1.0f;
  return d < 2.0f ? ((a * d - 5.0f * a) * d + 8.0f * a) * d - 4.0f * a : 0.0f;
}

KERNEL(resize, resize_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  PARAMS(resize_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      int from = at / p.inner / p.out * p.in * p.inner + at % p.inner;
      float place = resize_place(&p, at / p.inner % p.out), v = 0.0f, sum = 0.0f;
      if (p.coordinates == RESIZE_CROP && (place < 0.0f || place > (float)(p.in - 1))) {
        v = p.extrapolation, sum = 1.0f;
      } else if (p.mode == RESIZE_NEAREST) {
        int i = (int)resize_nearest(p.rounding, place);
        v = LOAD(x, from + MIN_OF(MAX_OF(i, 0), p.in - 1) * p.inner), sum = 1.0f;
      } else {
        int base = (int)FLOORF(place), reach = p.mode == RESIZE_CUBIC;
        for (int i = base - reach; i <= base + 1 + reach; i++) {
          float weight = resize_weight(p.mode, p.cubic, place - (float)i);
          int inside = i >= 0 && i < p.in;
          if (weight != 0.0f && (inside || !p.exclude_outside)) {
            v += weight * LOAD(x, from + MIN_OF(MAX_OF(i, 0), p.in - 1) * p.inner);
            sum += weight;
          }
        }
      }
      STORE(y, at, p.exclude_outside ? v / sum : v);
    }
  }
}
