/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/scatter_reduce.h - ScatterElements and ScatterND with a reduction. Updates that may hit the same
 * element are done by one item, in order: those along the axis, or all tuples for one position in the slices. So
 * results are deterministic and equal those of a sequential loop. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/move_params.h"
#include "plugins/device/kernels/index.h"

/* Minimum and maximum propagate NaN. */
FUNCTION float scatter_reduced(int op, float v, float u) {
  float y = op == SCATTER_ADD ? v + u : MULF(v, u);
  if (op == SCATTER_MIN) y = u < v || ISNAN(u) ? u : v;
  if (op == SCATTER_MAX) y = u > v || ISNAN(u) ? u : v;
  return y;
}

/* An item for each lane: the indices that differ only in their position along the axis. */
KERNEL(scatter_elements_reduce, scatter_elements_params) {
  BUFFER(const REAL, updates, 0);
  BUFFER(const char, index, 1);
  BUFFER(REAL, y, 2);
  PARAMS(scatter_elements_params, q);
  FOR_ITEMS(t, 256) {
    int lane = GROUP(0) * 256 + t;
    if (lane < q.lanes) {
      int place = 0, first = 0, step = 1, apart = 1, rest = lane;
      for (int d = MOVE_DIMS - 1; d >= 0; d--) {
        if (d == q.of.axis) {
          apart = step;
        } else {
          place += rest % q.of.size[d] * q.of.stride[d], first += rest % q.of.size[d] * step;
          rest /= q.of.size[d];
        }
        step *= q.of.size[d];
      }
      for (int i = 0; i < q.of.size[q.of.axis]; i++) {
        int from = first + i * apart;
        int to = place + index_at(index, q.of.wide, from, q.of.axis_size) * q.of.stride[q.of.axis];
        STORE(y, to, scatter_reduced(q.op, LOAD(y, to), LOAD(updates, from)));
      }
    }
  }
}

KERNEL(scatter_nd_reduce, scatter_nd_params) {
  BUFFER(const REAL, updates, 0);
  BUFFER(const char, index, 1);
  BUFFER(REAL, y, 2);
  PARAMS(scatter_nd_params, q);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < q.of.inner) {
      for (int tuple = 0; tuple < q.tuples; tuple++) {
        int place = 0, from = tuple * q.of.inner + i;
        for (int d = 0; d < q.of.k; d++)
          place = place * q.of.size[d] + index_at(index, q.of.wide, tuple * q.of.k + d, q.of.size[d]);
        int to = place * q.of.inner + i;
        STORE(y, to, scatter_reduced(q.op, LOAD(y, to), LOAD(updates, from)));
      }
    }
  }
}
