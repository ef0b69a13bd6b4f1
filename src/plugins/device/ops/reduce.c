/* SPDX-License-Identifier: Apache-2.0
 * device/ops/reduce.c - ReduceSum and its like over constant axes, of integers, too, for sums and extremes;
 * GlobalAveragePool and GlobalMaxPool. */
#include <string.h>

#include "plugins/device/move.h"
#include "plugins/device/kernels/rows_params.h"

/* FEW_NUMBERS: up to so many terms per output, a group for each output does not pay. */
enum { FEW_NUMBERS = 32, MOST_RANK = 2 * REDUCE_DIMS };

static const struct {
  const char *name;
  int op, axes_since; /* from this version on axes are an input */
} kinds[] = {{"ReduceSum", REDUCE_SUM, 13},
             {"ReduceMean", REDUCE_MEAN, 18},
             {"ReduceMax", REDUCE_MAX, 18},
             {"ReduceMin", REDUCE_MIN, 18},
             {"ReduceProd", REDUCE_PROD, 18},
             {"ReduceL1", REDUCE_L1, 18},
             {"ReduceL2", REDUCE_L2, 18},
             {"ReduceSumSquare", REDUCE_SUM_SQUARE, 18},
             {"ReduceLogSum", REDUCE_LOG_SUM, 18},
             {"ReduceLogSumExp", REDUCE_LOG_SUM_EXP, 18},
             {"GlobalAveragePool", REDUCE_MEAN, 255},
             {"GlobalMaxPool", REDUCE_MAX, 255}};

static size_t kind_of(const dev_node *n) {
  size_t i = 0;
  while (strcmp(kinds[i].name, dev_node_op(n)) != 0) i++;
  return i;
}

/* Bit i of |*out|: axis i is reduced. False: the axes are not known. */
static bool gone_axes(const dev_node *n, int rank, uint32_t *out) {
  size_t kind = kind_of(n), count;
  int64_t axes[OX_MAX_RANK];
  *out = 0;
  if (kinds[kind].axes_since == 255) {
    *out = ((1u << rank) - 1) & ~3u;
    return true;
  }
  if ((int)dev_node_version(n) < kinds[kind].axes_since) {
    count = dev_attr_ints(n, "axes", axes, OX_MAX_RANK);
  } else {
    bool has = dev_in_count(n) > 1 && dev_in(n, 1) != UINT32_MAX;
    count = has ? dev_in_ints(n, 1, axes, OX_MAX_RANK) : 0;
    if (count == 0 && dev_attr_int(n, "noop_with_empty_axes", 0)) return true;
  }
  if (count > OX_MAX_RANK) return false;
  if (count == 0) *out = (1u << rank) - 1;
  for (size_t i = 0; i < count; i++) {
    int axis = dev_axis(axes[i], rank);
    if (axis < 0) return false;
    *out |= 1u << axis;
  }
  return true;
}

static bool is_integer(uint32_t dtype) { return dtype == OX_I32 || dtype == OX_I64; }

static const char *takes_integers(const dev_node *n) {
  int op = kinds[kind_of(n)].op;
  if (op != REDUCE_SUM && op != REDUCE_MAX && op != REDUCE_MIN && op != REDUCE_PROD)
    return REASON("floats, or a sum, product, largest or smallest of integers", "{op}, {0}");
  return dev_takes_data(n, 0, MOST_RANK);
}

static const char *takes(const dev_node *n) {
  uint32_t gone;
  const char *why = is_integer(dev_in_dtype(n, 0)) ? takes_integers(n) : dev_takes_real(n, 0, MOST_RANK);
  if (why) return why;
  return gone_axes(n, dev_in_rank(n, 0), &gone) ? NULL : REASON("constant axes", "{1}");
}

/* Sets kept and reduced axes; adjacent ones of the same kind are merged. */
static void fill_axes(const ox_shape *x, uint32_t gone, reduce_params *r) {
  int n_kept = REDUCE_DIMS, n_gone = REDUCE_DIMS, last = -1;
  int64_t stride = 1;
  for (int i = 0; i < REDUCE_DIMS; i++) r->kept[i] = r->gone[i] = 1, r->kept_stride[i] = r->gone_stride[i] = 0;
  for (int d = x->rank - 1; d >= 0; stride *= x->dim[d], d--) {
    if (x->dim[d] == 1) continue;
    int goes = gone >> d & 1, *at = goes ? &n_gone : &n_kept;
    int *size = goes ? r->gone : r->kept, *step = goes ? r->gone_stride : r->kept_stride;
    if (goes != last) --*at, size[*at] = 1, step[*at] = (int)stride;
    size[*at] *= (int)x->dim[d], last = goes;
  }
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  static const char *const items[] = {"reduce_items", "reduce_items_int", "reduce_items_long"};
  static const char *const rows[] = {"reduce_rows", "reduce_rows_int", "reduce_rows_long"};
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  uint32_t gone, dtype = dev_dtype(p, dev_in(n, 0));
  int type = dtype == OX_I32 ? 1 : dtype == OX_I64 ? 2 : 0;
  dev_tail then = dev_tail_none(dev_out(n, 0));
  if (!type) DEV_TRY(dev_take_tail(p, n, &then));
  if (!gone_axes(n, x->rank, &gone)) return dev_refuse(p, "there is no such axis");
  reduce_params params = {
      .op = kinds[kind_of(n)].op, .n = 1, .outputs = (int)dev_count(p, dev_out(n, 0)), .tail = then.params};
  for (int d = 0; d < x->rank; d++)
    if (gone >> d & 1) params.n *= (int)x->dim[d];
  fill_axes(x, gone, &params);
  dev_call c = {.source = type ? "reduce_integers" : "reduce",
                .kernel = items[type],
                .dtype = type ? OX_F32 : dtype,
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, then.out)},
                .written = 1u << 1,
                DEV_PARAMS(params)};
  dev_call_tail(&c, &then);
  bool across = params.kept_stride[REDUCE_DIMS - 1] == 1; /* adjacent items read adjacent elements */
  bool many = params.outputs >= (int)dev_plan_device(p)->n_units * 256;
  if (params.n <= FEW_NUMBERS || (across && many)) return dev_emit_items(p, &c, params.outputs);
  if (!params.outputs) return NULL;
  c.kernel = rows[type], c.groups[0] = (uint32_t)params.outputs, c.items = ROWS_ITEMS;
  return dev_emit(p, &c);
}

static const char *const names[] = {
    "ReduceSum",       "ReduceMean",   "ReduceMax",       "ReduceMin",         "ReduceProd",    "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "GlobalAveragePool", "GlobalMaxPool", NULL};
DEV_OP(reduce) = {"", names, takes, emit};
