/* SPDX-License-Identifier: Apache-2.0
 * device/ops/arg.c - ArgMax and ArgMin. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/select_params.h"

enum { SHORT_ROW = 32 };

static const char *takes(const dev_node *n) { return dev_takes_real(n, 1, OX_MAX_RANK); }

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int axis = dev_axis(dev_attr_int(n, "axis", 0), x->rank);
  if (axis < 0) return dev_refuse(p, "there is no such axis");
  arg_params q = {.rows = (int)dev_count(p, dev_out(n, 0)),
                  .n = (int)x->dim[axis],
                  .inner = (int)dev_span(x, axis + 1, x->rank),
                  .smallest = strcmp(dev_node_op(n), "ArgMin") == 0,
                  .last = dev_attr_int(n, "select_last_index", 0) != 0};
  if (q.rows && !q.n) return dev_refuse(p, "an axis without elements");
  dev_call c = {.source = "arg",
                .kernel = "arg_items",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 1,
                DEV_PARAMS(q)};
  bool many = q.inner > 1 && q.rows >= (int)dev_plan_device(p)->n_units * 256;
  if (q.n <= SHORT_ROW || many) return dev_emit_items(p, &c, q.rows);
  if (!q.rows) return NULL;
  c.kernel = "arg_rows", c.groups[0] = (uint32_t)q.rows, c.items = ROWS_ITEMS;
  return dev_emit(p, &c);
}

static const char *const names[] = {"ArgMax", "ArgMin", NULL};
DEV_OP(arg) = {"", names, takes, emit};
