/* SPDX-License-Identifier: Apache-2.0
 * device/ops/one_hot.c - OneHot of integers. */
#include "plugins/device/kernels/select_params.h"
#include "plugins/device/move.h"

static const char *takes(const dev_node *n) {
  uint32_t index = dev_in_dtype(n, 0);
  if (index != OX_I64 && index != OX_I32) return REASON("indices of int32 or int64", "{0}");
  if (!dev_in_constant(n, 1)) return REASON("a constant depth", "{1}");
  if (dev_in_rank(n, 0) < 0 || !dev_element_bytes(dev_in_dtype(n, 2)))
    return REASON("a known rank, and values of 8, 16, 32 or 64 bits, or bool", "{0}, {2}");
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  static const char *const kernels[] = {"one_hot1", "one_hot2", "one_hot4", "one_hot8"};
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  int axis = dev_axis(dev_attr_int(n, "axis", -1), y->rank);
  if (axis < 0 || dev_count(p, dev_in(n, 2)) != 2) return dev_refuse(p, "there is no such axis, or not two values");
  one_hot_params q = {.n = (int)dev_count(p, dev_out(n, 0)),
                      .depth = (int)y->dim[axis],
                      .inner = (int)dev_span(y, axis + 1, y->rank),
                      .wide = dev_in_dtype(n, 0) == OX_I64};
  dev_call c = {.source = "triangle",
                .kernel = dev_of_bytes(kernels, dev_element_bytes(dev_dtype(p, dev_out(n, 0)))),
                .dtype = OX_F32,
                .n_buffers = 3,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 2)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 2,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"OneHot", NULL};
DEV_OP(one_hot) = {"", names, takes, emit};
