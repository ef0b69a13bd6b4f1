/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/arg.h - ArgMax and ArgMin; NaN counts as the largest and the smallest element. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/select_params.h"

/* Does element |v| at |i| replace |best|? */
FUNCTION int arg_wins(const arg_params *p, float v, int i, float best, int best_at) {
  int better = p->smallest ? v < best : v > best, same = v == best || (ISNAN(v) && ISNAN(best));
  if (ISNAN(v) != ISNAN(best)) better = ISNAN(v);
  return better || (same && (p->last ? i > best_at : i < best_at));
}

/* An item for each row. */
KERNEL(arg_items, arg_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(dev_long, y, 1);
  PARAMS(arg_params, p);
  FOR_ITEMS(t, 256) {
    int row = GROUP(0) * 256 + t;
    if (row < p.rows) {
      int from = row / p.inner * p.n * p.inner + row % p.inner, at = 0;
      float best = LOAD(x, from);
      for (int i = 1; i < p.n; i++) {
        float v = LOAD(x, from + i * p.inner);
        if (arg_wins(&p, v, i, best, at)) best = v, at = i;
      }
      y[row] = at;
    }
  }
}

/* A group for each row. */
KERNEL(arg_rows, arg_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(dev_long, y, 1);
  PARAMS(arg_params, p);
  LOCAL(float, best, [ROWS_ITEMS]);
  LOCAL(int, at, [ROWS_ITEMS]);
  int row = GROUP(0), from = row / p.inner * p.n * p.inner + row % p.inner;
  FOR_ITEMS(t, ROWS_ITEMS) {
    int first = MIN_OF(t, p.n - 1);
    best[t] = LOAD(x, from + first * p.inner), at[t] = first;
    for (int i = t + ROWS_ITEMS; i < p.n; i += ROWS_ITEMS) {
      float v = LOAD(x, from + i * p.inner);
      if (arg_wins(&p, v, i, best[t], at[t])) best[t] = v, at[t] = i;
    }
  }
  BARRIER;
  for (int apart = ROWS_ITEMS / 2; apart > 0; apart /= 2) {
    FOR_ITEMS(t, ROWS_ITEMS) {
      if (t < apart && arg_wins(&p, best[t + apart], at[t + apart], best[t], at[t]))
        best[t] = best[t + apart], at[t] = at[t + apart];
    }
    BARRIER;
  }
  FOR_ITEMS(t, ROWS_ITEMS) {
    if (t == 0) y[row] = at[0];
  }
}
