/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/pool.h - maxima and averages of windows, an item for each output. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/pool_params.h"
#include "plugins/device/kernels/pool_window.h"
#include "plugins/device/kernels/tail.h"

KERNEL(pool, pool_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  BUFFER(const REAL, o0, 2);
  BUFFER(const REAL, o1, 3);
  BUFFER(const REAL, o2, 4);
  PARAMS(pool_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      pool_window w = pool_window_of(&p, at);
      float v = p.maximum ? -INFINITY : 0.0f;
      int count = 0;
      for (int kz = 0; kz < p.extent[0]; kz++) {
        int z = w.z + kz * p.dilation[0], z_in = z >= 0 && z < p.in[0];
        int z_counts = z_in || (p.count_pad && z < p.end[0]);
        for (int ky = 0; ky < p.extent[1]; ky++) {
          int row = w.y + ky * p.dilation[1], row_in = z_in && row >= 0 && row < p.in[1];
          int row_counts = z_counts && ((row >= 0 && row < p.in[1]) || (p.count_pad && row < p.end[1]));
          for (int kx = 0; kx < p.extent[2]; kx++) {
            int i = w.x + kx * p.dilation[2], in = i >= 0 && i < p.in[2];
            if (row_in && in) {
              float u = LOAD(x, pool_at(&p, &w, z, row, i));
              if (p.maximum) {
                v = u > v || ISNAN(u) ? u : v;
              } else {
                v += u;
              }
            }
            count += row_counts && (in || (p.count_pad && i < p.end[2]));
          }
        }
      }
      if (!p.maximum) v = v / (float)MAX_OF(count, 1);
      STORE(y, at, tail_apply(&p.tail, v, at, o0, o1, o2));
    }
  }
}

/* Maxima and where they are in x; no tail. Of equal ones the first; NaN wins. */
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
      for (int kz = 0; kz < p.extent[0]; kz++) {
        for (int ky = 0; ky < p.extent[1]; ky++) {
          for (int kx = 0; kx < p.extent[2]; kx++) {
            int z = w.z + kz * p.dilation[0], row = w.y + ky * p.dilation[1], i = w.x + kx * p.dilation[2];
            if (pool_is_inside(&p, z, row, i)) {
              int from = pool_at(&p, &w, z, row, i);
              float u = LOAD(x, from);
              if (place < 0 || u > v || (ISNAN(u) && !ISNAN(v))) v = u, place = from;
            }
          }
        }
      }
      STORE(y, at, v);
      y_at[at] = place < 0 ? 0 : place;
    }
  }
}
