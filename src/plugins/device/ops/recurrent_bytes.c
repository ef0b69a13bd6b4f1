/* SPDX-License-Identifier: Apache-2.0
 * device/ops/recurrent_bytes.c - com.microsoft's DynamicQuantizeLSTM: X is quantized once and one product projects the
 * inputs of all steps; then there are two launches per step, the first of which quantizes the states. */
#include <limits.h>
#include <string.h>

#include "plugins/device/qproduct.h"
#include "plugins/device/recurrent.h"

enum { W_SCALE = DEV_RECURRENT_P + 1, W_ZERO, R_SCALE, R_ZERO };

#define NO DEV_Q_ABSENT
static const dev_q_inputs of_w = {
    "DynamicQuantizeLSTM", DEV_RECURRENT_X, DEV_RECURRENT_W, NO, W_ZERO, NO, W_SCALE, NO, NO, NO, NO, true, 0};
static const dev_q_inputs of_r = {
    "DynamicQuantizeLSTM", DEV_RECURRENT_X, DEV_RECURRENT_R, NO, R_ZERO, NO, R_SCALE, NO, NO, NO, NO, true, 2};

static const char *takes(const dev_node *n) {
  static const size_t reals[] = {DEV_RECURRENT_X, DEV_RECURRENT_B, DEV_RECURRENT_H, DEV_RECURRENT_C,
                                 DEV_RECURRENT_P, W_SCALE,         R_SCALE};
  recurrent_params q;
  for (size_t i = 0; i < DEV_LENGTH(reals); i++)
    if (dev_recurrent_has(n, reals[i]) && dev_in_dtype(n, reals[i]) != OX_F32)
      return REASON("float32 beside its weights", "{inputs}");
  for (size_t i = W_SCALE; i <= R_ZERO; i++)
    if (!dev_recurrent_has(n, i)) return REASON("scales and zero points of the weights", "{inputs}");
  uint32_t dtype = dev_in_dtype(n, DEV_RECURRENT_W);
  if (dtype != OX_U8 && dtype != OX_I8) return REASON("weights of 8-bit integers", "{1}, {2}");
  if (dev_in_dtype(n, W_ZERO) != dtype || dev_in_dtype(n, DEV_RECURRENT_R) != dev_in_dtype(n, R_ZERO) ||
      (dev_in_dtype(n, R_ZERO) != OX_U8 && dev_in_dtype(n, R_ZERO) != OX_I8))
    return REASON("zero points of the weights' type", "{inputs}");
  if (dev_recurrent_has(n, DEV_RECURRENT_LENS) && dev_in_dtype(n, DEV_RECURRENT_LENS) != OX_I32)
    return REASON("lengths of int32", "{4}");
  return dev_recurrent_read(n, RECURRENT_LSTM, &q)
             ? NULL
             : REASON("activations that its kernels have, and a layout of 0", "{activations}, {layout=0}");
}

/* ---- weights and the inputs' product ---- */

static int width_of(const recurrent_params *q) { return q->gates * q->hidden; }

/* Packs the weights of all directions: [direction, k, gates * units]; k: inputs or units. */
static ox_status *emit_weights(dev_plan *p, const dev_node *n, const dev_q_inputs *in, const recurrent_params *q, int k,
                               dev_ref *out_packed, dev_ref *out_head) {
  bool each = dev_count(p, dev_in(n, in->w_scale)) != q->dirs;
  const qweights_params w = {.rows = width_of(q),
                             .c = k,
                             .taps = 1,
                             .group_step = k * width_of(q),
                             .row_step = 1,
                             .c_step = width_of(q),
                             .shared = each ? 1 : width_of(q),
                             .alpha = 1};
  return dev_q_weights(p, n, in, q->dirs, true, w, out_packed, out_head);
}

static ox_status *emit_bytes_of_x(dev_plan *p, const dev_node *n, const recurrent_params *q, const dev_q_left *to) {
  dev_ref x = dev_value(p, dev_in(n, DEV_RECURRENT_X));
  int64_t count = dev_count(p, dev_in(n, DEV_RECURRENT_X));
  if (q->has_lens) {
    dev_ref live = dev_temp(p, (size_t)count * sizeof(float));
    dev_call c = {.source = "recurrent_bytes",
                  .kernel = "recurrent_live",
                  .dtype = OX_F32,
                  .n_buffers = 3,
                  .written = 1u << 2,
                  .params = q,
                  .params_bytes = sizeof *q,
                  .buffers = {x, dev_value(p, dev_in(n, DEV_RECURRENT_LENS)), live}};
    DEV_TRY(dev_emit_items(p, &c, count));
    x = live;
  }
  return dev_q_quantize(p, x, count, to);
}

static ox_status *project(dev_plan *p, const dev_node *n, const recurrent_params *q, dev_ref projected) {
  size_t count = (size_t)dev_count(p, dev_in(n, DEV_RECURRENT_X));
  dev_q_sums sums = {.left = {dev_temp(p, count), dev_temp(p, 1), dev_temp(p, sizeof(float))}, .out = projected};
  dev_ref packed = {DEV_REF_NONE, 0, 0};
  qgemm_params g = {.m = q->seq * q->batch,
                    .n = width_of(q),
                    .k = q->input,
                    .k4 = (q->input + 3) / 4,
                    .wide = q->input % 4 == 0,
                    .x_kind = QUANT_U8,
                    .y_kind = QUANT_F32,
                    .has_w_zero = dev_q_has_w_zero(n, &of_w)};
  for (int i = 0; i < GEMM_BATCHES; i++) g.batch[i] = 1;
  g.batch[GEMM_BATCHES - 1] = q->dirs, g.w_batch[GEMM_BATCHES - 1] = 1;
  DEV_TRY(emit_bytes_of_x(p, n, q, &sums.left));
  DEV_TRY(emit_weights(p, n, &of_w, q, q->input, &packed, &sums.head));
  return dev_q_tiles(p, n, &of_w, &g, packed, &sums, q->dirs);
}

/* ---- steps ---- */

static ox_status *emit_steps(dev_plan *p, const dev_node *n, recurrent_params q, dev_ref projected, dev_ref state) {
  dev_ref packed = {DEV_REF_NONE, 0, 0}, head = packed;
  DEV_TRY(emit_weights(p, n, &of_r, &q, q.hidden, &packed, &head));
  uint32_t tiles = dev_groups(q.hidden, RECURRENT_BYTE_UNITS) * dev_groups(q.batch, RECURRENT_ROWS) * (uint32_t)q.dirs;
  dev_ref lens = dev_value(p, dev_recurrent_in_of(n, DEV_RECURRENT_LENS));
  const dev_call bytes = {.source = "recurrent_bytes",
                          .kernel = "recurrent_bytes",
                          .dtype = OX_F32,
                          .groups = {(uint32_t)q.dirs},
                          .items = ROWS_ITEMS,
                          .n_buffers = 2,
                          .written = 1u << 1,
                          DEV_PARAMS(q),
                          .buffers = {lens, state}};
  const dev_call step = {.source = "recurrent_bytes",
                         .kernel = "recurrent_bytes_step",
                         .dtype = OX_F32,
                         .groups = {tiles},
                         .items = 256,
                         .n_buffers = 8,
                         .written = 3u << 6,
                         DEV_PARAMS(q),
                         .buffers = {projected, packed, head, dev_value(p, dev_recurrent_in_of(n, DEV_RECURRENT_B)),
                                     lens, dev_value(p, dev_recurrent_in_of(n, DEV_RECURRENT_P)), state,
                                     dev_value(p, dev_recurrent_out_of(n, 0))}};
  q.phase = RECURRENT_WHOLE, q.first_gate = 0, q.end_gate = q.gates;
  for (q.step = 0; q.step < q.seq; q.step++) {
    DEV_TRY(dev_emit(p, &bytes));
    DEV_TRY(dev_emit(p, &step));
  }
  return NULL;
}

/* Checks W or R: [directions, k, gates * units], with a scale for each direction or each column. */
static bool weights_fit(const dev_plan *p, const dev_node *n, const dev_q_inputs *in, const recurrent_params *q,
                        int k) {
  const ox_shape *w = dev_shape(p, dev_in(n, in->w));
  int64_t scales = dev_count(p, dev_in(n, in->w_scale));
  return w->rank == 3 && w->dim[0] == q->dirs && w->dim[1] == k && w->dim[2] == (int64_t)q->gates * q->hidden &&
         (scales == q->dirs || scales == (int64_t)q->dirs * width_of(q)) &&
         scales == dev_count(p, dev_in(n, in->w_zero));
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, DEV_RECURRENT_X)), *r = dev_shape(p, dev_in(n, DEV_RECURRENT_R));
  recurrent_params q;
  if (!dev_recurrent_read(n, RECURRENT_LSTM, &q) || x->rank != 3 || r->rank != 3 || r->dim[1] > INT_MAX / 4)
    return dev_refuse(p, "inputs that are no X and R");
  q.batch_first = 0, q.seq = (int)x->dim[0], q.batch = (int)x->dim[1], q.input = (int)x->dim[2];
  q.hidden = (int)r->dim[1];
  if (!dev_recurrent_fits(p, n, &q) || !weights_fit(p, n, &of_w, &q, q.input) ||
      !weights_fit(p, n, &of_r, &q, q.hidden))
    return dev_refuse(p, "inputs that do not fit X, R and the direction");
  size_t rows = (size_t)q.dirs * (size_t)q.batch, units = (size_t)q.hidden, steps = (size_t)q.seq;
  if (rows * units == 0) return NULL;
  dev_ref state = dev_temp(p, (rows * (3 * units + (units + 3) / 4 + 1) + 2 * (size_t)q.dirs) * sizeof(float));
  dev_ref projected = dev_temp(p, steps * rows * units * (size_t)q.gates * sizeof(float));
  DEV_TRY(dev_recurrent_ends(p, n, q, true, state));
  if (q.seq) {
    DEV_TRY(project(p, n, &q, projected));
    DEV_TRY(emit_steps(p, n, q, projected, state));
  }
  return dev_recurrent_ends(p, n, q, false, state);
}

static const char *const names[] = {"DynamicQuantizeLSTM", NULL};
DEV_OP(recurrent_bytes) = {"com.microsoft", names, takes, emit};
