/* SPDX-License-Identifier: Apache-2.0
 * device/ops/cumulate.c - CumSum along a constant axis. */
#include "plugins/device/emit.h"
#include "plugins/device/kernels/select_params.h"

enum { SHORT_ROW = 64 };

static bool is_integer(uint32_t dtype) { return dtype == OX_I32 || dtype == OX_I64; }

static const char *takes(const dev_node *n) {
  int64_t axis;
  uint32_t dtype = dev_in_dtype(n, 0);
  int rank = dev_in_rank(n, 0);
  if (dtype != OX_F32 && dtype != OX_F16 && !is_integer(dtype))
    return REASON("float32, float16, int32 or int64", "{0}");
  if (rank < 1 || (is_integer(dtype) && rank < 2))
    return REASON("a known rank, of integers 2 or more (those of fewer axes are shapes)", "{0}");
  if (dev_in_ints(n, 1, &axis, 1) != 1 || dev_axis(axis, rank) < 0)
    return REASON("a constant axis of the input", "{1}, {0}");
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  uint32_t dtype = dev_dtype(p, dev_in(n, 0));
  int64_t given = 0;
  if (dev_in_ints(n, 1, &given, 1) != 1) return dev_refuse(p, "an axis that is not constant");
  int axis = dev_axis(given, x->rank);
  if (axis < 0) return dev_refuse(p, "there is no such axis");
  cumulate_params q = {.n = (int)x->dim[axis],
                       .inner = (int)dev_span(x, axis + 1, x->rank),
                       .exclusive = dev_attr_int(n, "exclusive", 0) != 0,
                       .reverse = dev_attr_int(n, "reverse", 0) != 0};
  q.rows = (int)(dev_span(x, 0, axis) * q.inner);
  bool items = q.n <= SHORT_ROW || q.rows >= (int)dev_plan_device(p)->n_units * 256;
  dev_call c = {.source = "cumulate",
                .kernel = dtype == OX_I32   ? items ? "cumulate_items_int" : "cumulate_rows_int"
                          : dtype == OX_I64 ? items ? "cumulate_items_long" : "cumulate_rows_long"
                          : items           ? "cumulate_items"
                                            : "cumulate_rows",
                .dtype = dtype == OX_F16 ? OX_F16 : OX_F32,
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 1,
                DEV_PARAMS(q)};
  if (dev_count(p, dev_in(n, 0)) == 0) return NULL;
  if (items) return dev_emit_items(p, &c, q.rows);
  c.groups[0] = (uint32_t)q.rows, c.items = 256;
  return dev_emit(p, &c);
}

static const char *const names[] = {"CumSum", NULL};
DEV_OP(cumulate) = {"", names, takes, emit};
