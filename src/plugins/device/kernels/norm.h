/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/norm.h - normalizes rows to mean 0 and variance 1, or to mean square 1; a group for each row. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/group_sum.h"
#include "plugins/device/kernels/tail.h"

KERNEL(norm, norm_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, scale, 1);
  BUFFER(const REAL, shift, 2);
  BUFFER(REAL, y, 3);
  TAIL_BUFFERS(4, 5, 6);
  PARAMS(norm_params, p);
  LOCAL(float, means, [ROWS_ITEMS]);
  LOCAL(float, squares, [ROWS_ITEMS]);
  int row = GROUP(0);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float sum = 0.0f;
    if (p.centred) {
      for (int i = t; i < p.n; i += ROWS_ITEMS) sum += LOAD(x, row * p.n + i);
    }
    means[t] = sum;
  }
  GROUP_COMBINE(means, ADD_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float mean = means[0] / (float)p.n, sum = 0.0f;
    for (int i = t; i < p.n; i += ROWS_ITEMS) {
      float v = LOAD(x, row * p.n + i) - mean;
      sum = FMAF(v, v, sum);
    }
    squares[t] = sum;
  }
  GROUP_COMBINE(squares, ADD_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float mean = means[0] / (float)p.n, factor = 1.0f / SQRTF(squares[0] / (float)p.n + p.epsilon);
    for (int i = t; i < p.n; i += ROWS_ITEMS) {
      int at = row * p.n + i, channel = (row % p.cycle * p.n + i) / p.span;
      float v = (LOAD(x, at) - mean) * factor * LOAD(scale, channel);
      if (p.has_shift) v += LOAD(shift, channel);
      STORE(y, at, tail_apply(&p.tail, v, at, o0, o1, o2));
    }
  }
}
