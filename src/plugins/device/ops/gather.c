/* SPDX-License-Identifier: Apache-2.0
 * device/ops/gather.c - Gather, GatherElements, GatherND, ScatterElements, ScatterND (the last two also with a
 * reduction of floats). */
#include <stdio.h>
#include <string.h>

#include "plugins/device/kernels/move_params.h"
#include "plugins/device/move.h"

static const struct {
  const char *name, *kernels[4];
} kinds[] = {
    {"Gather", {"gather1", "gather2", "gather4", "gather8"}},
    {"GatherElements", {"gather_elements1", "gather_elements2", "gather_elements4", "gather_elements8"}},
    {"GatherND", {"gather_nd1", "gather_nd2", "gather_nd4", "gather_nd8"}},
    {"ScatterElements", {"scatter_elements1", "scatter_elements2", "scatter_elements4", "scatter_elements8"}},
    {"Scatter", {"scatter_elements1", "scatter_elements2", "scatter_elements4", "scatter_elements8"}},
    {"ScatterND", {"scatter_nd1", "scatter_nd2", "scatter_nd4", "scatter_nd8"}},
};

static size_t kind_of(const dev_node *n) {
  size_t i = 0;
  while (strcmp(kinds[i].name, dev_node_op(n)) != 0) i++;
  return i;
}

static bool is_scatter(const dev_node *n) { return strncmp(dev_node_op(n), "Scatter", 7) == 0; }

/* The reduction as SCATTER_*; -1: none, -2: not supported. */
static int reduction_of(const dev_node *n) {
  static const char *const known[] = {"add", "mul", "min", "max"};
  if (!is_scatter(n) || dev_attr_is(n, "reduction", "none", "none")) return -1;
  for (size_t i = 0; i < DEV_LENGTH(known); i++)
    if (dev_attr_is(n, "reduction", known[i], "none")) return (int)i;
  return -2;
}

/* Updates of one element are summed in order by one item. Is there enough parallelism left, or little work in all? */
static bool may_reduce(const dev_node *n) {
  enum { AT_A_TIME = 32, FEW = 64 };
  int rank = dev_in_rank(n, 0), of_index = dev_in_rank(n, 1);
  int64_t side = 1, along = 1;
  if (dev_in_rank(n, 2) < 0 || rank < 1 || of_index < 1) return false;
  if (strcmp(dev_node_op(n), "ScatterND") == 0) {
    int64_t k = dev_in_dim(n, 1, of_index - 1);
    for (int d = 0; d + 1 < of_index; d++)
      along *= dev_in_dim(n, 1, d) < 0 ? INT32_MAX : dev_in_dim(n, 1, d) % INT32_MAX;
    for (int d = (int)k; k >= 0 && d < rank; d++) side *= dev_in_dim(n, 0, d) > 0 ? dev_in_dim(n, 0, d) : 1;
    return k >= 0 && (side >= AT_A_TIME || (along >= 0 && along <= FEW));
  }
  int axis = dev_axis(dev_attr_int(n, "axis", 0), rank);
  for (int d = 0; d < of_index; d++)
    if (d != axis) side *= dev_in_dim(n, 1, d) > 0 ? dev_in_dim(n, 1, d) : 1;
  along = axis < 0 ? -1 : dev_in_dim(n, 1, axis);
  return side >= AT_A_TIME || (along >= 0 && along <= FEW);
}

static const char *takes(const dev_node *n) {
  uint32_t index = dev_in_dtype(n, 1);
  const char *why = dev_takes_data(n, 0, MOVE_DIMS);
  if (why) return why;
  if ((index != OX_I64 && index != OX_I32) || dev_in_rank(n, 1) < 0 || dev_in_rank(n, 1) > MOVE_DIMS)
    return REASON("indices of int32 or int64, of known rank, at most 8", "{1}");
  if (reduction_of(n) == -1) return NULL;
  if (reduction_of(n) < 0 || (dev_in_dtype(n, 0) != OX_F32 && dev_in_dtype(n, 0) != OX_F16))
    return REASON("floats, and the reduction none, add, mul, min or max", "{reduction=none}, {0}");
  return may_reduce(n) ? NULL : REASON("a reduction in which few updates may meet", "{reduction=none}, {0}, {1}");
}

/* A single index that is known before the run makes a slice. */
static ox_status *emit_place(dev_plan *p, const dev_node *n, const gather_params *q, int64_t place) {
  int64_t rows = q->n / q->inner, at = place < 0 ? place + q->axis : place;
  at = at < 0 ? 0 : at >= q->axis ? q->axis - 1 : at;
  const dev_move m = {.rank = 2,
                      .size = {rows, q->inner},
                      .from_stride = {(int64_t)q->axis * q->inner, 1},
                      .to_stride = {q->inner, 1},
                      .from = at * q->inner};
  return dev_emit_move(p, &m, dev_dtype(p, dev_out(n, 0)), dev_value(p, dev_in(n, 0)), dev_value(p, dev_out(n, 0)));
}

/* Gather: indices along one axis. */
static ox_status *emit_axis(dev_plan *p, const dev_node *n, dev_call *c) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0));
  int axis = dev_axis(dev_attr_int(n, "axis", 0), x->rank);
  if (axis < 0) return dev_refuse(p, "there is no such axis");
  gather_params params = {.n = (int)dev_count(p, dev_out(n, 0)),
                          .wide = dev_in_dtype(n, 1) == OX_I64,
                          .many = (int)dev_count(p, dev_in(n, 1)),
                          .axis = (int)x->dim[axis],
                          .inner = (int)dev_span(x, axis + 1, x->rank)};
  int64_t place;
  if (params.n && !params.axis) return dev_refuse(p, "an index into nothing");
  if (params.n && dev_in_ints(n, 1, &place, 1) == 1) return emit_place(p, n, &params, place);
  c->params = &params, c->params_bytes = sizeof params;
  return dev_emit_items(p, c, params.n);
}

/* GatherElements and ScatterElements: an index for each element. */
static ox_status *emit_elements(dev_plan *p, const dev_node *n, dev_call *c) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *index = dev_shape(p, dev_in(n, 1));
  int axis = dev_axis(dev_attr_int(n, "axis", 0), x->rank), first = MOVE_DIMS - x->rank;
  int64_t strides[OX_MAX_RANK];
  if (axis < 0 || index->rank != x->rank) return dev_refuse(p, "there is no such axis, or indices of another rank");
  elements_params params = {.n = (int)dev_count(p, dev_in(n, 1)),
                            .wide = dev_in_dtype(n, 1) == OX_I64,
                            .axis = first + axis,
                            .axis_size = (int)x->dim[axis]};
  dev_strides(x, strides);
  for (int d = 0; d < MOVE_DIMS; d++) {
    params.size[d] = d < first ? 1 : (int)index->dim[d - first],
    params.stride[d] = d < first ? 0 : (int)strides[d - first];
    if (d >= first && d - first != axis && index->dim[d - first] > x->dim[d - first])
      return dev_refuse(p, "indices outgrow the data");
  }
  if (params.n && !params.axis_size) return dev_refuse(p, "an index into nothing");
  scatter_elements_params reduce = {.op = reduction_of(n), .of = params};
  c->params = &params, c->params_bytes = sizeof params;
  if (reduce.op < 0 || !params.n) return dev_emit_items(p, c, params.n);
  reduce.lanes = params.n / params.size[params.axis];
  c->source = "scatter_reduce", c->kernel = "scatter_elements_reduce", c->dtype = dev_in_dtype(n, 0);
  c->params = &reduce, c->params_bytes = sizeof reduce;
  return dev_emit_items(p, c, reduce.lanes);
}

/* GatherND and ScatterND: tuples of indices, each for an element or a slice. */
static ox_status *emit_tuples(dev_plan *p, const dev_node *n, dev_call *c) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *index = dev_shape(p, dev_in(n, 1));
  int batch = (int)dev_attr_int(n, "batch_dims", 0);
  if (index->rank < 1 || batch < 0 || batch >= index->rank || batch + index->dim[index->rank - 1] > x->rank)
    return dev_refuse(p, "tuples that do not fit the data");
  int k = (int)index->dim[index->rank - 1];
  tuples_params params = {.wide = dev_in_dtype(n, 1) == OX_I64,
                          .k = k,
                          .inner = (int)dev_span(x, batch + k, x->rank),
                          .batch_tuples = (int)dev_span(index, batch, index->rank - 1),
                          .batch_step = (int)dev_span(x, batch, x->rank)};
  params.n = (int)(dev_span(index, 0, index->rank - 1) * params.inner);
  for (int d = 0; d < k; d++) {
    params.size[d] = (int)x->dim[batch + d];
    if (params.n && !params.size[d]) return dev_refuse(p, "an index into nothing");
  }
  scatter_nd_params reduce = {.op = reduction_of(n), .of = params};
  c->params = &params, c->params_bytes = sizeof params;
  if (reduce.op < 0 || !params.n) return dev_emit_items(p, c, params.n);
  reduce.tuples = params.n / params.inner;
  c->source = "scatter_reduce", c->kernel = "scatter_nd_reduce", c->dtype = dev_in_dtype(n, 0);
  c->params = &reduce, c->params_bytes = sizeof reduce;
  return dev_emit_items(p, c, params.inner);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  int bytes = dev_element_bytes(dev_dtype(p, dev_in(n, 0)));
  size_t kind = kind_of(n);
  dev_ref data = dev_value(p, dev_in(n, 0)), index = dev_value(p, dev_in(n, 1)), y = dev_value(p, dev_out(n, 0));
  dev_call c = {.source = "gather",
                .kernel = dev_of_bytes(kinds[kind].kernels, bytes),
                .dtype = OX_F32,
                .n_buffers = 3,
                .buffers = {data, index, y},
                .written = 1u << 2};
  if (is_scatter(n)) {
    DEV_TRY(dev_emit_copy(p, y, data, (size_t)(dev_count(p, dev_in(n, 0)) * bytes)));
    c.buffers[0] = dev_value(p, dev_in(n, 2));
  }
  if (kind == 0) return emit_axis(p, n, &c);
  return strstr(kinds[kind].name, "ND") ? emit_tuples(p, n, &c) : emit_elements(p, n, &c);
}

static const char *const names[] = {"Gather",  "GatherElements", "GatherND", "ScatterElements",
                                    "Scatter", "ScatterND",      NULL};
DEV_OP(gather) = {"", names, takes, emit};
