/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/softmax.h - Softmax and LogSoftmax along one axis. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/group_sum.h"

/* A group for each row; inner is 1. */
KERNEL(softmax_rows, softmax_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  PARAMS(softmax_params, p);
  LOCAL(float, most, [ROWS_ITEMS]);
  LOCAL(float, sums, [ROWS_ITEMS]);
  int row = GROUP(0) * p.n;
  FOR_ITEMS(t, ROWS_ITEMS) {
    float v = -INFINITY;
    for (int i = t; i < p.n; i += ROWS_ITEMS) {
      float u = LOAD(x, row + i);
      v = HIGHER_OF(u, v);
    }
    most[t] = v;
  }
  GROUP_COMBINE(most, HIGHER_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float sum = 0.0f;
    for (int i = t; i < p.n; i += ROWS_ITEMS) sum += EXPF(LOAD(x, row + i) - most[0]);
    sums[t] = sum;
  }
  GROUP_COMBINE(sums, ADD_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    float scale = p.is_log ? LOGF(sums[0]) : 1.0f / sums[0];
    for (int i = t; i < p.n; i += ROWS_ITEMS) {
      float v = LOAD(x, row + i) - most[0];
      STORE(y, row + i, p.is_log ? v - scale : EXPF(v) * scale);
    }
  }
}

/* An item for each row: for short rows, or inner above 1. */
KERNEL(softmax_items, softmax_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  PARAMS(softmax_params, p);
  FOR_ITEMS(t, 256) {
    int row = GROUP(0) * 256 + t;
    if (row < p.outer * p.inner) {
      int first = row / p.inner * p.n * p.inner + row % p.inner;
      float most = -INFINITY, sum = 0.0f;
      for (int i = 0; i < p.n; i++) {
        float v = LOAD(x, first + i * p.inner);
        most = HIGHER_OF(v, most);
      }
      for (int i = 0; i < p.n; i++) sum += EXPF(LOAD(x, first + i * p.inner) - most);
      float scale = p.is_log ? LOGF(sum) : 1.0f / sum;
      for (int i = 0; i < p.n; i++) {
        float v = LOAD(x, first + i * p.inner) - most;
        STORE(y, first + i * p.inner, p.is_log ? v - scale : EXPF(v) * scale);
      }
    }
  }
}
