/* SPDX-License-Identifier: Apache-2.0
 * device/ops/reverse.c - ReverseSequence. */
#include "plugins/device/kernels/select_params.h"
#include "plugins/device/move.h"

static const char *takes(const dev_node *n) {
  if (dev_in_rank(n, 0) < 2 || dev_in_rank(n, 1) != 1) return REASON("2 or more axes, and lengths of one", "{0}, {1}");
  return dev_in_dtype(n, 1) == OX_I64 ? dev_takes_data(n, 0, OX_MAX_RANK) : REASON("lengths of int64", "{1}");
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  static const char *const kernels[] = {"reverse1", "reverse2", "reverse4", "reverse8"};
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int64_t batch = dev_attr_int(n, "batch_axis", 1), time = dev_attr_int(n, "time_axis", 0);
  if (batch < 0 || batch > 1 || time != 1 - batch) return dev_refuse(p, "axes other than 0 and 1");
  if (dev_count(p, dev_in(n, 1)) != x->dim[batch]) return dev_refuse(p, "lengths that do not fit the batch");
  const reverse_params q = {.n = (int)dev_count(p, dev_in(n, 0)),
                            .times = (int)x->dim[time],
                            .time_step = (int)dev_span(x, (int)time + 1, x->rank),
                            .batch = (int)x->dim[batch],
                            .batch_step = (int)dev_span(x, (int)batch + 1, x->rank)};
  dev_call c = {.source = "reverse",
                .kernel = dev_of_bytes(kernels, dev_element_bytes(dev_dtype(p, dev_in(n, 0)))),
                .dtype = OX_F32,
                .n_buffers = 3,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 2,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"ReverseSequence", NULL};
DEV_OP(reverse) = {"", names, takes, emit};
