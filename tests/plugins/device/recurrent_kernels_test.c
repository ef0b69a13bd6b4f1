/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/recurrent_kernels_test.c - steps of recurrent cells beside the standard's equations in double: all
 * cells, directions and layouts, lengths, peepholes, clipping, activations. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/recurrent_params.h"
#include "support/check.h"

KERNEL_OF(recurrent_begin);
KERNEL_OF(recurrent_step);
KERNEL_OF(recurrent_rows);
KERNEL_OF(recurrent_end);

typedef struct node {
  recurrent_params p;
  numbers x, r, bias, peep, h0, c0, y, h, c; /* x: the inputs' product */
  int *lens;
  float *state;
} node;

static double act_of(const node *k, int dir, int act, double v) {
  double a = (double)k->p.a[dir][act], b = (double)k->p.b[dir][act];
  switch (k->p.act[dir][act]) {
    case RECURRENT_TANH:
      return tanh(v);
    case RECURRENT_SIGMOID:
      return 1 / (1 + exp(-v));
    case RECURRENT_RELU:
      return fmax(v, 0);
    case RECURRENT_AFFINE:
      return a * v + b;
    case RECURRENT_LEAKY:
      return v < 0 ? a * v : v;
    case RECURRENT_THRESHOLDED:
      return v >= a ? v : 0;
    case RECURRENT_SCALED_TANH:
      return a * tanh(b * v);
    case RECURRENT_HARD_SIGMOID:
      return fmin(fmax(a * v + b, 0), 1);
    case RECURRENT_ELU:
      return v < 0 ? a * (exp(v) - 1) : v;
    case RECURRENT_SOFTSIGN:
      return v / (1 + fabs(v));
    default:
      return log(1 + exp(v));
  }
}

static double gate(const node *k, int dir, int act, double v) {
  double clip = (double)k->p.clip;
  return act_of(k, dir, act, clip > 0 ? fmin(fmax(v, -clip), clip) : v);
}

/* The sums of gate |g| of unit |j|: of the inputs, of the state |h|. */
static double x_sum(const node *k, int dir, int row, int g, int j) {
  int width = k->p.gates * k->p.hidden;
  double b = k->p.has_bias ? (double)number_at(&k->bias, dir * 2 * width + g * k->p.hidden + j) : 0;
  return b + (double)number_at(&k->x, (dir * k->p.seq * k->p.batch + row) * width + g * k->p.hidden + j);
}
static double h_sum(const node *k, int dir, int g, int j, const double *h) {
  int width = k->p.gates * k->p.hidden;
  double sum = k->p.has_bias ? (double)number_at(&k->bias, (dir * 2 + 1) * width + g * k->p.hidden + j) : 0;
  for (int i = 0; i < k->p.hidden; i++)
    sum += (double)number_at(&k->r, ((dir * k->p.gates + g) * k->p.hidden + j) * k->p.hidden + i) * h[i];
  return sum;
}

enum { MOST = 80 };

static void cell_step(const node *k, int dir, int row, double *h, double *c) {
  double next[MOST], reset[MOST], z[MOST];
  int n = k->p.hidden;
  for (int j = 0; j < n && k->p.cell == RECURRENT_GRU; j++) {
    z[j] = gate(k, dir, 0, x_sum(k, dir, row, 0, j) + h_sum(k, dir, 0, j, h));
    reset[j] = gate(k, dir, 0, x_sum(k, dir, row, 1, j) + h_sum(k, dir, 1, j, h));
  }
  double rh[MOST];
  for (int j = 0; j < n; j++) rh[j] = k->p.cell == RECURRENT_GRU ? reset[j] * h[j] : 0;
  for (int j = 0; j < n; j++) {
    if (k->p.cell == RECURRENT_RNN) {
      next[j] = gate(k, dir, 0, x_sum(k, dir, row, 0, j) + h_sum(k, dir, 0, j, h));
    } else if (k->p.cell == RECURRENT_GRU) {
      double s = k->p.linear_before_reset ? reset[j] * h_sum(k, dir, 2, j, h) : h_sum(k, dir, 2, j, rh);
      next[j] = (1 - z[j]) * gate(k, dir, 1, x_sum(k, dir, row, 2, j) + s) + z[j] * h[j];
    } else {
      double g[4], peep[3] = {0, 0, 0};
      for (int i = 0; i < 3 && k->p.has_peep; i++) peep[i] = (double)number_at(&k->peep, dir * 3 * n + i * n + j);
      for (int i = 0; i < 4; i++) g[i] = x_sum(k, dir, row, i, j) + h_sum(k, dir, i, j, h);
      double in = gate(k, dir, 0, g[0] + peep[0] * c[j]);
      double forget = k->p.input_forget ? 1 - in : gate(k, dir, 0, g[2] + peep[2] * c[j]);
      c[j] = forget * c[j] + in * gate(k, dir, 1, g[3]);
      next[j] = gate(k, dir, 0, g[1] + peep[1] * c[j]) * act_of(k, dir, 2, c[j]);
    }
  }
  memcpy(h, next, (size_t)n * sizeof *h);
}

static void expect(const node *k, const char *what, const numbers *got, int at, double wanted) {
  double tolerance = k->x.half ? 4e-3 * (1 + fabs(wanted)) : 2e-5 * (1 + fabs(wanted));
  if (!(fabs((double)number_at(got, at) - wanted) <= tolerance))
    fail_msg("cell %d, hidden %d, batch %d, dirs %d, backwards %d, batch first %d, half %d: %s %d is %g, wanted %g",
             k->p.cell, k->p.hidden, k->p.batch, k->p.dirs, k->p.backwards, k->p.batch_first, k->x.half, what, at,
             (double)number_at(got, at), wanted);
}

static void check_rows(const node *k) {
  const recurrent_params *p = &k->p;
  double h[MOST], c[MOST];
  for (int dir = 0; dir < p->dirs; dir++)
    for (int b = 0; b < p->batch; b++) {
      int at = (p->batch_first ? b * p->dirs + dir : dir * p->batch + b) * p->hidden, length = p->seq;
      if (p->has_lens) length = OX_MIN(k->lens[b], p->seq);
      for (int j = 0; j < p->hidden; j++)
        h[j] = (double)number_at(&k->h0, at + j), c[j] = (double)number_at(&k->c0, at + j);
      for (int s = 0; s < p->seq; s++) {
        bool live = s < length;
        int t = live && (p->backwards >> dir & 1) ? length - 1 - s : s;
        if (live) cell_step(k, dir, p->batch_first ? b * p->seq + t : t * p->batch + b, h, c);
        int y = (p->batch_first ? (b * p->seq + t) * p->dirs + dir : (t * p->dirs + dir) * p->batch + b) * p->hidden;
        for (int j = 0; j < p->hidden; j++) expect(k, "y", &k->y, y + j, live ? h[j] : 0);
      }
      for (int j = 0; j < p->hidden; j++) expect(k, "h", &k->h, at + j, h[j]);
      for (int j = 0; j < p->hidden && p->cell == RECURRENT_LSTM; j++) expect(k, "c", &k->c, at + j, c[j]);
    }
}

static void run_steps(node *k, void *const *buffers) {
  recurrent_params *p = &k->p;
  int tiles = p->dirs * OX_CEIL_DIV(p->hidden, RECURRENT_UNITS) * OX_CEIL_DIV(p->batch, RECURRENT_ROWS);
  bool two = p->cell == RECURRENT_GRU && !p->linear_before_reset;
  for (p->step = 0; p->step < p->seq; p->step++)
    for (int phase = two ? RECURRENT_Z_R : RECURRENT_WHOLE; phase <= (two ? RECURRENT_CANDIDATE : RECURRENT_WHOLE);
         phase++) {
      p->phase = phase, p->first_gate = phase == RECURRENT_CANDIDATE ? 2 : 0;
      p->end_gate = phase == RECURRENT_Z_R ? 2 : p->gates;
      run_groups(k->x.half ? recurrent_step_f16 : recurrent_step_f32, tiles, buffers, p);
    }
}

static void run(node *k, bool all_steps) {
  recurrent_params *p = &k->p;
  int half = k->x.half, n = p->dirs * p->batch * p->hidden, groups = OX_CEIL_DIV(n, 256);
  void *const buffers[] = {k->x.data, k->r.data, k->bias.data, k->lens, k->peep.data, k->state, k->y.data};
  p->has_h = 1, p->has_c = p->cell == RECURRENT_LSTM;
  run_groups(half ? recurrent_begin_f16 : recurrent_begin_f32, groups, (void *[]){k->h0.data, k->c0.data, k->state}, p);
  if (all_steps)
    run_groups(half ? recurrent_rows_f16 : recurrent_rows_f32, p->dirs * p->batch, buffers, p);
  else
    run_steps(k, buffers);
  run_groups(half ? recurrent_end_f16 : recurrent_end_f32, groups, (void *[]){k->state, k->h.data, k->c.data}, p);
}

static void check(recurrent_params p, int half) {
  static const int lens[] = {3, 0, 1, 9, 2};
  int states = p.dirs * p.batch * p.hidden, width = p.dirs * p.gates * p.hidden;
  node k = {.p = p};
  k.x = numbers_make(width * p.seq * p.batch, half, 1), k.r = numbers_make(width * p.hidden, half, 2);
  k.bias = numbers_make(2 * width, half, 3), k.peep = numbers_make(3 * p.dirs * p.hidden, half, 4);
  k.h0 = numbers_make(states, half, 5), k.c0 = numbers_make(states, half, 6);
  k.y = numbers_make(states * p.seq, half, 7), k.h = numbers_make(states, half, 8), k.c = numbers_make(states, half, 9);
  for (int i = 0; i < k.r.n; i++) number_set(&k.r, i, number_at(&k.r, i) / 16); /* so that gates do not saturate */
  k.lens = malloc((size_t)p.batch * sizeof *k.lens), k.state = malloc((size_t)states * 4 * sizeof *k.state);
  for (int i = 0; i < p.batch; i++) k.lens[i] = lens[i % (int)OX_COUNT(lens)];
  run(&k, false);
  check_rows(&k);
  if (p.hidden <= RECURRENT_SMALL) {
    memset(k.y.data, 0xff, (size_t)k.y.n * (half ? 2 : 4));
    run(&k, true);
    check_rows(&k);
  }
  numbers *all[] = {&k.x, &k.r, &k.bias, &k.peep, &k.h0, &k.c0, &k.y, &k.h, &k.c};
  for (size_t i = 0; i < OX_COUNT(all); i++) free(all[i]->data);
  free(k.lens), free(k.state);
}

/* Sigmoid for gates, tanh for the rest. */
static recurrent_params usual(int cell, int hidden, int batch, int seq) {
  recurrent_params p = {
      .cell = cell, .hidden = hidden, .batch = batch, .seq = seq, .dirs = 1, .has_bias = 1, .has_y = 1};
  p.gates = cell == RECURRENT_LSTM ? 4 : cell == RECURRENT_GRU ? 3 : 1;
  for (int d = 0; d < 2; d++) p.act[d][0] = cell == RECURRENT_RNN ? RECURRENT_TANH : RECURRENT_SIGMOID;
  return p;
}

static void test_sizes(void **state) {
  (void)state;
  static const int sizes[][3] = {{1, 1, 1}, {3, 1, 4}, {4, 4, 2}, {5, 5, 3}, {64, 2, 2}, {67, 9, 3}, {2, 3, 0}};
  for (size_t i = 0; i < OX_COUNT(sizes); i++)
    for (int cell = 0; cell < 3; cell++)
      for (int half = 0; half < 2; half++) check(usual(cell, sizes[i][0], sizes[i][1], sizes[i][2]), half);
}

static void test_forms(void **state) {
  (void)state;
  for (int cell = 0; cell < 3; cell++)
    for (int form = 0; form < 256; form++) {
      recurrent_params p = usual(cell, 6, 5, 3);
      p.dirs = 1 + (form & 1), p.backwards = p.dirs == 2 ? 2 : form >> 1 & 1, p.batch_first = form >> 2 & 1;
      p.has_lens = form >> 3 & 1, p.has_peep = p.linear_before_reset = form >> 4 & 1, p.input_forget = form >> 5 & 1;
      p.clip = form >> 6 & 1 ? 0.5f : 0, p.has_bias = !(form >> 7 & 1);
      check(p, 0);
    }
}

static void test_activations(void **state) {
  (void)state;
  for (int cell = 0; cell < 3; cell++)
    for (int act = RECURRENT_TANH; act <= RECURRENT_SOFTPLUS; act++)
      for (int at = 0; at <= cell; at++) {
        recurrent_params p = usual(cell, 5, 2, 2);
        p.dirs = 2, p.backwards = 2, p.act[1][at] = act, p.a[1][at] = 0.75f, p.b[1][at] = 0.5f;
        check(p, 0);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_forms),
                                     cmocka_unit_test(test_activations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
