/* SPDX-License-Identifier: Apache-2.0
 * device/ops/qlinear_rows.c - com.microsoft's QLinearSoftmax, computed in floats between dequantization and
 * quantization, and QLinearWhere, which selects bytes after they are rescaled to the result's scale. */
#include <string.h>

#include "plugins/device/integers.h"
#include "plugins/device/kernels/qlinear_params.h"
#include "plugins/device/qproduct.h"

static bool is_where(const dev_node *n) { return strcmp(dev_node_op(n), "QLinearWhere") == 0; }
static bool is_byte(uint32_t dtype) { return dtype == OX_U8 || dtype == OX_I8; }

/* The role of each input: c condition, d data, s scale, z zero point. */
static const char *const of_softmax = "dszsz", *const of_where = "cdszdszsz";

static const char *takes(const dev_node *n) {
  const char *kinds = is_where(n) ? of_where : of_softmax;
  for (size_t i = 0; i < strlen(kinds); i++) {
    uint32_t dtype = dev_q_has(n, i) ? dev_in_dtype(n, i) : OX_UNDEFINED;
    if (kinds[i] == 'z' && !dev_q_has(n, i)) continue;
    if (kinds[i] == 's' ? dtype != OX_F32 : kinds[i] == 'c' ? dtype != OX_BOOL : !is_byte(dtype))
      return REASON("8-bit integers with scales of float32", "{inputs}");
    if (dev_in_rank(n, i) < 0 || dev_in_rank(n, i) > MOVE_DIMS) return REASON("known ranks of at most 8", "{inputs}");
  }
  return NULL;
}

static bool one_each(const dev_plan *p, const dev_node *n) {
  const char *kinds = is_where(n) ? of_where : of_softmax;
  for (size_t i = 0; i < strlen(kinds); i++)
    if ((kinds[i] == 's' || kinds[i] == 'z') && dev_q_has(n, i) && dev_count(p, dev_in(n, i)) != 1) return false;
  return true;
}

/* ---- QLinearSoftmax ---- */

static ox_status *convert(dev_plan *p, const dev_node *n, bool back, size_t scale, dev_ref from, dev_ref to) {
  quant_params q = {.n = (int)dev_count(p, dev_in(n, 0)),
                    .inner = 1,
                    .channels = 1,
                    .has_zero = dev_q_has(n, scale + 1),
                    .kind = dev_q_kind(dev_in_dtype(n, 0))};
  dev_call c = {.source = "quant",
                .kernel = back ? "quantize" : "dequantize",
                .dtype = OX_F32,
                .n_buffers = 4,
                .written = 1u << 3,
                DEV_PARAMS(q),
                .buffers = {from, dev_value(p, dev_in(n, scale)), dev_q_value(p, n, scale + 1), to}};
  return dev_emit_items(p, &c, q.n);
}

static ox_status *emit_softmax(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int axis = dev_axis(dev_attr_int(n, "axis", -1), x->rank);
  int end = dev_attr_int(n, "opset", 13) < 13 ? x->rank : axis + 1;
  int64_t count = dev_count(p, dev_in(n, 0));
  if (axis < 0) return dev_refuse(p, "there is no such axis");
  if (count == 0) return NULL;
  const softmax_params s = {
      .outer = (int)dev_span(x, 0, axis), .n = (int)dev_span(x, axis, end), .inner = (int)dev_span(x, end, x->rank)};
  dev_ref wide = dev_temp(p, (size_t)count * sizeof(float)), share = dev_temp(p, (size_t)count * sizeof(float));
  DEV_TRY(convert(p, n, false, 1, dev_value(p, dev_in(n, 0)), wide));
  DEV_TRY(dev_emit_softmax(p, &s, OX_F32, wide, share));
  return convert(p, n, true, 3, share, dev_value(p, dev_out(n, 0)));
}

/* ---- QLinearWhere ---- */

/* Rescales operand |i| to the result's scale and zero point, inputs 7 and 8. */
static ox_status *rescale(dev_plan *p, const dev_node *n, size_t i, dev_ref to) {
  int kind = dev_q_kind(dev_in_dtype(n, i)), count = (int)dev_count(p, dev_in(n, i));
  const qunary_params q = {.n = count,
                           .op = QLINEAR_SAME,
                           .x_kind = kind,
                           .y_kind = kind,
                           .has_x_zero = dev_q_has(n, i + 2),
                           .has_y_zero = dev_q_has(n, 8),
                           .row = count,
                           .to_row = count};
  dev_call c = {.source = "qlinear",
                .kernel = "qunary",
                .dtype = OX_F32,
                .groups = {dev_groups(count, 256 * QLINEAR_EACH)},
                .items = 256,
                .n_buffers = 6,
                .written = 1u << 5,
                DEV_PARAMS(q),
                .buffers = {dev_value(p, dev_in(n, i)), dev_value(p, dev_in(n, i + 1)), dev_q_value(p, n, i + 2),
                            dev_value(p, dev_in(n, 7)), dev_q_value(p, n, 8), to}};
  return dev_emit(p, &c);
}

static ox_status *emit_where(dev_plan *p, const dev_node *n) {
  enum { CONDITION, A, B = 4 };
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  choose_params q = {.n = (int)dev_count(p, dev_out(n, 0))};
  if (q.n == 0) return NULL;
  dev_ref a = dev_temp(p, (size_t)dev_count(p, dev_in(n, A))), b = dev_temp(p, (size_t)dev_count(p, dev_in(n, B)));
  DEV_TRY(rescale(p, n, A, a));
  DEV_TRY(rescale(p, n, B, b));
  dev_broadcast_sizes(y, q.size);
  dev_broadcast_strides(dev_shape(p, dev_in(n, CONDITION)), y, q.c);
  dev_broadcast_strides(dev_shape(p, dev_in(n, A)), y, q.a), dev_broadcast_strides(dev_shape(p, dev_in(n, B)), y, q.b);
  dev_call c = {.source = "choose",
                .kernel = "where1",
                .dtype = OX_F32,
                .n_buffers = 4,
                .written = 1u << 3,
                DEV_PARAMS(q),
                .buffers = {dev_value(p, dev_in(n, CONDITION)), a, b, dev_value(p, dev_out(n, 0))}};
  return dev_emit_items(p, &c, q.n);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  if (!one_each(p, n)) return dev_refuse(p, "a scale for each of many places");
  return is_where(n) ? emit_where(p, n) : emit_softmax(p, n);
}

static const char *const names[] = {"QLinearSoftmax", "QLinearWhere", NULL};
DEV_OP(qlinear_rows) = {"com.microsoft", names, takes, emit};
