/* SPDX-License-Identifier: Apache-2.0
 * device/ops/qpool.c - com.microsoft's QLinearAveragePool and QLinearGlobalAveragePool, channels first. */
#include <string.h>

#include "plugins/device/kernels/qlinear_params.h"
#include "plugins/device/qproduct.h"

static const char *takes(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, 0);
  if (dtype != OX_U8 && dtype != OX_I8) return "not of 8-bit integers";
  if (dev_attr_int(n, "channels_last", 0)) return "with channels last";
  if (dev_attr_int(n, "ceil_mode", 0)) return "of a size that is rounded up";
  return dev_in_rank(n, 0) < 3 || dev_in_rank(n, 0) > 5 ? "of a rank that the kernels do not have" : NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  dev_window w;
  dev_window_read(p, n, strstr(dev_node_op(n), "Global") ? dev_shape(p, dev_in(n, 0)) : NULL, dev_out(n, 0), &w);
  qpool_params q = {
      .kind = dev_q_kind(dev_in_dtype(n, 0)),
      .has_x_zero = dev_q_has(n, 2),
      .has_y_zero = dev_q_has(n, 4),
      .pool = {.n = (int)dev_count(p, dev_out(n, 0)), .count_pad = dev_attr_int(n, "count_include_pad", 0) != 0}};
  for (size_t i = 1; i < 5; i++)
    if (dev_q_has(n, i) && dev_count(p, dev_in(n, i)) != 1) return dev_refuse(p, "a scale for each of many places");
  dev_pool_window(&w, &q.pool);
  dev_call c = {.source = "qlinear",
                .kernel = "qpool",
                .dtype = OX_F32,
                .n_buffers = 6,
                .written = 1u << 5,
                DEV_PARAMS(q),
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)), dev_q_value(p, n, 2),
                            dev_value(p, dev_in(n, 3)), dev_q_value(p, n, 4), dev_value(p, dev_out(n, 0))}};
  return dev_emit_items(p, &c, q.pool.n);
}

static const char *const names[] = {"QLinearAveragePool", "QLinearGlobalAveragePool", NULL};
DEV_OP(qpool) = {"com.microsoft", names, takes, emit};
