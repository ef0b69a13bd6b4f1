/* SPDX-License-Identifier: Apache-2.0
 * device/ops/qlinear.c - com.microsoft's QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu, QLinearConcat. */
#include <string.h>

#include "plugins/device/integers.h"
#include "plugins/device/kernels/qlinear_params.h"
#include "plugins/device/qproduct.h"

static bool is_op(const dev_node *n, const char *name) { return strcmp(dev_node_op(n), name) == 0; }
static bool is_binary(const dev_node *n) { return is_op(n, "QLinearAdd") || is_op(n, "QLinearMul"); }
static bool is_byte(uint32_t dtype) { return dtype == OX_U8 || dtype == OX_I8; }

static const char *takes(const dev_node *n) {
  size_t data = is_op(n, "QLinearConcat") ? 2 : 0;
  for (size_t i = 0; i < dev_in_count(n); i++) {
    if (!dev_q_has(n, i)) continue;
    bool scale = i >= data ? (i - data) % 3 == 1 : i == 0;
    if (is_binary(n) && i >= 6) scale = i == 6;
    if (!is_binary(n) && data == 0 && i >= 3) scale = i == 3;
    if (scale ? dev_in_dtype(n, i) != OX_F32 : !is_byte(dev_in_dtype(n, i)))
      return REASON("8-bit integers with scales of float32", "{inputs}");
    if (dev_in_rank(n, i) < 0 || dev_in_rank(n, i) > MOVE_DIMS) return REASON("known ranks of at most 8", "{inputs}");
  }
  return NULL;
}

static bool one_each(const dev_plan *p, const dev_node *n, const size_t *params, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (dev_q_has(n, params[i]) && dev_count(p, dev_in(n, params[i])) != 1) return false;
  return true;
}

static ox_status *emit_binary(dev_plan *p, const dev_node *n) {
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  int kind = dev_q_kind(dev_in_dtype(n, 0));
  qbinary_params q = {.n = (int)dev_count(p, dev_out(n, 0)),
                      .op = is_op(n, "QLinearAdd") ? QLINEAR_ADD : QLINEAR_MUL,
                      .kind = kind,
                      .has_a_zero = dev_q_has(n, 2),
                      .has_b_zero = dev_q_has(n, 5)};
  qunary_params of_y = {.has_y_zero = dev_q_has(n, 7), .y_kind = kind};
  if (!one_each(p, n, (const size_t[]){1, 2, 4, 5, 6, 7}, 6)) return dev_refuse(p, "a scale for each of many places");
  q.flat = dev_count(p, dev_in(n, 0)) == q.n && dev_count(p, dev_in(n, 3)) == q.n;
  dev_broadcast_sizes(y, q.size);
  dev_broadcast_strides(dev_shape(p, dev_in(n, 0)), y, q.a), dev_broadcast_strides(dev_shape(p, dev_in(n, 3)), y, q.b);
  dev_ref result;
  dev_call join = {.source = "qlinear",
                   .kernel = "qparams_join",
                   .dtype = OX_F32,
                   .groups = {1},
                   .items = 256,
                   .n_buffers = 3,
                   .written = 1u << 2,
                   DEV_PARAMS(of_y),
                   .buffers = {dev_value(p, dev_in(n, 6)), dev_q_value(p, n, 7)}};
  uint32_t out = dev_q_cut(p, n, kind, &q.low, &q.high);
  if (q.n == 0) return NULL;
  DEV_TRY(dev_emit_made(p, &join, 2, 8, 0, &result));
  dev_call c = {.source = "qlinear",
                .kernel = "qbinary",
                .dtype = OX_F32,
                .groups = {dev_groups(q.n, 256 * QLINEAR_EACH)},
                .items = 256,
                .n_buffers = 8,
                .written = 1u << 7,
                DEV_PARAMS(q),
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)), dev_q_value(p, n, 2),
                            dev_value(p, dev_in(n, 3)), dev_value(p, dev_in(n, 4)), dev_q_value(p, n, 5), result,
                            dev_value(p, out)}};
  return dev_emit(p, &c);
}

/* Data, scale and zero point are inputs |x| to x + 2; scale and zero point of the result are |y| and y + 1. */
static ox_status *emit_unary(dev_plan *p, const dev_node *n, size_t x, size_t y, qunary_params q) {
  q.n = (int)dev_count(p, dev_in(n, x));
  q.x_kind = dev_q_kind(dev_in_dtype(n, x)), q.y_kind = dev_q_kind(dev_dtype(p, dev_out(n, 0)));
  q.has_x_zero = dev_q_has(n, x + 2), q.has_y_zero = dev_q_has(n, y + 1);
  if (!one_each(p, n, (const size_t[]){x + 1, x + 2, y, y + 1}, 4))
    return dev_refuse(p, "a scale for each of many places");
  if (q.n == 0) return NULL;
  dev_call c = {.source = "qlinear",
                .kernel = "qunary",
                .dtype = OX_F32,
                .groups = {dev_groups(q.n, 256 * QLINEAR_EACH)},
                .items = 256,
                .n_buffers = 6,
                .written = 1u << 5,
                DEV_PARAMS(q),
                .buffers = {dev_value(p, dev_in(n, x)), dev_value(p, dev_in(n, x + 1)), dev_q_value(p, n, x + 2),
                            dev_value(p, dev_in(n, y)), dev_q_value(p, n, y + 1), dev_value(p, dev_out(n, 0))}};
  return dev_emit(p, &c);
}

static ox_status *emit_concat(dev_plan *p, const dev_node *n) {
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  int axis = dev_axis(dev_attr_int(n, "axis", 0), y->rank), before = 0;
  if (axis < 0) return dev_refuse(p, "there is no such axis");
  int64_t to_row = dev_span(y, axis, y->rank);
  for (size_t i = 2; i + 1 < dev_in_count(n); i += 3) {
    const ox_shape *x = dev_shape(p, dev_in(n, i));
    int64_t row = dev_span(x, axis, x->rank);
    qunary_params q = {.op = QLINEAR_SAME, .row = (int)row, .to_row = (int)to_row, .to = before};
    DEV_TRY(emit_unary(p, n, i, 0, q));
    before += (int)row;
  }
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  if (is_binary(n)) return emit_binary(p, n);
  if (is_op(n, "QLinearConcat")) return emit_concat(p, n);
  int count = (int)dev_count(p, dev_in(n, 0));
  qunary_params q = {.op = is_op(n, "QLinearSigmoid") ? QLINEAR_SIGMOID : QLINEAR_LEAKY,
                     .row = count,
                     .to_row = count,
                     .alpha = dev_attr_float(n, "alpha", 0.01f)};
  return emit_unary(p, n, 0, 3, q);
}

static const char *const names[] = {"QLinearAdd",       "QLinearMul",    "QLinearSigmoid",
                                    "QLinearLeakyRelu", "QLinearConcat", NULL};
DEV_OP(qlinear) = {"com.microsoft", names, takes, emit};
