/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f64.c - convolution in double precision: rows of the output gather one tap at a time. */
#include "kern/conv/conv_f64.h"

/* y[i] += w * x[first + i * stride] where that lies in the row. */
static void add_tap(double *y, const double *x, double w, int64_t first, int64_t n, int64_t stride, int64_t len) {
  int64_t lo = first < 0 ? OX_MIN((-first + stride - 1) / stride, len) : 0;
  for (int64_t i = lo; i < len && first + i * stride < n; i++) y[i] += w * x[first + i * stride];
}

/* Adds one input plane, filtered, to one output plane. */
static void add_channel(const ox_conv_geom *g, const double *x, const double *w, double *y) {
  for (int64_t d = 0; d < g->n_taps[0]; d++)
    for (int64_t h = 0; h < g->n_taps[1]; h++)
      for (int64_t t = 0; t < g->n_taps[2]; t++, w++)
        for (int64_t od = 0; od < g->out[0]; od++) {
          int64_t id = od * g->stride[0] + g->tap[0][d];
          if (id < 0 || id >= g->in[0]) continue;
          for (int64_t oh = 0; oh < g->out[1]; oh++) {
            int64_t ih = oh * g->stride[1] + g->tap[1][h];
            if (ih < 0 || ih >= g->in[1]) continue;
            add_tap(y + (od * g->out[1] + oh) * g->out[2], x + (id * g->in[1] + ih) * g->in[2], *w, g->tap[2][t],
                    g->in[2], g->stride[2], g->out[2]);
          }
        }
}

void ox_conv_f64(const ox_conv_geom *g, const double *x, const double *w, const double *bias, double *y, int64_t begin,
                 int64_t end) {
  int64_t taps = g->n_taps[0] * g->n_taps[1] * g->n_taps[2];
  int64_t in = g->in[0] * g->in[1] * g->in[2], out = g->out[0] * g->out[1] * g->out[2];
  for (int64_t u = begin; u < end; u++) {
    int64_t channel = u % (g->groups * g->oc), group = u / g->oc;
    double *o = y + u * out;
    for (int64_t i = 0; i < out; i++) o[i] = bias ? bias[channel] : 0;
    for (int64_t c = 0; c < g->ic; c++)
      add_channel(g, x + (group * g->ic + c) * in, w + (channel * g->ic + c) * taps, o);
  }
}
