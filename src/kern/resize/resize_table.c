/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_table.c - where each output of an axis looks, and with which weights. */
#include <math.h>

#include "base/macros.h"
#include "kern/resize/resize.h"

/* The input coordinate of output |o|, in float as the standard's scales are. */
static float source(const ox_resize_axis *a, int64_t o) {
  float x = (float)o, in = (float)a->in, s = a->scale;
  double wide = (double)a->scale * (double)a->in; /* the output extent before rounding */
  switch (a->coord) {
    case OX_COORD_HALF_PIXEL:
      return (x + 0.5f) / s - 0.5f;
    case OX_COORD_HALF_PIXEL_SYMMETRIC: {
      float adjust = (float)((double)a->out / wide);
      return in / 2 * (1 - adjust) + (x + 0.5f) / s - 0.5f;
    }
    case OX_COORD_PYTORCH_HALF_PIXEL:
      return a->out > 1 ? (x + 0.5f) / s - 0.5f : 0;
    case OX_COORD_ALIGN_CORNERS:
      return a->out > 1 ? (float)((double)o * (double)(a->in - 1) / (wide - 1)) : 0;
    case OX_COORD_ASYMMETRIC:
      return x / s;
    case OX_COORD_TF_HALF_PIXEL_FOR_NN:
      return (x + 0.5f) / s;
    case OX_COORD_TF_CROP_AND_RESIZE:
      if (a->out <= 1) return 0.5f * (a->roi_begin + a->roi_end) * (in - 1);
      return (float)((double)a->roi_begin * (double)(a->in - 1) +
                     (double)o * (double)(a->roi_end - a->roi_begin) * (double)(a->in - 1) / (wide - 1));
  }
  return 0;
}

static int64_t clamped(double v, int64_t n) { return v >= (double)(n - 1) ? n - 1 : v > 0 ? (int64_t)v : 0; }

static int64_t nearest(const ox_resize_axis *a, float x) {
  float down = floorf(x);
  switch (a->round) {
    case OX_ROUND_PREFER_FLOOR:
      return clamped((double)(x == down + 0.5f ? down : roundf(x)), a->in);
    case OX_ROUND_PREFER_CEIL:
      return clamped((double)roundf(x), a->in);
    case OX_ROUND_FLOOR:
      return clamped((double)down, a->in);
    case OX_ROUND_CEIL:
      return clamped((double)ceilf(x), a->in);
    case OX_ROUND_SIMPLE:
      return clamped((double)(a->scale < 1 ? ceilf(x) : down), a->in);
  }
  return 0;
}

/* How far the window of an antialiased filter reaches to the left of its base. */
static int64_t reach(const ox_resize_axis *a) {
  double radius = a->mode == OX_RESIZE_CUBIC ? 2 : 1, scale = a->antialias && a->scale < 1 ? (double)a->scale : 1;
  return (int64_t) - (floor(-radius / scale) + 1);
}

int64_t ox_resize_taps(const ox_resize_axis *a) {
  if (a->mode == OX_RESIZE_NEAREST) return 1;
  return (a->mode == OX_RESIZE_CUBIC ? 2 : 1) * 2 + (reach(a) - (a->mode == OX_RESIZE_CUBIC ? 1 : 0)) * 2;
}

static double kernel(const ox_resize_axis *a, double d) {
  double x = fabs(d), c = (double)a->cubic_a;
  if (a->mode == OX_RESIZE_LINEAR) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((c + 2) * x - (c + 3)) * x * x + 1;
  return x < 2 ? ((c * x - 5 * c) * x + 8 * c) * x - 4 * c : 0;
}

void ox_resize_table(const ox_resize_axis *a, int32_t *index, float *weight) {
  int64_t taps = ox_resize_taps(a), left = a->mode == OX_RESIZE_NEAREST ? 0 : reach(a);
  double scale = a->antialias && a->scale < 1 ? (double)a->scale : 1;
  for (int64_t o = 0; o < a->out; o++, index += taps) {
    float x = source(a, o);
    bool outside = a->coord == OX_COORD_TF_CROP_AND_RESIZE && !(x >= 0 && x <= (float)(a->in - 1));
    if (a->mode == OX_RESIZE_NEAREST) {
      index[0] = outside ? -1 : (int32_t)nearest(a, x);
      continue;
    }
    double base = ceil((double)x) - 1, sum = 0; /* the ratio to the base lies in (0, 1] */
    for (int64_t t = 0; t < taps; t++) {
      double at = base + (double)(t - left), w = kernel(a, (at - (double)x) * scale);
      if (a->exclude_outside && (at < 0 || at >= (double)a->in)) w = 0;
      index[t] = (int32_t)clamped(at, a->in);
      weight[t] = (float)w, sum += w;
    }
    for (int64_t t = 0; t < taps; t++) weight[t] = (float)((double)weight[t] / sum);
    if (outside) index[0] = -1;
    weight += taps;
  }
}
