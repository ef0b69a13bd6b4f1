/* SPDX-License-Identifier: Apache-2.0
 * device/ops/slice.c - Slice with bounds that are constant or follow from shapes. */
#include "plugins/device/move.h"

typedef struct bounds {
  int64_t start[OX_MAX_RANK], axis[OX_MAX_RANK], step[OX_MAX_RANK];
  size_t n;
} bounds;

static bool read_bounds(const dev_node *n, bounds *b) {
  int64_t ends[OX_MAX_RANK];
  bool inputs = dev_node_version(n) >= 10;
  b->n = inputs ? dev_in_ints(n, 1, b->start, OX_MAX_RANK) : dev_attr_ints(n, "starts", b->start, OX_MAX_RANK);
  if (b->n > OX_MAX_RANK) return false;
  if (inputs && dev_in_ints(n, 2, ends, OX_MAX_RANK) != b->n) return false;
  for (size_t i = 0; i < b->n; i++) b->axis[i] = (int64_t)i, b->step[i] = 1;
  if (!inputs) return !dev_attr_ints(n, "axes", NULL, 0) || dev_attr_ints(n, "axes", b->axis, OX_MAX_RANK) == b->n;
  if (dev_in_count(n) > 3 && dev_in(n, 3) != UINT32_MAX && dev_in_ints(n, 3, b->axis, OX_MAX_RANK) != b->n)
    return false;
  return dev_in_count(n) <= 4 || dev_in(n, 4) == UINT32_MAX || dev_in_ints(n, 4, b->step, OX_MAX_RANK) == b->n;
}

static const char *takes(const dev_node *n) {
  bounds b;
  const char *why = dev_takes_data(n, 0, 8);
  if (why) return why;
  for (size_t i = 1; i < dev_in_count(n) && dev_node_version(n) >= 10; i++)
    if (dev_in(n, i) != UINT32_MAX && !dev_in_host(n, i))
      return REASON("bounds that are known before the run", "{inputs}");
  return dev_node_version(n) >= 10 || read_bounds(n, &b) ? NULL : REASON("constant bounds", "{starts}, {ends}, {axes}");
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *y = dev_shape(p, dev_out(n, 0));
  bounds b;
  dev_move m = {.rank = x->rank};
  if (!read_bounds(n, &b)) return dev_refuse(p, "bounds are not constant");
  dev_strides(x, m.from_stride);
  dev_strides(y, m.to_stride);
  for (int d = 0; d < x->rank; d++) m.size[d] = y->dim[d];
  for (size_t i = 0; i < b.n; i++) {
    int axis = dev_axis(b.axis[i], x->rank);
    if (axis < 0) return dev_refuse(p, "there is no such axis");
    int64_t dim = x->dim[axis], start = b.start[i] < 0 ? b.start[i] + dim : b.start[i],
            last = b.step[i] < 0 ? dim - 1 : dim;
    start = start < 0 ? 0 : start > last ? last : start;
    m.from += start * m.from_stride[axis], m.from_stride[axis] *= b.step[i];
  }
  for (int d = 0; d < x->rank; d++)
    if (m.size[d] == 1) m.from_stride[d] = 0; /* the step is unused and may be huge */
  return dev_emit_move(p, &m, dev_dtype(p, dev_in(n, 0)), dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0)));
}

static const char *const names[] = {"Slice", NULL};
DEV_OP(slice) = {"", names, takes, emit};
