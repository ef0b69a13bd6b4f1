/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize_table.c - the taps of each output of an axis, and their weights. */
#include <math.h>

#include "base/macros.h"
#include "kern/resize/resize.h"

/* Rounding the double result of an operation on two floats to float equals the float operation, as 53 >= 2 * 24 + 2. */
static double step(const ox_resize_axis *a, double v) { return a->wide ? v : (double)(float)v; }

/* The input coordinate of output |o|. */
static double source(const ox_resize_axis *a, int64_t o) {
  double x = step(a, (double)o), in = step(a, (double)a->in), s = step(a, a->scale);
  double wide = a->scale * (double)a->in; /* the output extent before rounding */
  switch (a->coord) {
    case OX_COORD_HALF_PIXEL:
      return step(a, step(a, step(a, x + 0.5) / s) - 0.5);
    case OX_COORD_HALF_PIXEL_SYMMETRIC: {
      double adjust = step(a, (double)a->out / wide), left = step(a, in / 2 * step(a, 1 - adjust));
      return step(a, step(a, left + step(a, step(a, x + 0.5) / s)) - 0.5);
    }
    case OX_COORD_PYTORCH_HALF_PIXEL:
      return a->out > 1 ? step(a, step(a, step(a, x + 0.5) / s) - 0.5) : 0;
    case OX_COORD_ALIGN_CORNERS:
      return a->out > 1 ? step(a, (double)o * (double)(a->in - 1) / (wide - 1)) : 0;
    case OX_COORD_ASYMMETRIC:
      return step(a, x / s);
    case OX_COORD_TF_HALF_PIXEL_FOR_NN:
      return step(a, step(a, x + 0.5) / s);
    case OX_COORD_TF_CROP_AND_RESIZE:
      if (a->out <= 1) return step(a, step(a, 0.5 * step(a, a->roi_begin + a->roi_end)) * step(a, in - 1));
      return step(a, a->roi_begin * (double)(a->in - 1) +
                         (double)o * step(a, a->roi_end - a->roi_begin) * (double)(a->in - 1) / (wide - 1));
  }
  return 0;
}

static int64_t clamped(double v, int64_t n) { return v >= (double)(n - 1) ? n - 1 : v > 0 ? (int64_t)v : 0; }

static int64_t nearest(const ox_resize_axis *a, double x) {
  double down = floor(x);
  switch (a->round) {
    case OX_ROUND_PREFER_FLOOR:
      return clamped(x == down + 0.5 ? down : round(x), a->in);
    case OX_ROUND_PREFER_CEIL:
      return clamped(round(x), a->in);
    case OX_ROUND_FLOOR:
      return clamped(down, a->in);
    case OX_ROUND_CEIL:
      return clamped(ceil(x), a->in);
    case OX_ROUND_SIMPLE:
      return clamped(a->scale < 1 ? ceil(x) : down, a->in);
  }
  return 0;
}

/* How far the filter's window extends to the left of its base. If there are no outputs the scale may be 0. */
static int64_t reach(const ox_resize_axis *a) {
  double radius = a->mode == OX_RESIZE_CUBIC ? 2 : 1, scale = a->antialias && a->scale < 1 && a->out ? a->scale : 1;
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

/* The weight of the pixel at |at| before normalization. |scale| widens the kernel. */
static double weigh(const ox_resize_axis *a, double at, double x, double scale) {
  return a->exclude_outside && (at < 0 || at >= (double)a->in) ? 0 : kernel(a, (at - x) * scale);
}

void ox_resize_table(const ox_resize_axis *a, int32_t *index, float *w32, double *w64) {
  int64_t taps = ox_resize_taps(a), left = a->mode == OX_RESIZE_NEAREST ? 0 : reach(a);
  double scale = a->antialias && a->scale < 1 ? a->scale : 1;
  for (int64_t o = 0; o < a->out; o++, index += taps) {
    double x = source(a, o);
    /* compared as floats, so that a rounding error of the last operation does not put a border pixel outside */
    bool outside = a->coord == OX_COORD_TF_CROP_AND_RESIZE && !((float)x >= 0 && (float)x <= (float)(a->in - 1));
    if (a->mode == OX_RESIZE_NEAREST) {
      index[0] = outside ? -1 : (int32_t)nearest(a, x);
      continue;
    }
    double base = ceil(x) - 1, sum = 0; /* x - base is in (0, 1] */
    for (int64_t t = 0; t < taps; t++) sum += weigh(a, base + (double)(t - left), x, scale);
    for (int64_t t = 0; t < taps; t++) {
      double at = base + (double)(t - left), w = weigh(a, at, x, scale) / sum;
      index[t] = (int32_t)clamped(at, a->in);
      if (w32)
        *w32++ = (float)w;
      else
        *w64++ = w;
    }
    if (outside) index[0] = -1;
  }
}

/* The window of the group of outputs [o, end). */
static ox_resize_window window_of(const int32_t *index, int64_t in, int64_t o, int64_t end, int64_t taps) {
  int64_t first = index[o * taps], most = index[end * taps - 1], pieces = (most - first) / OX_RESIZE_GROUP + 1;
  first = OX_MIN(first, in - pieces * OX_RESIZE_GROUP); /* windows must not extend beyond the line */
  return first < 0 ? (ox_resize_window){0, 0} : (ox_resize_window){(int32_t)first, (int32_t)pieces};
}

bool ox_resize_lines_fill(ox_resize_lines *lines, const int32_t *index, const float *weight, int64_t in, int64_t out,
                          int64_t taps) {
  enum { G = OX_RESIZE_GROUP };
  for (int64_t i = 0; i < out * taps; i++)
    if (index[i] < 0 || (i % taps && index[i] < index[i - 1]) || (i >= taps && index[i] < index[i - taps]))
      return false;
  for (int64_t o = 0; o < out; o += G) {
    ox_resize_window w = lines->window[o / G] = window_of(index, in, o, OX_MIN(o + G, out), taps);
    for (int64_t t = 0; t < taps; t++)
      for (int64_t i = 0; i < G; i++) {
        int64_t from = OX_MIN(o + i, out - 1) * taps + t, to = o * taps + t * G + i;
        lines->index[to] = index[from] - w.first;
        if (weight) lines->weight[to] = weight[from];
      }
  }
  return true;
}
