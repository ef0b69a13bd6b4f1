/* SPDX-License-Identifier: Apache-2.0
 * device/ops/norm.c - LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/rows_params.h"

static bool is_op(const dev_node *n, const char *name) { return strcmp(dev_node_op(n), name) == 0; }

static bool is_layer(const dev_node *n) {
  return !is_op(n, "InstanceNormalization") && !is_op(n, "GroupNormalization");
}

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, is_layer(n) ? 1 : 3, OX_MAX_RANK);
  if (why) return why;
  for (size_t i = 1; i < n->host->node_out_count(n->graph, n->index); i++)
    if (dev_out(n, i) != UINT32_MAX) return REASON("one output", "{>1}, {>2}");
  if (!is_layer(n)) return NULL;
  int axis = dev_axis(dev_attr_int(n, "axis", -1), dev_in_rank(n, 0));
  if (axis < 0 || dev_in_rank(n, 1) != dev_in_rank(n, 0) - axis)
    return REASON("a scale of the shape that is normalized", "{0}, {1}, {axis=-1}");
  for (int d = axis; d < dev_in_rank(n, 0); d++) { /* shapes must be equal, as far as they are known */
    int64_t x = dev_in_dim(n, 0, d), scale = dev_in_dim(n, 1, d - axis);
    if (scale < 0 || (scale == 1 && x != 1))
      return REASON("a scale of the shape that is normalized", "{0}, {1}, {axis=-1}");
    if (dev_in_count(n) > 2 && dev_in(n, 2) != UINT32_MAX &&
        (dev_in_rank(n, 2) != dev_in_rank(n, 1) || dev_in_dim(n, 2, d - axis) != scale))
      return REASON("a bias of the scale's shape", "{1}, {2}");
  }
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int64_t rows, groups = is_op(n, "GroupNormalization") ? dev_attr_int(n, "num_groups", 1) : x->dim[1];
  bool layer = is_layer(n), has_shift = dev_in_count(n) > 2 && dev_in(n, 2) != UINT32_MAX;
  norm_params params = {.cycle = 1,
                        .span = 1,
                        .has_shift = has_shift,
                        .epsilon = dev_attr_float(n, "epsilon", 1e-5f),
                        .centred = !is_op(n, "RMSNormalization") && !is_op(n, "SimplifiedLayerNormalization")};
  dev_tail then;
  DEV_TRY(dev_take_tail(p, n, &then));
  if (dev_count(p, dev_in(n, 0)) == 0) return NULL;
  if (layer) {
    int axis = dev_axis(dev_attr_int(n, "axis", -1), x->rank);
    if (axis < 0) return dev_refuse(p, "there is no such axis");
    rows = dev_span(x, 0, axis), params.n = (int)dev_span(x, axis, x->rank);
  } else {
    if (groups < 1 || x->dim[1] % groups) return dev_refuse(p, "channels are no multiple of num_groups");
    rows = x->dim[0] * groups, params.cycle = (int)groups;
    params.n = (int)(dev_span(x, 1, x->rank) / groups), params.span = (int)dev_span(x, 2, x->rank);
    if (is_op(n, "GroupNormalization") && dev_node_version(n) < 21) params.span = params.n;
  }
  if (dev_count(p, dev_in(n, 1)) != (int64_t)params.cycle * params.n / params.span)
    return dev_refuse(p, "scale has another number of elements");
  params.tail = then.params;
  dev_call c = {.source = "norm",
                .kernel = "norm",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .groups = {(uint32_t)rows},
                .items = ROWS_ITEMS,
                .n_buffers = 4,
                .written = 1u << 3,
                DEV_PARAMS(params),
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)),
                            dev_value(p, has_shift ? dev_in(n, 2) : UINT32_MAX), dev_value(p, then.out)}};
  dev_call_tail(&c, &then);
  return dev_emit(p, &c);
}

static const char *const names[] = {"LayerNormalization",    "RMSNormalization",   "SimplifiedLayerNormalization",
                                    "InstanceNormalization", "GroupNormalization", NULL};
DEV_OP(norm) = {"", names, takes, emit};
