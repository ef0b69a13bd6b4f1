/* SPDX-License-Identifier: Apache-2.0
 * device/ops/elementwise.c - element-wise operators of one or two operands, with their tails in the same launch; those
 * on integers are passed to integers.c. */
#include "base/macros.h"
#include "plugins/device/emit.h"
#include "plugins/device/integers.h"
#include "plugins/device/kernels/elementwise_params.h"
#include "plugins/device/tail.h"
#include "plugins/device/variadic.h"

static const char *takes(const dev_node *n) {
  tail_step step;
  uint32_t operand;
  uint32_t dtype = dev_in_dtype(n, 0);
  if (dev_is_integer(dtype)) return dev_integers_takes(n);
  if (dtype != OX_F32 && dtype != OX_F16) return REASON("float32, float16 or integers", "{inputs}");
  if (!dev_all_real(n)) return REASON("known ranks and one type", "{inputs}");
  if (dev_variadic_is(n)) return dev_variadic_takes(n);
  if (dev_bias_gelu_is(n)) return dev_bias_gelu_takes(n);
  if (!dev_tail_step(n, dev_in(n, 0), &step, &operand))
    return REASON("one or two operands, as of opset 7", "{op}, {inputs}");
  for (size_t i = 0; i < dev_in_count(n); i++) {
    if (dev_in_rank(n, i) > BROADCAST_RANK) return REASON("ranks of at most 8", "{inputs}");
    if (dev_in(n, i) != UINT32_MAX && dev_in_dtype(n, i) != dtype) return REASON("one type", "{inputs}");
  }
  return NULL;
}

static ox_status *emit_broadcast(dev_plan *p, const dev_node *n, int op) {
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  broadcast_params b = {.n = (int)dev_count(p, dev_out(n, 0)), .rank = y->rank, .op = op};
  dev_tail tail;
  DEV_TRY(dev_take_tail(p, n, &tail));
  b.tail = tail.params;
  for (int d = 0; d < y->rank; d++) b.dim[d] = (int)y->dim[y->rank - 1 - d];
  dev_broadcast_steps(dev_shape(p, dev_in(n, 0)), y, b.a_stride);
  dev_broadcast_steps(dev_shape(p, dev_in(n, 1)), y, b.b_stride);
  const dev_call call = {.source = "elementwise",
                         .kernel = "broadcast",
                         .dtype = dev_dtype(p, dev_in(n, 0)),
                         .groups = {(uint32_t)OX_CEIL_DIV(b.n, FLAT_ITEMS)},
                         .items = FLAT_ITEMS,
                         .n_buffers = 6,
                         .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)), dev_value(p, tail.out),
                                     tail.operands[0], tail.operands[1], tail.operands[2]},
                         .params = &b,
                         .params_bytes = sizeof b};
  return dev_emit(p, &call);
}

/* The node itself is the first step of its tail; |x| has the output's shape. */
static ox_status *emit_flat(dev_plan *p, const dev_node *n, uint32_t x, tail_step first, uint32_t operand) {
  flat_params f = {.n = (int)dev_count(p, dev_out(n, 0))};
  dev_tail tail;
  DEV_TRY(dev_take_tail_after(p, n, &first, operand, &tail));
  f.tail = tail.params;
  const dev_call call = {
      .source = "elementwise",
      .kernel = "flat",
      .dtype = dev_dtype(p, x),
      .groups = {(uint32_t)OX_CEIL_DIV(f.n, FLAT_ITEMS * FLAT_EACH)},
      .items = FLAT_ITEMS,
      .n_buffers = 5,
      .buffers = {dev_value(p, x), dev_value(p, tail.out), tail.operands[0], tail.operands[1], tail.operands[2]},
      .params = &f,
      .params_bytes = sizeof f};
  return dev_emit(p, &call);
}

/* Can |value| be read at |y|'s indices, without broadcasting? */
static bool is_whole(const dev_plan *p, uint32_t value, uint32_t y) {
  return dev_count(p, value) == dev_count(p, y) && dev_shape(p, value)->rank <= dev_shape(p, y)->rank;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  tail_step step;
  uint32_t operand;
  if (dev_is_integer(dev_in_dtype(n, 0))) return dev_integers_emit(p, n);
  if (dev_variadic_is(n)) return dev_variadic_emit(p, n);
  if (dev_bias_gelu_is(n)) return dev_bias_gelu_emit(p, n);
  if (!dev_count(p, dev_out(n, 0))) return NULL;
  for (size_t i = 0; i < 2 && i < dev_in_count(n); i++) {
    uint32_t x = dev_in(n, i);
    if (x == UINT32_MAX || !dev_tail_step(n, x, &step, &operand) || !is_whole(p, x, dev_out(n, 0))) continue;
    if (operand == UINT32_MAX || dev_tail_place(dev_shape(p, operand), y, &step))
      return emit_flat(p, n, x, step, operand);
  }
  if (!dev_tail_step(n, dev_in(n, 0), &step, &operand)) return dev_refuse(p, "it is not what it was when it was taken");
  return emit_broadcast(p, n, step.op);
}

DEV_OP(elementwise) = {.domain = "", .names = dev_tail_ops, .takes = takes, .emit = emit};
