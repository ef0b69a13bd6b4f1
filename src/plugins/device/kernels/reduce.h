/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/reduce.h - sums, products and extremes over any axes. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/group_sum.h"
#include "plugins/device/kernels/reduce_place.h"
#include "plugins/device/kernels/tail.h"

FUNCTION float reduce_start(int op) {
  return op == REDUCE_MAX ? -INFINITY : op == REDUCE_MIN ? INFINITY : op == REDUCE_PROD ? 1.0f : 0.0f;
}

/* |most|: the maximum of all terms, for REDUCE_LOG_SUM_EXP. */
FUNCTION float reduce_map(int op, float v, float most) {
  if (op == REDUCE_L1) return FABSF(v);
  if (op == REDUCE_L2 || op == REDUCE_SUM_SQUARE) return v * v;
  if (op == REDUCE_LOG_SUM_EXP) return v == most ? 1.0f : EXPF(v - most);
  return v;
}

FUNCTION float reduce_combine(int op, float a, float b) {
  if (op == REDUCE_MAX) return HIGHER_OF(a, b);
  if (op == REDUCE_MIN) return LOWER_OF(a, b);
  return op == REDUCE_PROD ? a * b : a + b;
}

FUNCTION float reduce_end(int op, float v, int n, float most) {
  if (op == REDUCE_MEAN) return n ? v / (float)n : 0;
  if (op == REDUCE_L2) return SQRTF(v);
  if (op == REDUCE_LOG_SUM) return LOGF(v);
  if (op == REDUCE_LOG_SUM_EXP) return FABSF(most) == INFINITY ? most : LOGF(v) + most;
  return v;
}
#define REDUCE_TWO(a, b) reduce_combine(p.op, a, b)

/* A group for each output. */
KERNEL(reduce_rows, reduce_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  TAIL_BUFFERS(2, 3, 4);
  PARAMS(reduce_params, p);
  LOCAL(float, most, [ROWS_ITEMS]);
  LOCAL(float, parts, [ROWS_ITEMS]);
  int first = reduce_kept(&p, GROUP(0));
  FOR_ITEMS(t, ROWS_ITEMS) {
    most[t] = -INFINITY;
    if (p.op == REDUCE_LOG_SUM_EXP) {
      for (int i = t; i < p.n; i += ROWS_ITEMS) {
        float v = LOAD(x, first + reduce_gone(&p, i));
        most[t] = HIGHER_OF(v, most[t]);
      }
    }
  }
  GROUP_COMBINE(most, HIGHER_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float v = reduce_start(p.op);
    for (int i = t; i < p.n; i += ROWS_ITEMS)
      v = REDUCE_TWO(v, reduce_map(p.op, LOAD(x, first + reduce_gone(&p, i)), most[0]));
    parts[t] = v;
  }
  GROUP_COMBINE(parts, REDUCE_TWO);
  FOR_ITEMS(t, ROWS_ITEMS) {
    if (t == 0) STORE(y, GROUP(0), tail_apply(&p.tail, reduce_end(p.op, parts[0], p.n, most[0]), GROUP(0), o0, o1, o2));
  }
}

/* An item for each output: for few terms, or where adjacent outputs read adjacent elements. */
KERNEL(reduce_items, reduce_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  TAIL_BUFFERS(2, 3, 4);
  PARAMS(reduce_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.outputs) {
      int first = reduce_kept(&p, at);
      float most = -INFINITY, v = reduce_start(p.op);
      if (p.op == REDUCE_LOG_SUM_EXP) {
        for (int i = 0; i < p.n; i++) {
          float u = LOAD(x, first + reduce_gone(&p, i));
          most = HIGHER_OF(u, most);
        }
      }
      for (int i = 0; i < p.n; i++) v = REDUCE_TWO(v, reduce_map(p.op, LOAD(x, first + reduce_gone(&p, i)), most));
      STORE(y, at, tail_apply(&p.tail, reduce_end(p.op, v, p.n, most), at, o0, o1, o2));
    }
  }
}
