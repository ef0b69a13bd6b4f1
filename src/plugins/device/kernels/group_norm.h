/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/group_norm.h - normalizes groups of channels to mean 0 and variance 1; a work group for each. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/group_norm_params.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/group_sum.h"
#include "plugins/device/kernels/tail.h"

/* The position of element |i| of channel group |row|. */
FUNCTION int group_norm_at(const group_norm_params *p, int row, int i) {
  if (!p->last) return row * p->channels * p->pixels + i;
  return (row / p->groups * p->pixels + i / p->channels) * p->groups * p->channels + row % p->groups * p->channels +
         i % p->channels;
}

FUNCTION float group_norm_number(const GLOBAL char *v, int wide, int i) {
  if (wide) return ((const GLOBAL float *)v)[i];
  return LOAD((const GLOBAL REAL *)v, i);
}

KERNEL(group_norm, group_norm_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const char, scale, 1);
  BUFFER(const char, shift, 2);
  BUFFER(REAL, y, 3);
  TAIL_BUFFERS(4, 5, 6);
  PARAMS(group_norm_params, p);
  LOCAL(float, means, [ROWS_ITEMS]);
  LOCAL(float, squares, [ROWS_ITEMS]);
  int row = GROUP(0), n = p.channels * p.pixels;
  FOR_ITEMS(t, ROWS_ITEMS) {
    float sum = 0.0f;
    for (int i = t; i < n; i += ROWS_ITEMS) sum += LOAD(x, group_norm_at(&p, row, i));
    means[t] = sum;
  }
  GROUP_COMBINE(means, ADD_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float mean = means[0] / (float)n, sum = 0.0f;
    for (int i = t; i < n; i += ROWS_ITEMS) {
      float v = LOAD(x, group_norm_at(&p, row, i)) - mean;
      sum = FMAF(v, v, sum);
    }
    squares[t] = sum;
  }
  GROUP_COMBINE(squares, ADD_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float mean = means[0] / (float)n, factor = 1.0f / SQRTF(squares[0] / (float)n + p.epsilon);
    for (int i = t; i < n; i += ROWS_ITEMS) {
      int at = group_norm_at(&p, row, i);
      int c = row % p.groups * p.channels + (p.last ? i % p.channels : i / p.pixels);
      float v = (LOAD(x, at) - mean) * factor * group_norm_number(scale, p.wide, c);
      v += group_norm_number(shift, p.wide, c);
      STORE(y, at, tail_apply(&p.tail, v, at, o0, o1, o2));
    }
  }
}
