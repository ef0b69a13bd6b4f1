/* SPDX-License-Identifier: Apache-2.0
 * support/conv_sum.h - one output of a convolution, as the standard defines it, in double precision. */
#ifndef OX_TESTS_CONV_SUM_H
#define OX_TESTS_CONV_SUM_H

#include <math.h>

#include "kern/conv/conv.h"

/* The sum over the window of output |o|. |group|: of all images; |w|: the filter; *size grows by the magnitudes. */
static inline double conv_sum_at(const ox_conv_geom *g, const float *x, const float *w, int64_t group, const int64_t *o,
                                 double *size) {
  double sum = 0;
  for (int64_t c = 0; c < g->ic; c++)
    for (int64_t d = 0; d < g->n_taps[0]; d++)
      for (int64_t h = 0; h < g->n_taps[1]; h++)
        for (int64_t t = 0; t < g->n_taps[2]; t++, w++) {
          int64_t i[3] = {o[0] * g->stride[0] + g->tap[0][d], o[1] * g->stride[1] + g->tap[1][h],
                          o[2] * g->stride[2] + g->tap[2][t]};
          if (i[0] < 0 || i[1] < 0 || i[2] < 0 || i[0] >= g->in[0] || i[1] >= g->in[1] || i[2] >= g->in[2]) continue;
          double v =
              (double)*w * (double)x[(((group * g->ic + c) * g->in[0] + i[0]) * g->in[1] + i[1]) * g->in[2] + i[2]];
          sum += v, *size += fabs(v);
        }
  return sum;
}

#endif
