/* SPDX-License-Identifier: Apache-2.0
 * device/ops/choose.c - Where, comparisons and logic. */
#include <string.h>

#include "plugins/device/integers.h"
#include "plugins/device/kernels/move_params.h"
#include "plugins/device/move.h"

static const struct {
  const char *name;
  int op;
} compares[] = {{"Equal", CHOOSE_EQUAL},
                {"Less", CHOOSE_LESS},
                {"LessOrEqual", CHOOSE_LESS_OR_EQUAL},
                {"Greater", CHOOSE_GREATER},
                {"GreaterOrEqual", CHOOSE_GREATER_OR_EQUAL},
                {"And", CHOOSE_AND},
                {"Or", CHOOSE_OR},
                {"Xor", CHOOSE_XOR},
                {"Not", CHOOSE_NOT},
                {"IsNaN", CHOOSE_IS_NAN},
                {"IsInf", CHOOSE_IS_INF}};

static bool is_where(const dev_node *n) { return strcmp(dev_node_op(n), "Where") == 0; }

static int op_of(const dev_node *n) {
  size_t kind = 0;
  while (strcmp(compares[kind].name, dev_node_op(n)) != 0) kind++;
  if (compares[kind].op != CHOOSE_IS_INF) return compares[kind].op;
  bool minus = dev_attr_int(n, "detect_negative", 1) != 0, plus = dev_attr_int(n, "detect_positive", 1) != 0;
  return plus && minus ? CHOOSE_IS_INF : plus ? CHOOSE_IS_PLUS_INF : minus ? CHOOSE_IS_MINUS_INF : CHOOSE_NEVER;
}

/* Integers and masks of one axis may be shapes and stay with the host; a float operand shows that they are data. */
static const char *takes(const dev_node *n) {
  size_t first = is_where(n) ? 1 : 0;
  uint32_t dtype = dev_in_dtype(n, first);
  bool data = dtype == OX_F32 || dtype == OX_F16;
  if (!is_where(n) && dev_node_version(n) < 7 && dev_in_count(n) > 1)
    return REASON("the broadcasting of opset 7 or later", "{op}");
  for (size_t i = 0; i < dev_in_count(n); i++) {
    if (dev_in_rank(n, i) < 0 || dev_in_rank(n, i) > MOVE_DIMS) return REASON("known ranks of at most 8", "{inputs}");
    if (i >= first && dev_in_dtype(n, i) != dtype) return REASON("one type", "{inputs}");
    data |= dev_in_rank(n, i) > 1 || (n->lies && dev_in(n, i) != UINT32_MAX && n->lies[dev_in(n, i)] == DEV_ON_DEVICE);
  }
  if (!data) return REASON("data (integers of at most one axis are shapes, which stay with the host)", "{inputs}");
  if (is_where(n))
    return dev_element_bytes(dtype) ? NULL : REASON("numbers of 8, 16, 32 or 64 bits, or bool", "{inputs}");
  bool fits =
      dtype == OX_F32 || dtype == OX_F16 || dtype == OX_I32 || dtype == OX_I64 || dtype == OX_BOOL || dtype == OX_U8;
  return fits ? NULL : REASON("float32, float16, int32, int64, uint8 or bool", "{inputs}");
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  static const char *const wheres[] = {"where1", "where2", "where4", "where8"};
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  choose_params params = {.n = (int)dev_count(p, dev_out(n, 0))};
  size_t first = is_where(n) ? 1 : 0, second = dev_in_count(n) > first + 1 ? first + 1 : first;
  uint32_t dtype = dev_dtype(p, dev_in(n, first));
  dev_broadcast_sizes(y, params.size);
  dev_broadcast_strides(dev_shape(p, dev_in(n, 0)), y, params.c);
  dev_broadcast_strides(dev_shape(p, dev_in(n, first)), y, params.a);
  dev_broadcast_strides(dev_shape(p, dev_in(n, second)), y, params.b);
  dev_call c = {.source = "choose",
                .kernel = dev_of_bytes(wheres, dev_element_bytes(dtype)),
                .dtype = OX_F32,
                DEV_PARAMS(params)};
  if (is_where(n)) c.buffers[c.n_buffers++] = dev_value(p, dev_in(n, 0));
  c.buffers[c.n_buffers++] = dev_value(p, dev_in(n, first));
  c.buffers[c.n_buffers++] = dev_value(p, dev_in(n, second));
  c.buffers[c.n_buffers] = dev_value(p, dev_out(n, 0)), c.written = 1u << c.n_buffers++;
  if (is_where(n)) return dev_emit_items(p, &c, params.n);
  params.op = op_of(n);
  c.dtype = dtype == OX_F16 ? OX_F16 : OX_F32;
  c.kernel = dtype == OX_I64                      ? "compare_long"
             : dtype == OX_I32                    ? "compare_int"
             : dtype == OX_F32 || dtype == OX_F16 ? "compare_real"
                                                  : "compare_byte";
  return dev_emit_items(p, &c, params.n);
}

static const char *const names[] = {"Where", "Equal", "Less",  "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or",
                                    "Xor",   "Not",   "IsNaN", "IsInf",       NULL};
DEV_OP(choose) = {"", names, takes, emit};
