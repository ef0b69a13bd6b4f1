/* SPDX-License-Identifier: Apache-2.0
 * device/ops/recurrent.c - RNN, GRU and LSTM: one product for each direction projects the inputs of all steps, then one
 * launch runs all steps if a group can hold the weights, else one runs each step (two for a GRU that applies the reset
 * gate before its product). */
#include <limits.h>
#include <string.h>

#include "plugins/device/recurrent.h"

enum {
  X = DEV_RECURRENT_X,
  W = DEV_RECURRENT_W,
  R = DEV_RECURRENT_R,
  B = DEV_RECURRENT_B,
  LENS = DEV_RECURRENT_LENS,
  H = DEV_RECURRENT_H,
  C = DEV_RECURRENT_C,
  P = DEV_RECURRENT_P
};

bool dev_recurrent_has(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
uint32_t dev_recurrent_in_of(const dev_node *n, size_t i) {
  return dev_recurrent_has(n, i) ? dev_in(n, i) : UINT32_MAX;
}
uint32_t dev_recurrent_out_of(const dev_node *n, size_t i) {
  return n->host->node_out_count(n->graph, n->index) > i ? dev_out(n, i) : UINT32_MAX;
}
static int cell_of(const dev_node *n) {
  const char *op = dev_node_op(n);
  return strcmp(op, "LSTM") == 0 ? RECURRENT_LSTM : strcmp(op, "GRU") == 0 ? RECURRENT_GRU : RECURRENT_RNN;
}

/* ---- activations ---- */

static const struct {
  const char *name;
  int kind, parameters; /* parameters: 0, 1 (alpha) or 2 (alpha, beta) taken from the lists */
  float a, b;
} acts[] = {{"Tanh", RECURRENT_TANH, 0, 0, 0},
            {"Sigmoid", RECURRENT_SIGMOID, 0, 0, 0},
            {"Relu", RECURRENT_RELU, 0, 0, 0},
            {"Affine", RECURRENT_AFFINE, 2, 1, 0},
            {"LeakyRelu", RECURRENT_LEAKY, 1, 0.01f, 0},
            {"ThresholdedRelu", RECURRENT_THRESHOLDED, 1, 1, 0},
            {"ScaledTanh", RECURRENT_SCALED_TANH, 2, 1, 1},
            {"HardSigmoid", RECURRENT_HARD_SIGMOID, 2, 0.2f, 0.5f},
            {"Elu", RECURRENT_ELU, 1, 1, 0},
            {"Softsign", RECURRENT_SOFTSIGN, 0, 0, 0},
            {"Softplus", RECURRENT_SOFTPLUS, 0, 0, 0}};

static size_t act_of(const ox_str *name) {
  size_t i = 0;
  while (i < DEV_LENGTH(acts) && (strlen(acts[i].name) != name->n || memcmp(acts[i].name, name->p, name->n) != 0)) i++;
  return i;
}

/* Reads the activations. False: one that the kernels do not have, or a wrong number of them. */
static bool read_acts(const dev_node *n, recurrent_params *p) {
  static const int defaults[3][3] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 0}};
  ox_attr_view names, alphas, betas;
  bool given = n->host->node_attr(n->graph, n->index, "activations", &names) != 0 && names.n;
  bool has_a = n->host->node_attr(n->graph, n->index, "activation_alpha", &alphas) != 0;
  bool has_b = n->host->node_attr(n->graph, n->index, "activation_beta", &betas) != 0;
  size_t each = (size_t)p->cell + 1, alpha = 0, beta = 0;
  if (given && names.n != each * (size_t)p->dirs) return false;
  for (size_t i = 0; i < each * (size_t)p->dirs; i++) {
    size_t row = given ? act_of(&names.strings[i]) : (size_t)defaults[p->cell][i % each], dir = i / each, at = i % each;
    if (row == DEV_LENGTH(acts)) return false;
    p->act[dir][at] = acts[row].kind, p->a[dir][at] = acts[row].a, p->b[dir][at] = acts[row].b;
    if (acts[row].parameters >= 1 && has_a && alpha < alphas.n) p->a[dir][at] = alphas.floats[alpha++];
    if (acts[row].parameters >= 2 && has_b && beta < betas.n) p->b[dir][at] = betas.floats[beta++];
  }
  return true;
}

bool dev_recurrent_read(const dev_node *n, int cell, recurrent_params *out) {
  bool both = dev_attr_is(n, "direction", "bidirectional", "forward");
  *out = (recurrent_params){.cell = cell,
                            .dirs = both ? 2 : 1,
                            .gates = cell == RECURRENT_LSTM  ? 4
                                     : cell == RECURRENT_GRU ? 3
                                                             : 1,
                            .backwards = both ? 2 : dev_attr_is(n, "direction", "reverse", "forward"),
                            .batch_first = dev_attr_int(n, "layout", 0) != 0,
                            .has_bias = dev_recurrent_has(n, B),
                            .has_lens = dev_recurrent_has(n, LENS),
                            .has_peep = dev_recurrent_has(n, P),
                            .has_y = dev_recurrent_out_of(n, 0) != UINT32_MAX,
                            .linear_before_reset = dev_attr_int(n, "linear_before_reset", 0) != 0,
                            .input_forget = dev_attr_int(n, "input_forget", 0) != 0,
                            .clip = dev_attr_float(n, "clip", 0)};
  return read_acts(n, out);
}

static const char *takes(const dev_node *n) {
  recurrent_params p;
  uint32_t dtype = dev_in_dtype(n, X);
  if (dtype != OX_F32 && dtype != OX_F16) return REASON("float32 or float16", "{0}");
  for (size_t i = 0; i < dev_in_count(n); i++) /* ranks are fixed by the standard; shapes are checked in a plan */
    if (dev_recurrent_has(n, i) && i != LENS && dev_in_dtype(n, i) != dtype) return REASON("one type", "{inputs}");
  if (dev_recurrent_has(n, LENS) && dev_in_dtype(n, LENS) != OX_I32) return REASON("lengths of int32", "{4}");
  return dev_recurrent_read(n, cell_of(n), &p)
             ? NULL
             : REASON("activations that its kernels have, and a layout of 0", "{activations}, {layout=0}");
}

/* ---- launches ---- */

static ox_status *project(dev_plan *p, const dev_node *n, const recurrent_params *q, dev_ref projected) {
  const ox_shape *w = dev_shape(p, dev_in(n, W));
  uint32_t dtype = dev_in_dtype(n, X);
  size_t element = dtype == OX_F16 ? 2 : 4;
  for (int dir = 0; dir < q->dirs; dir++) {
    dev_product x;
    memset(&x, 0, sizeof x);
    for (int i = 0; i < GEMM_BATCHES; i++) x.g.batch[i] = 1;
    x.g.m = q->seq * q->batch, x.g.k = (int)w->dim[2], x.g.n = q->gates * q->hidden;
    x.g.a_row = x.g.k, x.g.a_col = 1, x.g.b_row = 1, x.g.b_col = x.g.k;
    x.dtype = dtype, x.a = dev_value(p, dev_in(n, X)), x.b = dev_value(p, dev_in(n, W)), x.c = projected;
    x.b.offset += (size_t)dir * (size_t)x.g.k * (size_t)x.g.n * element;
    x.c.offset += (size_t)dir * (size_t)x.g.m * (size_t)x.g.n * element;
    DEV_TRY(dev_emit_product(p, &x));
  }
  return NULL;
}

ox_status *dev_recurrent_ends(dev_plan *p, const dev_node *n, recurrent_params q, bool begin, dev_ref state) {
  dev_ref h = dev_value(p, begin ? dev_recurrent_in_of(n, H) : dev_recurrent_out_of(n, 1));
  dev_ref c = dev_value(p, begin ? dev_recurrent_in_of(n, C) : dev_recurrent_out_of(n, 2));
  q.has_h = h.kind != DEV_REF_NONE, q.has_c = c.kind != DEV_REF_NONE && q.cell == RECURRENT_LSTM;
  if (!begin && !q.has_h && !q.has_c) return NULL;
  dev_call call = {.source = "recurrent",
                   .kernel = begin ? "recurrent_begin" : "recurrent_end",
                   .dtype = dev_in_dtype(n, X),
                   .n_buffers = 3,
                   .written = begin ? 1u << 2 : 6,
                   DEV_PARAMS(q)};
  const dev_ref buffers[] = {begin ? h : state, begin ? c : h, begin ? state : c};
  memcpy(call.buffers, buffers, sizeof buffers);
  return dev_emit_items(p, &call, (int64_t)q.dirs * q.batch * q.hidden);
}

static ox_status *emit_cell(dev_plan *p, const dev_node *n, const recurrent_params *q, bool all_steps,
                            dev_ref projected, dev_ref state) {
  uint32_t rows = (uint32_t)(q->dirs * q->batch);
  uint32_t tiles = dev_groups(q->hidden, RECURRENT_UNITS) * dev_groups(q->batch, RECURRENT_ROWS) * (uint32_t)q->dirs;
  const dev_call call = {
      .source = all_steps ? "recurrent_rows" : "recurrent",
      .kernel = all_steps ? "recurrent_rows" : "recurrent_step",
      .dtype = dev_in_dtype(n, X),
      .groups = {all_steps ? rows : tiles},
      .items = 256,
      .n_buffers = 7,
      .written = 3u << 5,
      .params = q,
      .params_bytes = sizeof *q,
      .buffers = {projected, dev_value(p, dev_in(n, R)), dev_value(p, dev_recurrent_in_of(n, B)),
                  dev_value(p, dev_recurrent_in_of(n, LENS)), dev_value(p, dev_recurrent_in_of(n, P)), state,
                  dev_value(p, dev_recurrent_out_of(n, 0))}};
  return dev_emit(p, &call);
}

static ox_status *emit_steps(dev_plan *p, const dev_node *n, recurrent_params q, dev_ref projected, dev_ref state) {
  bool two = q.cell == RECURRENT_GRU && !q.linear_before_reset;
  if (q.hidden <= RECURRENT_SMALL && q.seq > 1) return emit_cell(p, n, &q, true, projected, state);
  for (q.step = 0; q.step < q.seq; q.step++)
    for (int part = 0; part <= two; part++) {
      q.phase = !two ? RECURRENT_WHOLE : part ? RECURRENT_CANDIDATE : RECURRENT_Z_R;
      q.first_gate = part ? 2 : 0, q.end_gate = two && !part ? 2 : q.gates;
      DEV_TRY(emit_cell(p, n, &q, false, projected, state));
    }
  return NULL;
}

bool dev_recurrent_fits(const dev_plan *p, const dev_node *n, const recurrent_params *q) {
  const ox_shape *x = dev_shape(p, dev_in(n, X));
  int64_t states = (int64_t)q->dirs * q->batch * q->hidden, width = (int64_t)q->dirs * q->gates * q->hidden;
  const int64_t counts[] = {[B] = 2 * width, q->batch, states, states, (int64_t)q->dirs * 3 * q->hidden};
  for (size_t i = B; i <= P; i++)
    if (dev_recurrent_has(n, i) && dev_count(p, dev_in(n, i)) != counts[i]) return false;
  return x->rank == 3 && (double)q->seq * (double)q->batch * (double)width <= INT_MAX;
}

static bool fits(const dev_plan *p, const dev_node *n, const recurrent_params *q) {
  const ox_shape *w = dev_shape(p, dev_in(n, W)), *r = dev_shape(p, dev_in(n, R));
  return dev_recurrent_fits(p, n, q) && w->rank == 3 && r->rank == 3 && r->dim[0] == q->dirs && w->dim[0] == q->dirs &&
         w->dim[2] == q->input && w->dim[1] == (int64_t)q->gates * q->hidden && r->dim[1] == w->dim[1];
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, X)), *r = dev_shape(p, dev_in(n, R));
  recurrent_params q;
  bool read = dev_recurrent_read(n, cell_of(n), &q);
  q.seq = (int)x->dim[q.batch_first], q.batch = (int)x->dim[!q.batch_first], q.input = (int)x->dim[2];
  q.hidden = (int)r->dim[r->rank - 1];
  if (!read || !fits(p, n, &q)) return dev_refuse(p, "inputs that do not fit X, R and the direction");
  size_t states = (size_t)q.dirs * (size_t)q.batch * (size_t)q.hidden, rows = (size_t)q.seq * (size_t)q.batch;
  if (states == 0) return NULL;
  dev_ref state = dev_temp(p, 4 * states * sizeof(float));
  dev_ref projected =
      dev_temp(p, rows * (size_t)(q.dirs * q.gates * q.hidden) * (dev_in_dtype(n, X) == OX_F16 ? 2 : 4));
  DEV_TRY(dev_recurrent_ends(p, n, q, true, state));
  if (q.seq) DEV_TRY(project(p, n, &q, projected));
  DEV_TRY(emit_steps(p, n, q, projected, state));
  return dev_recurrent_ends(p, n, q, false, state);
}

static const char *const names[] = {"RNN", "GRU", "LSTM", NULL};
DEV_OP(recurrent) = {"", names, takes, emit};
