/* SPDX-License-Identifier: Apache-2.0
 * device/ops/pool.c - MaxPool and AveragePool of up to three axes. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/pool_params.h"

static const char *takes(const dev_node *n) {
  if (n->host->node_out_count(n->graph, n->index) > 1 && dev_out(n, 1) != UINT32_MAX) return "with indices";
  return dev_takes_real(n, 3, 5);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  dev_window w;
  dev_tail then;
  dev_window_read(p, n, NULL, dev_out(n, 0), &w);
  DEV_TRY(dev_take_tail(p, n, &then));
  int64_t count = dev_count(p, dev_out(n, 0));
  pool_params params = {.n = (int)count,
                        .maximum = strcmp(dev_node_op(n), "MaxPool") == 0,
                        .tail = then.params,
                        .count_pad = dev_attr_int(n, "count_include_pad", 0) != 0};
  memcpy(params.in, w.in, sizeof params.in), memcpy(params.out, w.out, sizeof params.out);
  memcpy(params.extent, w.kernel, sizeof params.extent), memcpy(params.stride, w.stride, sizeof params.stride);
  memcpy(params.dilation, w.dilation, sizeof params.dilation), memcpy(params.pad, w.before, sizeof params.pad);
  for (int i = 0; i < 3; i++) params.end[i] = w.in[i] + w.after[i];
  dev_call c = {.source = "pool",
                .kernel = "pool",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, then.out)},
                .written = 1u << 1,
                DEV_PARAMS(params)};
  dev_call_tail(&c, &then);
  return dev_emit_items(p, &c, count);
}

static const char *const names[] = {"MaxPool", "AveragePool", NULL};
DEV_OP(pool) = {"", names, takes, emit};
