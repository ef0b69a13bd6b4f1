/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/pool.h - maxima, averages and norms of windows, an item for each output. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/pool_params.h"
#include "plugins/device/kernels/pool_window.h"
#include "plugins/device/kernels/tail.h"

/* |v|^power; models have 1 and 2. */
FUNCTION float pool_power(float v, float power) {
  v = FABSF(v);
  return power == 1.0f ? v : power == 2.0f ? v * v : POWF(v, power);
}

KERNEL(pool, pool_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  TAIL_BUFFERS(2, 3, 4);
  PARAMS(pool_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      pool_window w = pool_window_of(&p, at);
      float v = p.maximum ? -INFINITY : 0.0f;
      int count = 0;
      POOL_TAPS(p, w, z, row, i) {
        int inside = pool_is_inside(&p, z, row, i);
        if (inside) {
          float u = LOAD(x, pool_at(&p, &w, z, row, i));
          if (p.maximum) {
            v = u > v || ISNAN(u) ? u : v;
          } else {
            v += p.power > 0.0f ? pool_power(u, p.power) : u;
          }
        }
        count += pool_counts(&p, inside, z, row, i);
      }
      if (p.power > 0.0f) {
        v = p.power == 1.0f ? v : p.power == 2.0f ? SQRTF(v) : POWF(v, 1.0f / p.power);
      } else if (!p.maximum) {
        v = v / (float)MAX_OF(count, 1);
      }
      STORE(y, at, tail_apply(&p.tail, v, at, o0, o1, o2));
    }
  }
}

/* Maxima and their positions in x: the first of equal elements, or a NaN. No tail. */
KERNEL(pool_indices, pool_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  BUFFER(dev_long, y_at, 2);
  PARAMS(pool_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      pool_window w = pool_window_of(&p, at);
      float v = -INFINITY;
      int place = -1;
      POOL_TAPS(p, w, z, row, i) {
        if (pool_is_inside(&p, z, row, i)) {
          int from = pool_at(&p, &w, z, row, i);
          float u = LOAD(x, from);
          if (place < 0 || u > v || (ISNAN(u) && !ISNAN(v))) v = u, place = from;
        }
      }
      STORE(y, at, v);
      y_at[at] = place < 0 ? 0 : place;
    }
  }
}
