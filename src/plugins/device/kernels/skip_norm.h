/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/skip_norm.h - adds a residual to rows and normalizes them; a group for each row. The sum is recomputed
 * in each pass, unless it is an output. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/skip_norm_params.h"
#include "plugins/device/kernels/group_sum.h"

KERNEL(skip_norm, skip_norm_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, skip, 1);
  BUFFER(const REAL, bias, 2);
  BUFFER(const REAL, scale, 3);
  BUFFER(const REAL, shift, 4);
  BUFFER(REAL, y, 5);
  BUFFER(REAL, total, 6);
  PARAMS(skip_norm_params, p);
  LOCAL(float, means, [ROWS_ITEMS]);
  LOCAL(float, squares, [ROWS_ITEMS]);
  int first = GROUP(0) * p.n;
#define SKIP_NORM_SUM(i) \
  (LOAD(x, first + (i)) + LOAD(skip, (first + (i)) % p.skip_n) + (p.has_bias ? LOAD(bias, i) : 0.0f))
  FOR_ITEMS(t, ROWS_ITEMS) {
    float sum = 0.0f;
    for (int i = t; i < p.n; i += ROWS_ITEMS) {
      float v = SKIP_NORM_SUM(i);
      if (p.wants_sum) STORE(total, first + i, v);
      sum += v;
    }
    means[t] = p.centred ? sum : 0.0f;
  }
  GROUP_COMBINE(means, ADD_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float mean = means[0] / (float)p.n, sum = 0.0f;
    for (int i = t; i < p.n; i += ROWS_ITEMS) {
      float v = SKIP_NORM_SUM(i) - mean;
      sum = FMAF(v, v, sum);
    }
    squares[t] = sum;
  }
  GROUP_COMBINE(squares, ADD_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float mean = means[0] / (float)p.n, factor = 1.0f / SQRTF(squares[0] / (float)p.n + p.epsilon);
    for (int i = t; i < p.n; i += ROWS_ITEMS) {
      float v = (SKIP_NORM_SUM(i) - mean) * factor * LOAD(scale, i);
      STORE(y, first + i, p.has_shift ? v + LOAD(shift, i) : v);
    }
  }
}
