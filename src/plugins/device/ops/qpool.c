/* SPDX-License-Identifier: Apache-2.0
 * device/ops/qpool.c - com.microsoft's QLinearAveragePool and QLinearGlobalAveragePool, and NhwcMaxPool. */
#include <string.h>

#include "plugins/device/kernels/qlinear_params.h"
#include "plugins/device/qproduct.h"

static bool is_maximum(const dev_node *n) { return strcmp(dev_node_op(n), "NhwcMaxPool") == 0; }

static const char *takes(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, 0);
  if (dtype != OX_U8 && dtype != OX_I8) return REASON("8-bit integers", "{0}");
  if (!is_maximum(n) && dev_attr_int(n, "ceil_mode", 0))
    return REASON("an output size that is rounded down", "{ceil_mode}");
  return dev_in_rank(n, 0) < 3 || dev_in_rank(n, 0) > 5 ? REASON("3 to 5 axes", "{0}") : NULL;
}

/* Reads the window and strides, with channels first or last. */
static void read_window(const dev_plan *p, const dev_node *n, pool_params *out) {
  dev_window w;
  ox_shape x = *dev_shape(p, dev_in(n, 0)), y = *dev_shape(p, dev_out(n, 0));
  bool last = is_maximum(n) || dev_attr_int(n, "channels_last", 0);
  int64_t channels = last ? x.dim[x.rank - 1] : 1;
  if (last) x = dev_channels_first(&x), y = dev_channels_first(&y);
  dev_window_of(n, &x, &y, strstr(dev_node_op(n), "Global") ? &x : NULL, &w);
  dev_pool_window(&w, out);
  out->inner = (int)channels;
}

static ox_status *emit_maximum(dev_plan *p, const dev_node *n) {
  qpool_params q = {.kind = dev_q_kind(dev_in_dtype(n, 0)), .pool = {.n = (int)dev_count(p, dev_out(n, 0))}};
  read_window(p, n, &q.pool);
  dev_call c = {.source = "qlinear",
                .kernel = "byte_pool",
                .dtype = OX_F32,
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 1,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.pool.n);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  if (is_maximum(n)) return emit_maximum(p, n);
  qpool_params q = {
      .kind = dev_q_kind(dev_in_dtype(n, 0)),
      .has_x_zero = dev_q_has(n, 2),
      .has_y_zero = dev_q_has(n, 4),
      .pool = {.n = (int)dev_count(p, dev_out(n, 0)), .count_pad = dev_attr_int(n, "count_include_pad", 0) != 0}};
  for (size_t i = 1; i < 5; i++)
    if (dev_q_has(n, i) && dev_count(p, dev_in(n, i)) != 1) return dev_refuse(p, "a scale for each of many places");
  read_window(p, n, &q.pool);
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

static const char *const names[] = {"QLinearAveragePool", "QLinearGlobalAveragePool", "NhwcMaxPool", NULL};
DEV_OP(qpool) = {"com.microsoft", names, takes, emit};
