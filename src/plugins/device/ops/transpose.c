/* SPDX-License-Identifier: Apache-2.0
 * device/ops/transpose.c - Transpose. */
#include "plugins/device/move.h"

static const char *takes(const dev_node *n) { return dev_takes_data(n, 0, 8); }

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int64_t perm[OX_MAX_RANK], strides[OX_MAX_RANK];
  size_t given = dev_attr_ints(n, "perm", perm, OX_MAX_RANK);
  dev_move m = {.rank = x->rank};
  dev_strides(x, strides);
  dev_strides(dev_shape(p, dev_out(n, 0)), m.to_stride);
  for (int d = 0; d < x->rank; d++) {
    int from = given ? dev_axis(perm[d], x->rank) : x->rank - 1 - d;
    if (from < 0) return dev_refuse(p, "perm names an axis that X lacks");
    m.size[d] = x->dim[from], m.from_stride[d] = strides[from];
  }
  return dev_emit_move(p, &m, dev_dtype(p, dev_in(n, 0)), dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0)));
}

static const char *const names[] = {"Transpose", NULL};
DEV_OP(transpose) = {"", names, takes, emit};
