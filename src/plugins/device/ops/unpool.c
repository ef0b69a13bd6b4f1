/* SPDX-License-Identifier: Apache-2.0
 * device/ops/unpool.c - MaxUnpool: fills with zeros, then scatters elements by their indices into the whole output. */
#include "plugins/device/kernels/fill_params.h"
#include "plugins/device/kernels/move_params.h"
#include "plugins/device/move.h"

static const char *takes(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, 0);
  if (dtype != OX_F32 && dtype != OX_F16) return REASON("float32 or float16", "{0}");
  if (dev_in_rank(n, 0) < 3 || dev_in_dtype(n, 1) != OX_I64)
    return REASON("3 or more axes, and indices of int64", "{0}, {1}");
  return dev_in_count(n) > 2 && dev_in(n, 2) != UINT32_MAX
             ? REASON("an output whose shape follows from the window", "{2}")
             : NULL;
}

static ox_status *emit_zeros(dev_plan *p, uint32_t y, bool half) {
  fill_params zeros = {.n = (int)dev_count(p, y)};
  dev_call c = {.source = "fill",
                .kernel = half ? "fill2" : "fill4",
                .dtype = OX_F32,
                .n_buffers = 1,
                .buffers = {dev_value(p, y)},
                .written = 1,
                DEV_PARAMS(zeros)};
  return dev_emit_items(p, &c, zeros.n);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  bool half = dev_dtype(p, dev_in(n, 0)) == OX_F16;
  uint32_t y = dev_out(n, 0);
  elements_params params = {
      .n = (int)dev_count(p, dev_in(n, 0)), .wide = 1, .axis = MOVE_DIMS - 1, .axis_size = (int)dev_count(p, y)};
  if (dev_count(p, dev_in(n, 1)) != params.n) return dev_refuse(p, "as many indices as elements are wanted");
  if (params.n && !params.axis_size) return dev_refuse(p, "an index into nothing");
  for (int d = 0; d < MOVE_DIMS; d++) params.size[d] = 1;
  params.size[MOVE_DIMS - 1] = params.n, params.stride[MOVE_DIMS - 1] = 1;
  DEV_TRY(emit_zeros(p, y, half));
  dev_call c = {.source = "gather",
                .kernel = half ? "scatter_elements2" : "scatter_elements4",
                .dtype = OX_F32,
                .n_buffers = 3,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)), dev_value(p, y)},
                .written = 1u << 2,
                DEV_PARAMS(params)};
  return dev_emit_items(p, &c, params.n);
}

static const char *const names[] = {"MaxUnpool", NULL};
DEV_OP(unpool) = {"", names, takes, emit};
