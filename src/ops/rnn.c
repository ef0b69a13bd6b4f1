/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn.c - RNN, GRU, LSTM. Stages: weights that are not constant are packed; the inputs of all steps are
 * multiplied by one product per direction; then each tile computes all steps of a direction for some batch rows,
 * with the state in its scratch. */
#include <string.h>

#include "ops/rnn/recurrent.h"
#include "ops/shared/check.h"

static const ox_attr_def attrs[] = {
    RECURRENT_ATTR_ROWS,
    OX_ATTR_INT_IN(recurrent_attrs, layout, 0, 0, 1),
    OX_ATTR_INT(recurrent_attrs, linear_before_reset, 0),
};

/* ---- inference ---- */
static ox_status *check_inputs(const ox_infer_ctx *c, const int64_t *dim, int64_t gates, bool layout) {
  enum { DIRS, SEQ, BATCH, INPUT, HIDDEN };
  int64_t gh = ox_dim_mul(gates, dim[HIDDEN]), hd = dim[HIDDEN];
  gh = hd < 0 ? -1 : gh;
  int64_t state[3] = {dim[DIRS], dim[BATCH], hd};
  if (layout) state[0] = dim[BATCH], state[1] = dim[DIRS];
  OX_TRY(ox_infer_shape_is(c, IN_W, 3, (int64_t[]){dim[DIRS], gh, dim[INPUT]}));
  OX_TRY(ox_infer_shape_is(c, IN_R, 3, (int64_t[]){dim[DIRS], gh, hd}));
  OX_TRY(ox_infer_shape_is(c, IN_B, 2, (int64_t[]){dim[DIRS], ox_dim_mul(2, gh)}));
  OX_TRY(ox_infer_shape_is(c, IN_LENS, 1, &dim[BATCH]));
  OX_TRY(ox_infer_shape_is(c, IN_H, 3, state));
  OX_TRY(ox_infer_shape_is(c, IN_C, 3, state));
  return ox_infer_shape_is(c, IN_P, 2, (int64_t[]){dim[DIRS], ox_dim_mul(3, hd)});
}

static ox_status *infer(ox_infer_ctx *c) {
  enum { DIRS, SEQ, BATCH, INPUT, HIDDEN };
  const recurrent_attrs *a = c->attrs;
  const ox_shape *x = &c->in[IN_X]->shape, *r = &c->in[IN_R]->shape;
  int64_t dim[5] = {1, -1, -1, -1, a->hidden_size > 0 ? a->hidden_size : -1};
  bool layout = a->layout != 0;
  if (strcmp(a->direction, "bidirectional") == 0)
    dim[DIRS] = 2;
  else if (strcmp(a->direction, "forward") != 0 && strcmp(a->direction, "reverse") != 0)
    return ox_fail(OX_INVALID_MODEL, "%s: direction '%s'", c->op, a->direction);
  OX_TRY(ox_infer_shape_is(c, IN_X, 3, (int64_t[]){-1, -1, -1}));
  OX_TRY(ox_infer_shape_is(c, IN_R, 3, (int64_t[]){-1, -1, -1}));
  if (x->rank == 3) dim[SEQ] = x->dim[layout], dim[BATCH] = x->dim[!layout], dim[INPUT] = x->dim[2];
  if (r->rank == 3 && dim[HIDDEN] < 0) dim[HIDDEN] = r->dim[2];
  int cell = recurrent_cell(c->op);
  OX_TRY(check_inputs(c, dim, cell == CELL_LSTM ? 4 : cell == CELL_GRU ? 3 : 1, layout));
  recurrent_dims unused;
  OX_TRY(recurrent_activations(cell, a, &unused));
  ox_shape y = ox_shape_of(4, (int64_t[]){dim[SEQ], dim[DIRS], dim[BATCH], dim[HIDDEN]});
  ox_shape h = ox_shape_of(3, (int64_t[]){dim[DIRS], dim[BATCH], dim[HIDDEN]});
  if (layout) {
    y = ox_shape_of(4, (int64_t[]){dim[BATCH], dim[SEQ], dim[DIRS], dim[HIDDEN]});
    h = ox_shape_of(3, (int64_t[]){dim[BATCH], dim[DIRS], dim[HIDDEN]});
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  ox_infer_out(c, 1, c->in[0]->dtype, &h);
  ox_infer_out(c, 2, c->in[0]->dtype, &h);
  return NULL;
}

/* ---- load: constant weights are packed in prepare, if all are constant ---- */
static ox_status *load(ox_load_ctx *c) {
  const ox_tensor *in[4];
  static const uint32_t from[4] = {IN_W, IN_R, IN_B, IN_P};
  for (int i = 0; i < 4; i++) {
    bool has = from[i] < c->n_in && c->in_type[from[i]];
    in[i] = has ? c->in_const[from[i]] : NULL;
    if (has && !in[i]) return NULL;
  }
  if (in[0]->dtype == OX_F64 || in[0]->shape.rank != 3 || in[1]->shape.rank != 3) return NULL;
  ox_shape x = ox_shape_of(3, (int64_t[]){1, 1, in[0]->shape.dim[2]});
  recurrent_dims d;
  OX_TRY(recurrent_dims_of(recurrent_cell(c->op), c->attrs, &x, &in[1]->shape, &d));
  if (!d.dirs || !d.hidden) return NULL;
  if (!(c->state = OX_LOAD_NEW(c, recurrent_const))) return ox_oom();
  for (int i = 0; i < 4; i++)
    if (in[i]) c->consumed |= (uint64_t)1 << from[i];
  return NULL;
}

static ox_status *prepare_rnn(ox_kernel_ctx *c) { return recurrent_prepare(c, CELL_RNN); }
static ox_status *prepare_gru(ox_kernel_ctx *c) { return recurrent_prepare(c, CELL_GRU); }
static ox_status *prepare_lstm(ox_kernel_ctx *c) { return recurrent_prepare(c, CELL_LSTM); }

#define COMMON                                                                                                    \
  .since = 1, .min_in = 3, .min_out = 0, OX_ATTRS(attrs), .attrs_bytes = sizeof(recurrent_attrs), .infer = infer, \
  .types = {OX_T_FLOAT, OX_T_FLOAT, OX_T_FLOAT, OX_T_FLOAT, OX_BIT(OX_I32), OX_T_FLOAT, OX_T_FLOAT, OX_T_FLOAT}
#define COMMON_KERNEL .load = load, .run = recurrent_run, .flops = recurrent_flops

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "RNN", .vars = "TTTT.T", .max_in = 6, .max_out = 2, COMMON),
     OX_KERNEL(.prepare = prepare_rnn, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "GRU", .vars = "TTTT.T", .max_in = 6, .max_out = 2, COMMON),
     OX_KERNEL(.prepare = prepare_gru, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "LSTM", .vars = "TTTT.TTT", .max_in = 8, .max_out = 3, COMMON),
     OX_KERNEL(.prepare = prepare_lstm, COMMON_KERNEL)},
};
const ox_op_set ox_ops_rnn = {ops, OX_COUNT(ops)};
