/* SPDX-License-Identifier: Apache-2.0
 * device/integers.c - see integers.h. */
#include "plugins/device/integers.h"

#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/integers_params.h"

static const struct {
  const char *name;
  int op, operands;
} rows[] = {{"Add", INTEGERS_ADD, 2}, {"Sub", INTEGERS_SUB, 2}, {"Mul", INTEGERS_MUL, 2}, {"Min", INTEGERS_MIN, 2},
            {"Max", INTEGERS_MAX, 2}, {"Abs", INTEGERS_ABS, 1}, {"Neg", INTEGERS_NEG, 1}, {"Sign", INTEGERS_SIGN, 1}};

static size_t row_of(const dev_node *n) {
  size_t i = 0;
  while (i < DEV_LENGTH(rows) && strcmp(rows[i].name, dev_node_op(n)) != 0) i++;
  return i;
}

bool dev_is_integer(uint32_t dtype) { return dtype == OX_U8 || dtype == OX_I8 || dtype == OX_I32 || dtype == OX_I64; }

const char *dev_integers_takes(const dev_node *n) {
  size_t row = row_of(n);
  bool data = false;
  if (row == DEV_LENGTH(rows) || (int)dev_in_count(n) != rows[row].operands || dev_node_version(n) < 7)
    return "the device has it for floats, or for one or two operands, as of version 7";
  for (size_t i = 0; i < dev_in_count(n); i++) {
    if (dev_in_dtype(n, i) != dev_in_dtype(n, 0)) return "of two types";
    if (dev_in_rank(n, i) < 0 || dev_in_rank(n, i) > MOVE_DIMS) return "of a rank that the kernels do not have";
    data |= dev_in_rank(n, i) > 1 || (n->lies && n->lies[dev_in(n, i)] == DEV_ON_DEVICE);
  }
  return data ? NULL : "on a shape, or the like";
}

void dev_broadcast_strides(const ox_shape *s, const ox_shape *y, int *out) {
  int64_t step = 1;
  for (int d = 0; d < MOVE_DIMS; d++) {
    int a = s->rank - 1 - d;
    out[MOVE_DIMS - 1 - d] = a < 0 || d >= y->rank || s->dim[a] == 1 ? 0 : (int)step;
    if (a >= 0) step *= s->dim[a];
  }
}

void dev_broadcast_sizes(const ox_shape *y, int *out) {
  for (int d = 0; d < MOVE_DIMS; d++) {
    int a = d - (MOVE_DIMS - y->rank);
    out[d] = a < 0 ? 1 : (int)y->dim[a];
  }
}

ox_status *dev_integers_emit(dev_plan *p, const dev_node *n) {
  const ox_shape *y = dev_shape(p, dev_out(n, 0));
  size_t row = row_of(n), second = dev_in_count(n) > 1;
  uint32_t dtype = dev_in_dtype(n, 0);
  if (row == DEV_LENGTH(rows) || y->rank > MOVE_DIMS) return dev_refuse(p, "not on integers, or of too many axes");
  integers_params q = {.n = (int)dev_count(p, dev_out(n, 0)), .op = rows[row].op};
  q.flat = dev_count(p, dev_in(n, 0)) == q.n && dev_count(p, dev_in(n, second)) == q.n;
  dev_broadcast_sizes(y, q.size);
  dev_broadcast_strides(dev_shape(p, dev_in(n, 0)), y, q.a);
  dev_broadcast_strides(dev_shape(p, dev_in(n, second)), y, q.b);
  dev_call c = {.source = "integers",
                .kernel = dtype == OX_U8    ? "integers_u8"
                          : dtype == OX_I8  ? "integers_i8"
                          : dtype == OX_I32 ? "integers_i32"
                                            : "integers_i64",
                .dtype = OX_F32,
                .n_buffers = 3,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, second)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 2,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}
