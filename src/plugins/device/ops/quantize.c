/* SPDX-License-Identifier: Apache-2.0
 * device/ops/quantize.c - QuantizeLinear and DequantizeLinear of 8-bit integers (DequantizeLinear also of 32-bit ones),
 * with one scale or one for each index of an axis; DynamicQuantizeLinear. */
#include <string.h>

#include "plugins/device/kernels/quant_params.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/qproduct.h"

static bool is_op(const dev_node *n, const char *name) { return strcmp(dev_node_op(n), name) == 0; }
static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static bool is_real(uint32_t dtype) { return dtype == OX_F32 || dtype == OX_F16; }

static int kind_of(uint32_t dtype) {
  return dtype == OX_U8 ? QUANT_U8 : dtype == OX_I8 ? QUANT_I8 : dtype == OX_I32 ? QUANT_I32 : -1;
}

static const char *takes(const dev_node *n) {
  if (is_op(n, "DynamicQuantizeLinear")) {
    for (size_t i = 0; i < 3; i++)
      if (dev_out(n, i) == UINT32_MAX) return REASON("readers of all outputs", "{>0}, {>1}, {>2}");
    return dev_in_dtype(n, 0) == OX_F32 ? NULL : REASON("float32", "{0}");
  }
  bool quantize = is_op(n, "QuantizeLinear");
  uint32_t real = dev_in_dtype(n, quantize ? 0 : 1);
  if (!is_real(real) || dev_in_dtype(n, 1) != real)
    return REASON("float32 or float16, the scale's as well", "{0}, {1}");
  if (dev_attr_int(n, "block_size", 0)) return REASON("no blocks", "{block_size}");
  if (dev_attr_int(n, "precision", 0) || (!quantize && dev_attr_int(n, "output_dtype", 0)))
    return REASON("the types of its inputs", "{precision=0}, {output_dtype=0}");
  int kind = quantize ? has_in(n, 2) ? kind_of(dev_in_dtype(n, 2)) : QUANT_U8 : kind_of(dev_in_dtype(n, 0));
  int64_t output = dev_attr_int(n, "output_dtype", 0);
  if (quantize && output && output != (has_in(n, 2) ? (int64_t)dev_in_dtype(n, 2) : OX_U8))
    return REASON("an output_dtype that is the zero point's", "{output_dtype}, {2}");
  if (kind < 0 || (quantize && kind == QUANT_I32)) return REASON("8-bit integers", "{inputs}");
  if (has_in(n, 2) && !quantize && dev_in_dtype(n, 2) != dev_in_dtype(n, 0))
    return REASON("zero points of the integers' type", "{0}, {2}");
  if (dev_in_rank(n, 1) < 0 || dev_in_rank(n, 1) > 1) return REASON("scales of at most one axis", "{1}");
  return dev_in_rank(n, 0) < 0 ? REASON("a known rank", "{0}") : NULL;
}

static ox_status *emit_linear(dev_plan *p, const dev_node *n) {
  bool quantize = is_op(n, "QuantizeLinear");
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int64_t scales = dev_count(p, dev_in(n, 1));
  quant_params params = {.n = (int)dev_count(p, dev_in(n, 0)),
                         .inner = 1,
                         .channels = 1,
                         .has_zero = has_in(n, 2),
                         .kind = kind_of(dev_dtype(p, quantize ? dev_out(n, 0) : dev_in(n, 0)))};
  if (scales != 1) {
    int axis = dev_axis(dev_attr_int(n, "axis", 1), x->rank);
    if (axis < 0 || x->dim[axis] != scales) return dev_refuse(p, "scales that do not fit the axis");
    params.channels = (int)scales, params.inner = (int)dev_span(x, axis + 1, x->rank);
  }
  if (has_in(n, 2) && dev_count(p, dev_in(n, 2)) != scales)
    return dev_refuse(p, "zero points that do not fit the scales");
  dev_call c = {.source = "quant",
                .kernel = quantize ? "quantize" : "dequantize",
                .dtype = dev_dtype(p, dev_in(n, 1)),
                .n_buffers = 4,
                .written = 1u << 3,
                DEV_PARAMS(params),
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)),
                            dev_value(p, has_in(n, 2) ? dev_in(n, 2) : UINT32_MAX), dev_value(p, dev_out(n, 0))}};
  return dev_emit_items(p, &c, params.n);
}

/* Three launches: the range of each group, the range of all, the integers. */
ox_status *dev_q_quantize(dev_plan *p, dev_ref x, int64_t count, const dev_q_left *to) {
  dev_ref parts = dev_temp(p, 2 * QUANT_PARTS * sizeof(float));
  uint32_t groups = dev_groups(count, ROWS_ITEMS * 4);
  if (groups > QUANT_PARTS) groups = QUANT_PARTS;
  quant_params params = {.n = (int)count, .inner = 1, .channels = 1, .kind = QUANT_U8, .has_zero = 1}, few = params;
  few.n = (int)groups;
  dev_call range = {.source = "quant",
                    .kernel = "quant_ranges",
                    .dtype = OX_F32,
                    .groups = {groups},
                    .items = ROWS_ITEMS,
                    .n_buffers = 2,
                    .buffers = {x, parts},
                    .written = 1u << 1,
                    DEV_PARAMS(params)};
  dev_call choose = {.source = "quant",
                     .kernel = "quant_choose",
                     .dtype = OX_F32,
                     .groups = {1},
                     .items = ROWS_ITEMS,
                     .n_buffers = 3,
                     .buffers = {parts, to->scale, to->zero},
                     .written = 6,
                     DEV_PARAMS(few)};
  dev_call apply = {.source = "quant",
                    .kernel = "quantize",
                    .dtype = OX_F32,
                    .n_buffers = 4,
                    .buffers = {x, to->scale, to->zero, to->x},
                    .written = 1u << 3,
                    DEV_PARAMS(params)};
  if (groups) DEV_TRY(dev_emit(p, &range));
  DEV_TRY(dev_emit(p, &choose));
  return dev_emit_items(p, &apply, count);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  if (!is_op(n, "DynamicQuantizeLinear")) return emit_linear(p, n);
  const dev_q_left to = {dev_value(p, dev_out(n, 0)), dev_value(p, dev_out(n, 2)), dev_value(p, dev_out(n, 1))};
  return dev_q_quantize(p, dev_value(p, dev_in(n, 0)), dev_count(p, dev_in(n, 0)), &to);
}

static const char *const names[] = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", NULL};
DEV_OP(quantize) = {"", names, takes, emit};
