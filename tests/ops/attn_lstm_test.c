/* SPDX-License-Identifier: Apache-2.0
 * ops/attn_lstm_test.c - AttnLSTM step by step against the equations of its documentation; ONNX Runtime 1.31 gives the
 * same for floats. Directions, lengths of both kinds, peepholes, with and without an attention layer. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
enum { SEQ = 5, BATCH = 2, IN = 3, N = 4, STEPS = 6, DEPTH = 5, ALIGN = 3, LAYER = 2, WIDEST = 8 };

typedef struct form {
  const char *direction;
  bool bias, states, peep, layer, input_forget;
  int32_t lens[BATCH], memory_lens[BATCH]; /* 0: not given */
  float clip;
} form;

typedef struct inputs {
  const ox_tensor *x, *w, *r, *b, *h, *c, *p, *qw, *mw, *v, *m, *aw;
} inputs;

static void omit(one_node *n) { one_node_input(n, 0, -1, NULL, NULL); }
static int64_t dirs_of(const form *f) { return f->direction[0] == 'b' ? 2 : 1; }
static int64_t seen_of(const form *f) { return f->layer ? LAYER : DEPTH; }

static ox_status *run(one_node *n, const form *f, uint32_t dtype, inputs *in) {
  int64_t d = dirs_of(f), seen = seen_of(f);
  one_node_init(n, "com.microsoft", "AttnLSTM", 1, 3);
  one_node_str(n, "direction", f->direction), one_node_int(n, "hidden_size", N);
  one_node_int(n, "input_forget", f->input_forget);
  if (f->clip > 0) one_node_float(n, "clip", f->clip);
  in->x = typed_input(n, dtype, 3, DIMS(SEQ, BATCH, IN), 2);
  in->w = typed_input(n, dtype, 3, DIMS(d, 4 * N, IN + seen), 1);
  in->r = typed_input(n, dtype, 3, DIMS(d, 4 * N, N), 1);
  if (f->bias)
    in->b = typed_input(n, dtype, 2, DIMS(d, 8 * N), 1);
  else
    omit(n);
  if (f->lens[0])
    one_node_input(n, OX_I32, 1, DIMS(BATCH), f->lens);
  else
    omit(n);
  if (f->states) {
    in->h = typed_input(n, dtype, 3, DIMS(d, BATCH, N), 1), in->c = typed_input(n, dtype, 3, DIMS(d, BATCH, N), 1);
  } else {
    omit(n), omit(n);
  }
  if (f->peep)
    in->p = typed_input(n, dtype, 2, DIMS(d, 3 * N), 1);
  else
    omit(n);
  in->qw = typed_input(n, dtype, 3, DIMS(d, N, ALIGN), 1), in->mw = typed_input(n, dtype, 3, DIMS(d, DEPTH, ALIGN), 1);
  in->v = typed_input(n, dtype, 2, DIMS(d, ALIGN), 2), in->m = typed_input(n, dtype, 3, DIMS(BATCH, STEPS, DEPTH), 2);
  if (f->memory_lens[0])
    one_node_input(n, OX_I32, 1, DIMS(BATCH), f->memory_lens);
  else
    omit(n);
  if (f->layer) in->aw = typed_input(n, dtype, 3, DIMS(d, N + DEPTH, LAYER), 1);
  n->run_tiles = 1;
  return one_node_run(n);
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double clipped(const form *f, double x) {
  return f->clip > 0 ? fmin(fmax(x, -(double)f->clip), (double)f->clip) : x;
}

static void cell(const form *f, const inputs *in, int64_t d, const double *x, double *h, double *c) {
  int64_t wide = IN + seen_of(f);
  double g[4][N], next[N];
  for (int64_t k = 0; k < 4 * N; k++) {
    double sum = in->b ? typed_at(in->b, d * 8 * N + k) + typed_at(in->b, d * 8 * N + 4 * N + k) : 0;
    for (int64_t i = 0; i < wide; i++) sum += x[i] * typed_at(in->w, (d * 4 * N + k) * wide + i);
    for (int64_t i = 0; i < N; i++) sum += h[i] * typed_at(in->r, (d * 4 * N + k) * N + i);
    g[k / N][k % N] = sum;
  }
  for (int64_t j = 0; j < N; j++) {
    double peep[3] = {0, 0, 0};
    for (int64_t k = 0; in->p && k < 3; k++) peep[k] = typed_at(in->p, d * 3 * N + k * N + j);
    double i = sigmoid(clipped(f, g[0][j] + peep[0] * c[j]));
    double forget = f->input_forget ? 1 - i : sigmoid(clipped(f, g[2][j] + peep[2] * c[j]));
    c[j] = forget * c[j] + i * tanh(clipped(f, g[3][j]));
    next[j] = sigmoid(clipped(f, g[1][j] + peep[1] * c[j])) * tanh(c[j]);
  }
  memcpy(h, next, sizeof next);
}

static void look(const form *f, const inputs *in, int64_t d, int64_t b, const double *h, double *seen) {
  int64_t steps = f->memory_lens[0] ? f->memory_lens[b] : STEPS;
  double e[STEPS], sum = 0, both[N + DEPTH] = {0};
  memcpy(both, h, N * sizeof *h);
  for (int64_t s = 0; s < steps; s++) {
    e[s] = 0;
    for (int64_t j = 0; j < ALIGN; j++) {
      double key = 0;
      for (int64_t k = 0; k < DEPTH; k++)
        key += typed_at(in->m, (b * STEPS + s) * DEPTH + k) * typed_at(in->mw, (d * DEPTH + k) * ALIGN + j);
      for (int64_t k = 0; k < N; k++) key += h[k] * typed_at(in->qw, (d * N + k) * ALIGN + j);
      e[s] += typed_at(in->v, d * ALIGN + j) * tanh(key);
    }
    sum += e[s] = exp(e[s]);
  }
  for (int64_t s = 0; s < steps; s++)
    for (int64_t k = 0; k < DEPTH; k++) both[N + k] += e[s] / sum * typed_at(in->m, (b * STEPS + s) * DEPTH + k);
  for (int64_t j = 0; j < seen_of(f); j++) {
    seen[j] = f->layer ? 0 : both[N + j];
    for (int64_t k = 0; k < N + DEPTH && f->layer; k++)
      seen[j] += both[k] * typed_at(in->aw, (d * (N + DEPTH) + k) * LAYER + j);
  }
}

static void check_row(const one_node *n, const form *f, const inputs *in, int64_t d, int64_t b) {
  double h[N], c[N], x[IN + WIDEST] = {0};
  int64_t len = f->lens[0] ? f->lens[b] : SEQ, dirs = dirs_of(f);
  bool back = d == 1 || f->direction[0] == 'r';
  for (int64_t j = 0; j < N; j++) {
    h[j] = in->h ? typed_at(in->h, (d * BATCH + b) * N + j) : 0;
    c[j] = in->c ? typed_at(in->c, (d * BATCH + b) * N + j) : 0;
  }
  for (int64_t step = 0; step < SEQ; step++) {
    int64_t t = step < len && back ? len - 1 - step : step;
    for (int64_t i = 0; i < IN; i++) x[i] = typed_at(in->x, (t * BATCH + b) * IN + i);
    if (step < len) cell(f, in, d, x, h, c), look(f, in, d, b, h, x + IN);
    for (int64_t j = 0; j < N; j++)
      typed_near(&n->out[0], ((t * dirs + d) * BATCH + b) * N + j, step < len ? h[j] : 0, 4);
  }
  for (int64_t j = 0; j < N; j++) {
    typed_near(&n->out[1], (d * BATCH + b) * N + j, h[j], 4);
    typed_near(&n->out[2], (d * BATCH + b) * N + j, c[j], 4);
  }
}

static const form forms[] = {
    {"forward", true, false, false, true, false, {0, 0}, {0, 0}, 0},
    {"reverse", false, false, false, false, false, {0, 0}, {0, 0}, 0},
    {"bidirectional", true, true, true, true, false, {2, 5}, {3, 6}, 0.75f},
    {"bidirectional", true, true, false, false, true, {5, 0}, {1, 6}, 0},
    {"reverse", true, false, true, true, true, {4, 3}, {0, 0}, 2},
};

static void test_every_form(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(forms); i++)
    for (int wide = 0; wide < 2; wide++) {
      one_node n;
      inputs in = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
      CHECK_OK(run(&n, &forms[i], wide ? OX_F64 : OX_F32, &in));
      for (int64_t row = 0; row < dirs_of(&forms[i]) * BATCH; row++)
        check_row(&n, &forms[i], &in, row / BATCH, row % BATCH);
      one_node_deinit(&n);
    }
}

static void test_bad_lengths(void **state) {
  (void)state;
  static const int32_t bad[] = {-1, STEPS + 1, INT32_MAX};
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    form f = forms[2];
    one_node n;
    inputs in = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    f.memory_lens[1] = bad[i];
    CHECK_FAILS(run(&n, &f, OX_F32, &in), OX_INVALID_ARGUMENT, "memory_seq_lens[1]");
    one_node_deinit(&n);
    f = forms[2], f.lens[1] = bad[i];
    memset(&in, 0, sizeof in);
    CHECK_FAILS_WITH(run(&n, &f, OX_F32, &in), "sequence_lens[1]");
    one_node_deinit(&n);
  }
}

static void test_wrong_models(void **state) {
  (void)state;
  one_node n;
  inputs in;
  form f = forms[0];
  f.direction = "sideways";
  CHECK_FAILS(run(&n, &f, OX_F32, &in), OX_INVALID_MODEL, "sideways");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "AttnLSTM", 1, 3);
  typed_input(&n, OX_F32, 3, DIMS(SEQ, BATCH, IN), 1), typed_input(&n, OX_F32, 3, DIMS(1, 4 * N, IN), 1);
  typed_input(&n, OX_F32, 3, DIMS(1, 4 * N, N), 1);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "input 8 is required");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_bad_lengths),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
