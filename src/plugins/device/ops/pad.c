/* SPDX-License-Identifier: Apache-2.0
 * device/ops/pad.c - Pad by constant amounts. */
#include <string.h>

#include "plugins/device/kernels/move_params.h"
#include "plugins/device/move.h"

typedef struct amounts {
  int64_t pads[2 * OX_MAX_RANK], axes[OX_MAX_RANK];
  size_t n;
} amounts;

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }

static bool read_amounts(const dev_node *n, int rank, amounts *a) {
  bool inputs = dev_node_version(n) >= 11;
  size_t count =
      inputs ? dev_in_ints(n, 1, a->pads, 2 * OX_MAX_RANK) : dev_attr_ints(n, "pads", a->pads, 2 * OX_MAX_RANK);
  if (count > 2 * OX_MAX_RANK) return false;
  a->n = count / 2;
  for (size_t i = 0; i < a->n; i++) a->axes[i] = (int64_t)i;
  if (inputs && has_in(n, 3)) return dev_in_ints(n, 3, a->axes, OX_MAX_RANK) == a->n;
  return a->n == (size_t)rank;
}

static const char *takes(const dev_node *n) {
  amounts a;
  const char *why = dev_takes_data(n, 0, MOVE_DIMS);
  if (why) return why;
  if (dev_node_version(n) < 11 && dev_in_dtype(n, 0) != OX_F32)
    return REASON("opset 11 or later, or float32", "{op}, {0}");
  if (has_in(n, 2) && !dev_in_constant(n, 2)) return REASON("a constant number to pad with", "{2}");
  if (dev_node_version(n) >= 11)
    return dev_in_host(n, 1) && (!has_in(n, 3) || dev_in_host(n, 3))
               ? NULL
               : REASON("pads and axes that are known before the run", "{1}, {3}");
  return read_amounts(n, dev_in_rank(n, 0), &a) ? NULL : REASON("constant pads", "{pads}, {1}");
}

static void read_value(const dev_node *n, int bytes, pad_params *out) {
  float value = dev_attr_float(n, "value", 0);
  const ox_tensor *t = has_in(n, 2) ? dev_in_constant(n, 2) : NULL;
  char raw[8] = {0};
  if (t && t->bytes == (size_t)bytes) memcpy(raw, t->data, t->bytes);
  if (dev_node_version(n) < 11 && bytes == 4) memcpy(raw, &value, 4);
  memcpy(&out->low, raw, 4), memcpy(&out->high, raw + 4, 4);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  static const char *const kernels[] = {"pad1", "pad2", "pad4", "pad8"};
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *y = dev_shape(p, dev_out(n, 0));
  int bytes = dev_element_bytes(dev_dtype(p, dev_in(n, 0)));
  int64_t strides[OX_MAX_RANK];
  pad_params params = {.n = (int)dev_count(p, dev_out(n, 0))};
  amounts a;
  if (dev_attr_is(n, "mode", "edge", "constant")) params.mode = PAD_EDGE;
  if (dev_attr_is(n, "mode", "reflect", "constant")) params.mode = PAD_REFLECT;
  if (dev_attr_is(n, "mode", "wrap", "constant")) params.mode = PAD_WRAP;
  if (!read_amounts(n, x->rank, &a)) return dev_refuse(p, "amounts are not constant");
  if (params.n && params.mode != PAD_CONSTANT && dev_count(p, dev_in(n, 0)) == 0)
    return dev_refuse(p, "there is nothing to pad with");
  int first = MOVE_DIMS - x->rank;
  dev_strides(x, strides);
  for (int d = 0; d < MOVE_DIMS; d++) {
    params.size[d] = d < first ? 1 : (int)y->dim[d - first], params.in[d] = d < first ? 1 : (int)x->dim[d - first];
    params.in_stride[d] = d < first ? 0 : (int)strides[d - first];
  }
  for (size_t i = 0; i < a.n; i++) {
    int axis = dev_axis(a.axes[i], x->rank);
    if (axis < 0) return dev_refuse(p, "there is no such axis");
    params.before[first + axis] = (int)a.pads[i];
  }
  read_value(n, bytes, &params);
  dev_call c = {.source = "pad",
                .kernel = dev_of_bytes(kernels, bytes),
                .dtype = OX_F32,
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0))},
                .written = 1u << 1,
                DEV_PARAMS(params)};
  return dev_emit_items(p, &c, params.n);
}

static const char *const names[] = {"Pad", NULL};
DEV_OP(pad) = {"", names, takes, emit};
