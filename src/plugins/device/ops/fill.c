/* SPDX-License-Identifier: Apache-2.0
 * device/ops/fill.c - ConstantOfShape, and Range of integers, whose inputs follow from shapes inside the part. */
#include <string.h>

#include "plugins/device/kernels/fill_params.h"
#include "plugins/device/move.h"

static bool is_range(const dev_node *n) { return strcmp(dev_node_op(n), "Range") == 0; }

/* The element that ConstantOfShape repeats; NULL: a float32 zero. */
static const ox_tensor *value_of(const dev_node *n) {
  ox_attr_view a;
  return n->host->node_attr(n->graph, n->index, "value", &a) ? a.tensor : NULL;
}

static const char *takes(const dev_node *n) {
  bool of_part = false;
  for (size_t i = 0; i < dev_in_count(n); i++) {
    if (!dev_in_host(n, i)) return REASON("inputs that are known before the run", "{inputs}");
    of_part |= n->lies && n->lies[dev_in(n, i)] == DEV_WITH_HOST;
  }
  if (!of_part)
    return REASON(
        "a shape that follows from one of the device's (the CPU computes others once for all runs of a shape)",
        "{inputs}");
  if (is_range(n))
    return dev_in_dtype(n, 0) == OX_I64 || dev_in_dtype(n, 0) == OX_I32 ? NULL : REASON("int32 or int64", "{0}");
  const ox_tensor *value = value_of(n);
  return !value || dev_element_bytes(value->dtype) ? NULL
                                                   : REASON("a value of 8, 16, 32 or 64 bits, or bool", "{value}");
}

static void set_halves(const void *from, size_t bytes, unsigned *low, unsigned *high) {
  unsigned char raw[8] = {0};
  memcpy(raw, from, bytes);
  memcpy(low, raw, 4), memcpy(high, raw + 4, 4);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  static const char *const fills[] = {"fill1", "fill2", "fill4", "fill8"};
  uint32_t dtype = dev_dtype(p, dev_out(n, 0));
  fill_params q = {.n = (int)dev_count(p, dev_out(n, 0))};
  int64_t first = 0, step = 0;
  if (is_range(n)) {
    if (dev_in_ints(n, 0, &first, 1) != 1 || dev_in_ints(n, 2, &step, 1) != 1)
      return dev_refuse(p, "its inputs are not known before the run");
    set_halves(&first, sizeof first, &q.low, &q.high);
    set_halves(&step, sizeof step, &q.step_low, &q.step_high);
  } else if (value_of(n)) {
    set_halves(value_of(n)->data, (size_t)dev_element_bytes(dtype), &q.low, &q.high);
  }
  const char *range = dtype == OX_I64 ? "range8" : "range4";
  dev_call c = {.source = "fill",
                .kernel = is_range(n) ? range : dev_of_bytes(fills, dev_element_bytes(dtype)),
                .dtype = OX_F32,
                .n_buffers = 1,
                .buffers = {dev_value(p, dev_out(n, 0))},
                .written = 1,
                DEV_PARAMS(q)};
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"ConstantOfShape", "Range", NULL};
DEV_OP(fill) = {"", names, takes, emit};
