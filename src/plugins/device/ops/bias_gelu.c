/* SPDX-License-Identifier: Apache-2.0
 * device/ops/bias_gelu.c - com.microsoft's BiasGelu, and FastGelu with a bias: a bias along the last axis, then GELU.
 */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/elementwise_params.h"

static bool is_fast(const dev_node *n) { return strcmp(dev_node_op(n), "FastGelu") == 0; }

bool dev_bias_gelu_is(const dev_node *n) { return is_fast(n) && dev_in_count(n) > 1 && dev_in(n, 1) != UINT32_MAX; }

const char *dev_bias_gelu_takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 1, OX_MAX_RANK);
  if (why) return why;
  int64_t width = dev_in_dim(n, 0, dev_in_rank(n, 0) - 1);
  return dev_in_rank(n, 1) != 1 || width < 0 || dev_in_dim(n, 1, 0) != width
             ? REASON("a bias as long as the last axis", "{0}, {1}")
             : NULL;
}

ox_status *dev_bias_gelu_emit(dev_plan *p, const dev_node *n) {
  uint32_t dtype = dev_dtype(p, dev_in(n, 0));
  int64_t count = dev_count(p, dev_in(n, 0));
  dev_tail t = dev_tail_none(dev_out(n, 0));
  dev_tail_operand(&t, TAIL_ADD, dev_value(p, dev_in(n, 1)), 1, dev_count(p, dev_in(n, 1)));
  dev_tail_constant(&t, is_fast(n) ? TAIL_GELU_TANH : TAIL_GELU, 0);
  const flat_params params = {(int)count, t.params};
  dev_call c = {.source = "elementwise",
                .kernel = "flat",
                .dtype = dtype,
                .groups = {dev_groups(count, FLAT_ITEMS * FLAT_EACH)},
                .items = FLAT_ITEMS,
                .n_buffers = 2,
                .written = 1u << 1,
                DEV_PARAMS(params),
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))}};
  dev_call_tail(&c, &t);
  return count ? dev_emit(p, &c) : NULL;
}

static const char *const names[] = {"BiasGelu", NULL};
DEV_OP(bias_gelu) = {"com.microsoft", names, dev_bias_gelu_takes, dev_bias_gelu_emit};
