/* SPDX-License-Identifier: Apache-2.0
 * device/ops/bias_add.c - com.microsoft's BiasAdd (adds a bias along the last axis and a residual) and BiasSplitGelu
 * (the left half of each biased row times GELU of the right half). */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/elementwise_params.h"

static bool is_split(const dev_node *n) { return strcmp(dev_node_op(n), "BiasSplitGelu") == 0; }

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 3, 3);
  if (why) return why;
  return dev_in_rank(n, 1) != 1 || (!is_split(n) && dev_in_rank(n, 2) != 3)
             ? REASON("a bias of one axis, and a residual of 3", "{1}, {2}")
             : NULL;
}

/* Adds the bias to |width| elements from column |first| on of each of |rows| rows, then applies |tail|. */
static ox_status *emit_rows(dev_plan *p, const dev_node *n, int64_t rows, int64_t width, int64_t first,
                            const dev_tail *tail, dev_ref y) {
  uint32_t dtype = dev_dtype(p, dev_in(n, 0));
  dev_ref x = dev_value(p, dev_in(n, 0)), bias = dev_value(p, dev_in(n, 1));
  size_t skip = (size_t)first * (dtype == OX_F16 ? 2 : 4);
  const broadcast_params b = {.n = (int)(rows * width),
                              .rank = 2,
                              .op = TAIL_ADD,
                              .dim = {(int)width, (int)rows},
                              .a_stride = {1, (int)dev_count(p, dev_in(n, 1))},
                              .b_stride = {1, 0},
                              .tail = tail->params};
  x.offset += skip, bias.offset += skip;
  dev_call c = {.source = "elementwise",
                .kernel = "broadcast",
                .dtype = dtype,
                .groups = {dev_groups(b.n, FLAT_ITEMS)},
                .items = FLAT_ITEMS,
                .n_buffers = 3,
                .written = 1u << 2,
                DEV_PARAMS(b),
                .buffers = {x, bias, y}};
  dev_call_tail(&c, tail);
  return dev_emit(p, &c);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int64_t width = x->dim[2] / (is_split(n) ? 2 : 1), rows = x->dim[0] * x->dim[1], count = rows * width;
  dev_tail own = dev_tail_none(UINT32_MAX), then, tail;
  if (dev_count(p, dev_in(n, 1)) != x->dim[2] || (is_split(n) && x->dim[2] % 2) ||
      (!is_split(n) && dev_count(p, dev_in(n, 2)) != count))
    return dev_refuse(p, "a bias or a residual that does not fit");
  DEV_TRY(dev_take_tail(p, n, &then));
  if (count == 0) return NULL;
  dev_ref y = dev_value(p, then.out);
  if (is_split(n)) {
    dev_tail gelu = dev_tail_none(UINT32_MAX);
    dev_ref right = dev_temp(p, (size_t)count * (dev_dtype(p, dev_in(n, 0)) == OX_F16 ? 2 : 4));
    dev_tail_constant(&gelu, TAIL_GELU, 0);
    DEV_TRY(emit_rows(p, n, rows, width, width, &gelu, right));
    dev_tail_operand(&own, TAIL_MUL, right, 1, count);
  } else {
    dev_tail_operand(&own, TAIL_ADD, dev_value(p, dev_in(n, 2)), 1, count);
  }
  bool joined = dev_tail_join(&own, &then, &tail);
  DEV_TRY(emit_rows(p, n, rows, width, 0, joined ? &tail : &own, y));
  return joined ? NULL : dev_emit_tail(p, &then, y, dev_dtype(p, dev_in(n, 0)), count);
}

static const char *const names[] = {"BiasAdd", "BiasSplitGelu", NULL};
DEV_OP(bias_add) = {"com.microsoft", names, takes, emit};
