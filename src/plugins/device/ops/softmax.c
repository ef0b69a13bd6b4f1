/* SPDX-License-Identifier: Apache-2.0
 * device/ops/softmax.c - Softmax and LogSoftmax. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/rows_params.h"

enum { SHORT_ROW = 16 };

static const char *takes(const dev_node *n) { return dev_takes_real(n, 0, OX_MAX_RANK); }

ox_status *dev_emit_softmax(dev_plan *p, const softmax_params *s, uint32_t dtype, dev_ref x, dev_ref y) {
  dev_call c = {.source = "softmax",
                .kernel = "softmax_items",
                .dtype = dtype,
                .n_buffers = 2,
                .buffers = {x, y},
                .written = 1u << 1,
                .params = s,
                .params_bytes = sizeof *s};
  if (s->inner > 1 || s->n <= SHORT_ROW) return dev_emit_items(p, &c, (int64_t)s->outer * s->inner);
  c.kernel = "softmax_rows", c.groups[0] = (uint32_t)s->outer, c.items = ROWS_ITEMS;
  return dev_emit(p, &c);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  bool one_axis = dev_node_version(n) >= 13;
  int64_t given = dev_attr_int(n, "axis", one_axis ? -1 : 1);
  int axis = dev_axis(given, x->rank);
  if (axis < 0 && x->rank && !(given == x->rank && !one_axis)) return dev_refuse(p, "there is no such axis");
  if (axis < 0) axis = x->rank;
  int end = one_axis && axis < x->rank ? axis + 1 : x->rank;
  const softmax_params params = {.outer = (int)dev_span(x, 0, axis),
                                 .n = (int)dev_span(x, axis, end),
                                 .inner = (int)dev_span(x, end, x->rank),
                                 .is_log = strcmp(dev_node_op(n), "LogSoftmax") == 0};
  if (dev_count(p, dev_in(n, 0)) == 0) return NULL;
  return dev_emit_softmax(p, &params, dev_dtype(p, dev_in(n, 0)), dev_value(p, dev_in(n, 0)),
                          dev_value(p, dev_out(n, 0)));
}

static const char *const names[] = {"Softmax", "LogSoftmax", NULL};
DEV_OP(softmax) = {"", names, takes, emit};
