/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/pool.h - maxima and averages of windows, an item for each output. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/pool_params.h"
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
      int x0 = at % p.out[2] * p.stride[2] - p.pad[2], rest = at / p.out[2];
      int y0 = rest % p.out[1] * p.stride[1] - p.pad[1];
      rest /= p.out[1];
      int z0 = rest % p.out[0] * p.stride[0] - p.pad[0], plane = rest / p.out[0] * p.in[0];
      float v = p.maximum ? -INFINITY : 0.0f;
      int count = 0;
      for (int kz = 0; kz < p.extent[0]; kz++) {
        int z = z0 + kz * p.dilation[0], z_in = z >= 0 && z < p.in[0], z_counts = z_in || (p.count_pad && z < p.end[0]);
        for (int ky = 0; ky < p.extent[1]; ky++) {
          int row = y0 + ky * p.dilation[1], row_in = z_in && row >= 0 && row < p.in[1];
          int row_counts = z_counts && ((row >= 0 && row < p.in[1]) || (p.count_pad && row < p.end[1]));
          for (int kx = 0; kx < p.extent[2]; kx++) {
            int i = x0 + kx * p.dilation[2], in = i >= 0 && i < p.in[2];
            if (row_in && in) {
              float u = LOAD(x, ((plane + z) * p.in[1] + row) * p.in[2] + i);
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
      int x0 = at % p.out[2] * p.stride[2] - p.pad[2], rest = at / p.out[2], place = -1;
      int y0 = rest % p.out[1] * p.stride[1] - p.pad[1];
      rest /= p.out[1];
      int z0 = rest % p.out[0] * p.stride[0] - p.pad[0], plane = rest / p.out[0] * p.in[0];
      float v = -INFINITY;
      for (int kz = 0; kz < p.extent[0]; kz++) {
        for (int ky = 0; ky < p.extent[1]; ky++) {
          for (int kx = 0; kx < p.extent[2]; kx++) {
            int z = z0 + kz * p.dilation[0], row = y0 + ky * p.dilation[1], i = x0 + kx * p.dilation[2];
            if (z >= 0 && z < p.in[0] && row >= 0 && row < p.in[1] && i >= 0 && i < p.in[2]) {
              int from = ((plane + z) * p.in[1] + row) * p.in[2] + i;
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
