/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_far.c - divides outputs into pieces with the same taps inside the image. */
#include <math.h>

#include "kern/blocks/bconv_far.h"

enum { LEAST_WIDTH = 6 /* pixels: narrower strips take as long as one of this width */ };
static const double worthwhile = 0.75;

/* The outputs [*lo, *hi) whose tap |t| is inside. */
static void outputs_of(const ox_conv_geom *g, int a, int64_t t, int64_t *lo, int64_t *hi) {
  int64_t tap = g->tap[a][t], step = g->stride[a];
  *lo = tap < 0 ? OX_CEIL_DIV(-tap, step) : 0;
  *hi = tap < g->in[a] ? (g->in[a] - 1 - tap) / step + 1 : 0;
}

int64_t ox_bconv_far_piece(const ox_conv_geom *g, int a, int64_t o, int64_t end, int64_t *tap, int64_t *n) {
  *tap = *n = 0;
  for (int64_t t = 0; t < g->n_taps[a]; t++) {
    int64_t lo, hi;
    outputs_of(g, a, t, &lo, &hi);
    if (o >= lo && o < hi) {
      if (!(*n)++) *tap = t;
      end = OX_MIN(end, hi);
    } else if (o < lo && lo < hi) {
      end = OX_MIN(end, lo);
    }
  }
  return end;
}

/* Are the taps in ascending or descending order, so that those of a piece are adjacent? */
static bool in_order(const ox_conv_geom *g, int a) {
  const int64_t *tap = g->tap[a];
  for (int64_t t = 2; t < g->n_taps[a]; t++)
    if ((tap[t] > tap[t - 1]) != (tap[1] > tap[0])) return false;
  return true;
}

/* The pixels that are computed without pieces: rows narrower than a strip are computed together. */
static double dense_pixels(const ox_conv_geom *g) {
  double rows = (double)(g->out[0] * g->out[1]), width = (double)g->out[2];
  return g->in[2] < LEAST_WIDTH ? fmax(rows * width, LEAST_WIDTH) : rows * fmax(width, LEAST_WIDTH);
}

double ox_bconv_far_share(const ox_conv_geom *g) {
  double pieces = 1, taps = 1;
  for (int a = 0; a < OX_CONV_AXES; a++) {
    double left = 0;
    if (!g->out[a] || !g->n_taps[a] || !in_order(g, a)) return 1;
    for (int64_t o = 0, end, tap, n; o < g->out[a]; o = end) {
      end = ox_bconv_far_piece(g, a, o, g->out[a], &tap, &n);
      left += (double)(a == 2 ? OX_MAX(end - o, LEAST_WIDTH) : end - o) * (double)n;
    }
    pieces *= left, taps *= (double)g->n_taps[a];
  }
  double share = pieces / (dense_pixels(g) * taps);
  return share < worthwhile ? share : 1;
}
