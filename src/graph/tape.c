/* SPDX-License-Identifier: Apache-2.0
 * graph/tape.c - building blocks of derivatives. */
#include "graph/tape.h"

ox_status *ox_tape_emit(ox_tape *t, const char *op, ox_id a, ox_id b, ox_id *out) {
  const ox_id in[] = {a, b};
  ox_id node;
  OX_TRY(ox_graph_add_value(t->g, "gradient", out));
  OX_TRY(ox_graph_add_node(t->g, op, "", NULL, in, b == OX_NONE ? 1 : 2, out, 1, &node));
  return t->infer(t->g, node);
}

ox_status *ox_tape_scalar(ox_tape *t, ox_id like, float v, ox_id *out) {
  uint32_t dtype = t->g->values[like].type.dtype;
  double d = (double)v;
  if (dtype == OX_F64) return ox_graph_add_const_copy(t->g, "k", OX_F64, 0, NULL, &d, out);
  if (dtype == OX_F32) return ox_graph_add_const_copy(t->g, "k", OX_F32, 0, NULL, &v, out);
  uint16_t half = dtype == OX_F16 ? ox_f16_from_f32(v) : ox_bf16_from_f32(v);
  if (dtype == OX_F16 || dtype == OX_BF16) return ox_graph_add_const_copy(t->g, "k", dtype, 0, NULL, &half, out);
  return ox_fail(OX_NOT_IMPLEMENTED, "the gradient of %s values", ox_dtype_name(dtype));
}

ox_status *ox_tape_fill(ox_tape *t, ox_id like, float v, ox_id *out) {
  ox_id value, shape;
  OX_TRY(ox_tape_scalar(t, like, v, &value));
  OX_TRY(ox_tape_emit(t, "Shape", like, OX_NONE, &shape));
  return ox_tape_emit(t, "Expand", value, shape, out);
}

/* Sums |v| over |axes|. */
static ox_status *sum_over(ox_tape *t, ox_id v, const int64_t *axes, int64_t n, ox_id *out) {
  if (ox_model_opset(t->g->model, "") >= 13) {
    ox_id list;
    OX_TRY(ox_graph_add_const_copy(t->g, "axes", OX_I64, 1, &n, axes, &list));
    return ox_tape_emit(t, "ReduceSum", v, list, out);
  }
  OX_TRY(ox_tape_emit(t, "ReduceSum", v, OX_NONE, out));
  ox_id node = t->g->values[*out].producer;
  OX_TRY(ox_node_set_ints(t->g, node, "axes", axes, (size_t)n));
  return t->infer(t->g, node);
}

/* Sums |v| over the axes along which an operand of |shape| was broadcast, so that it has that shape. */
static ox_status *unbroadcast(ox_tape *t, ox_id v, const ox_shape *shape, ox_id *out) {
  const ox_shape from = t->g->values[v].type.shape;
  int64_t axes[OX_MAX_RANK], n = 0, rank = shape->rank;
  *out = v;
  if (!ox_shape_known(&from) || !ox_shape_known(shape))
    return ox_fail(OX_NOT_IMPLEMENTED, "the gradient of '%s', whose shape is not known at load", t->g->values[v].name);
  if (ox_shape_equal(&from, shape)) return NULL;
  for (int i = 0; i < from.rank; i++) {
    int k = i - (from.rank - shape->rank);
    if (k < 0 || (shape->dim[k] == 1 && from.dim[i] != 1)) axes[n++] = i;
  }
  ox_id target, sum;
  OX_TRY(sum_over(t, v, axes, n, &sum));
  OX_TRY(ox_graph_add_const_copy(t->g, "shape", OX_I64, 1, &rank, shape->dim, &target));
  return ox_tape_emit(t, "Reshape", sum, target, out);
}

ox_status *ox_tape_credit(ox_tape *t, ox_id v, ox_id share) {
  if (v == OX_NONE || v >= t->room) return NULL;
  const ox_shape shape = t->g->values[v].type.shape;
  OX_TRY(unbroadcast(t, share, &shape, &share));
  if (t->adjoint[v] != OX_NONE) return ox_tape_emit(t, "Add", t->adjoint[v], share, &t->adjoint[v]);
  t->adjoint[v] = share;
  return NULL;
}

ox_status *ox_tape_credit_op(ox_tape *t, ox_id v, const char *op, ox_id a, ox_id b) {
  ox_id share;
  OX_TRY(ox_tape_emit(t, op, a, b, &share));
  return ox_tape_credit(t, v, share);
}
