/* SPDX-License-Identifier: Apache-2.0
 * device/integers.c - see integers.h. */
#include "plugins/device/integers.h"

#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/integers_params.h"

static const struct {
  const char *name;
  int op, operands;
} rows[] = {{"Add", INTEGERS_ADD, 2},        {"Sub", INTEGERS_SUB, 2},      {"Mul", INTEGERS_MUL, 2},
            {"Min", INTEGERS_MIN, 2},        {"Max", INTEGERS_MAX, 2},      {"Abs", INTEGERS_ABS, 1},
            {"Neg", INTEGERS_NEG, 1},        {"Sign", INTEGERS_SIGN, 1},    {"Div", INTEGERS_DIV, 2},
            {"Mod", INTEGERS_MOD, 2},        {"Clip", INTEGERS_MAX, 3},     {"BitShift", INTEGERS_LEFT, 2},
            {"BitwiseAnd", INTEGERS_AND, 2}, {"BitwiseOr", INTEGERS_OR, 2}, {"BitwiseXor", INTEGERS_XOR, 2},
            {"BitwiseNot", INTEGERS_NOT, 1}};

static const struct {
  uint32_t dtype;
  const char *kernel;
} types[] = {{OX_U8, "integers_u8"},   {OX_I8, "integers_i8"},   {OX_U16, "integers_u16"}, {OX_I16, "integers_i16"},
             {OX_U32, "integers_u32"}, {OX_I32, "integers_i32"}, {OX_U64, "integers_u64"}, {OX_I64, "integers_i64"}};

static size_t type_of(uint32_t dtype) {
  size_t i = 0;
  while (i < DEV_LENGTH(types) && types[i].dtype != dtype) i++;
  return i;
}

static size_t row_of(const dev_node *n) {
  size_t i = 0;
  while (i < DEV_LENGTH(rows) && strcmp(rows[i].name, dev_node_op(n)) != 0) i++;
  return i;
}

bool dev_is_integer(uint32_t dtype) { return type_of(dtype) < DEV_LENGTH(types); }

static bool is_clip(const dev_node *n) { return strcmp(dev_node_op(n), "Clip") == 0; }

static int op_of(const dev_node *n) {
  int op = rows[row_of(n)].op;
  if (op == INTEGERS_MOD && dev_attr_int(n, "fmod", 0)) return INTEGERS_FMOD;
  return op == INTEGERS_LEFT && dev_attr_is(n, "direction", "RIGHT", "LEFT") ? INTEGERS_RIGHT : op;
}

const char *dev_integers_takes(const dev_node *n) {
  size_t row = row_of(n);
  bool data = false;
  if (row == DEV_LENGTH(rows) || dev_node_version(n) < 7 ||
      (is_clip(n) ? dev_in_count(n) > 3 : (int)dev_in_count(n) != rows[row].operands))
    return REASON("floats, or one of its functions of integers as of opset 7", "{op}, {inputs}");
  for (size_t i = 0; i < dev_in_count(n); i++) {
    if (dev_in(n, i) == UINT32_MAX) continue;
    if (dev_in_dtype(n, i) != dev_in_dtype(n, 0)) return REASON("one type", "{inputs}");
    if (dev_in_rank(n, i) < 0 || dev_in_rank(n, i) > MOVE_DIMS) return REASON("known ranks of at most 8", "{inputs}");
    data |= dev_in_rank(n, i) > 1 || (n->lies && n->lies[dev_in(n, i)] == DEV_ON_DEVICE);
  }
  return data ? NULL : REASON("data (integers of at most one axis are shapes, which stay with the host)", "{inputs}");
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

/* |to| = op(a, b) with the shape of |n|'s output. Operand a is at |from| and has the shape of value |a|. */
static ox_status *emit_one(dev_plan *p, const dev_node *n, int op, uint32_t a, dev_ref from, uint32_t b, dev_ref to) {
  uint32_t out = dev_out(n, 0);
  const ox_shape *y = dev_shape(p, out);
  integers_params q = {.n = (int)dev_count(p, out), .op = op};
  q.flat = dev_count(p, a) == q.n && dev_count(p, b) == q.n;
  dev_broadcast_sizes(y, q.size);
  dev_broadcast_strides(dev_shape(p, a), y, q.a);
  dev_broadcast_strides(dev_shape(p, b), y, q.b);
  dev_call c = {.source = "integers",
                .kernel = types[type_of(dev_dtype(p, out))].kernel,
                .dtype = OX_F32,
                .n_buffers = 3,
                .buffers = {from, dev_value(p, b), to},
                .written = 1u << 2,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}

static ox_status *emit_clip(dev_plan *p, const dev_node *n) {
  uint32_t x = dev_in(n, 0), low = dev_in_count(n) > 1 ? dev_in(n, 1) : UINT32_MAX;
  uint32_t high = dev_in_count(n) > 2 ? dev_in(n, 2) : UINT32_MAX;
  dev_ref y = dev_value(p, dev_out(n, 0)), from = dev_value(p, x);
  if (low == UINT32_MAX && high == UINT32_MAX) return dev_emit_view(p, dev_out(n, 0), x);
  if ((low != UINT32_MAX && dev_count(p, low) != 1) || (high != UINT32_MAX && dev_count(p, high) != 1))
    return dev_refuse(p, "a bound of many numbers");
  if (low != UINT32_MAX) {
    dev_ref to = high == UINT32_MAX ? y : dev_temp(p, (size_t)dev_count(p, x) * sizeof(int64_t));
    DEV_TRY(emit_one(p, n, INTEGERS_MAX, x, from, low, to));
    from = to;
  }
  return high == UINT32_MAX ? NULL : emit_one(p, n, INTEGERS_MIN, x, from, high, y);
}

ox_status *dev_integers_emit(dev_plan *p, const dev_node *n) {
  if (row_of(n) == DEV_LENGTH(rows) || dev_shape(p, dev_out(n, 0))->rank > MOVE_DIMS)
    return dev_refuse(p, "not on integers, or of too many axes");
  if (is_clip(n)) return emit_clip(p, n);
  return emit_one(p, n, op_of(n), dev_in(n, 0), dev_value(p, dev_in(n, 0)), dev_in(n, dev_in_count(n) > 1),
                  dev_value(p, dev_out(n, 0)));
}
