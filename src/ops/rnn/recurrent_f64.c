/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_f64.c - recurrent cells in double precision, following the standard's equations literally. */
#include <math.h>
#include <string.h>

#include "ops/rnn/recurrent.h"

size_t recurrent_f64_scratch(const recurrent_dims *d) { return (d->gates + 3) * d->hidden * sizeof(double); }

typedef struct cell_f64 {
  const recurrent_dims *d;
  const recurrent_attrs *a;
  const ox_kernel_ctx *node;
  size_t dir;
  const double *x, *w, *r, *b, *p; /* of this step, this direction */
  double *h, *c, *g, *rh;
} cell_f64;

/* Sum of row |row| of W and R (over |state|) with inputs and biases. */
static double input_sum(const cell_f64 *s, size_t row) {
  double sum = s->b ? s->b[row] : 0;
  for (size_t k = 0; k < s->d->input; k++) sum += s->x[k] * s->w[row * s->d->input + k];
  return sum;
}
static double state_sum(const cell_f64 *s, size_t row, const double *state) {
  double sum = s->b ? s->b[s->d->gates * s->d->hidden + row] : 0;
  for (size_t k = 0; k < s->d->hidden; k++) sum += state[k] * s->r[row * s->d->hidden + k];
  return sum;
}
static double gate(const cell_f64 *s, int act, double x) {
  double clip = (double)s->d->clip;
  return ox_act_f64(s->d->act[s->dir][act], x < -clip ? -clip : x > clip ? clip : x);
}

static bool goes_on(const cell_f64 *s, size_t row) { return !ox_ctx_stopped_each(s->node, (int64_t)row, 16); }

static void step_rnn(const cell_f64 *s) {
  size_t n = s->d->hidden;
  for (size_t j = 0; j < n && goes_on(s, j); j++) s->g[j] = gate(s, 0, input_sum(s, j) + state_sum(s, j, s->h));
  memcpy(s->h, s->g, n * sizeof *s->h);
}

static void step_gru(const cell_f64 *s) {
  size_t n = s->d->hidden;
  for (size_t j = 0; j < 2 * n && goes_on(s, j); j++) s->g[j] = gate(s, 0, input_sum(s, j) + state_sum(s, j, s->h));
  for (size_t j = 0; j < n; j++) s->rh[j] = s->g[n + j] * s->h[j];
  for (size_t j = 0; j < n && goes_on(s, j); j++) {
    double x = input_sum(s, 2 * n + j);
    if (s->a->linear_before_reset)
      x += s->g[n + j] * state_sum(s, 2 * n + j, s->h);
    else
      x += state_sum(s, 2 * n + j, s->rh);
    s->g[2 * n + j] = gate(s, 1, x);
  }
  for (size_t j = 0; j < n; j++) s->h[j] = (1 - s->g[j]) * s->g[2 * n + j] + s->g[j] * s->h[j];
}

static void step_lstm(const cell_f64 *s) {
  size_t n = s->d->hidden;
  for (size_t j = 0; j < 4 * n && goes_on(s, j); j++) s->g[j] = input_sum(s, j) + state_sum(s, j, s->h);
  for (size_t j = 0; j < n; j++) {
    double c = s->c[j], pi = s->p ? s->p[j] : 0, po = s->p ? s->p[n + j] : 0, pf = s->p ? s->p[2 * n + j] : 0;
    double i = gate(s, 0, s->g[j] + pi * c);
    double f = s->a->input_forget ? 1 - i : gate(s, 0, s->g[2 * n + j] + pf * c);
    c = f * c + i * gate(s, 1, s->g[3 * n + j]);
    s->c[j] = c;
    s->h[j] = gate(s, 0, s->g[n + j] + po * c) * ox_act_f64(s->d->act[s->dir][2], c);
  }
}

static const double *data(const ox_kernel_ctx *c, uint32_t i) {
  const ox_tensor *t = recurrent_in(c, i);
  return t ? t->data : NULL;
}

static void run_row(const ox_kernel_ctx *c, cell_f64 *s, size_t b, int32_t len) {
  const recurrent_dims *d = s->d;
  size_t n = d->hidden, state = recurrent_state(d, s->dir, b), bytes = n * sizeof(double);
  const double *h0 = data(c, IN_H), *c0 = d->cell == CELL_LSTM ? data(c, IN_C) : NULL;
  for (size_t j = 0; j < n; j++) s->h[j] = h0 ? h0[state + j] : 0, s->c[j] = c0 ? c0[state + j] : 0;
  for (size_t step = 0; step < d->seq && !ox_ctx_stopped(c); step++) {
    bool live = (int64_t)step < len;
    size_t t = live && recurrent_backwards(s->a, s->dir) ? (size_t)len - 1 - step : step;
    s->x = data(c, IN_X) + recurrent_row(d, t, b) * d->input;
    if (live) (d->cell == CELL_LSTM ? step_lstm : d->cell == CELL_GRU ? step_gru : step_rnn)(s);
    if (!ox_ctx_wants(c, 0)) continue;
    double *y = (double *)c->out[0]->data + recurrent_y(d, t, s->dir, b);
    if (live)
      memcpy(y, s->h, bytes);
    else
      memset(y, 0, bytes);
  }
  if (ox_ctx_wants(c, 1)) memcpy((double *)c->out[1]->data + state, s->h, bytes);
  if (ox_ctx_wants(c, 2)) memcpy((double *)c->out[2]->data + state, s->c, bytes);
}

ox_status *recurrent_run_f64(const ox_kernel_ctx *c, const recurrent_dims *d, size_t dir, double *scratch) {
  size_t n = d->gates * d->hidden;
  const int32_t *lens;
  OX_TRY(recurrent_lens(c, d, &lens));
  cell_f64 s = {.d = d, .a = c->attrs, .node = c, .dir = dir, .g = scratch};
  s.h = s.g + n, s.c = s.h + d->hidden, s.rh = s.c + d->hidden;
  s.w = data(c, IN_W) + dir * n * d->input, s.r = data(c, IN_R) + dir * n * d->hidden;
  s.b = data(c, IN_B) ? data(c, IN_B) + dir * 2 * n : NULL;
  s.p = d->cell == CELL_LSTM && data(c, IN_P) ? data(c, IN_P) + dir * 3 * d->hidden : NULL;
  for (size_t b = 0; b < d->batch; b++) run_row(c, &s, b, lens ? lens[b] : (int32_t)OX_MIN(d->seq, (size_t)INT32_MAX));
  return NULL;
}
