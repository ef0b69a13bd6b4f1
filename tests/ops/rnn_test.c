/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn_test.c - the vector path of RNN, GRU and LSTM against the float64 path (which reads like the standard's
 * equations) and that against numbers by hand; all options, ragged lengths, both layouts, constants or not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static uint32_t seed = 11;
static uint32_t draw(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

typedef struct rnn_case {
  const char *op, *direction;
  int64_t gates, seq, batch, input, hidden;
  bool bias, lens, h0, c0, peep, layout, reset, forget, clip, odd_acts, constant;
  bool odd_x; /* some elements of X are not finite */
} rnn_case;

/* Adds a random input in the wanted type; absent ones are omitted. */
static void add(one_node *n, uint32_t type, bool present, bool constant, int rank, const int64_t *dims) {
  if (!present) {
    one_node_input(n, OX_UNDEFINED, -1, NULL, NULL);
    return;
  }
  ox_shape s = ox_shape_of(rank, dims);
  size_t count = (size_t)ox_shape_count(&s);
  void *p = calloc(count + 1, 8);
  for (size_t i = 0; i < count; i++) {
    float x = (float)draw(2001) * 1e-3f - 1.0f;
    if (type == OX_F64)
      ((double *)p)[i] = (double)x;
    else if (type == OX_F32)
      ((float *)p)[i] = x;
    else
      ((uint16_t *)p)[i] = type == OX_F16 ? ox_f16_from_f32(x) : ox_bf16_from_f32(x);
  }
  (constant ? one_node_const : one_node_input)(n, type, rank, dims, p);
  free(p);
}

/* Makes every 1001st element infinite or NaN. */
static void put_odd(const ox_tensor *x) {
  static const float odd[] = {INFINITY, -INFINITY, NAN};
  for (int64_t i = 500, k = 0; i < ox_shape_count(&x->shape); i += 1001, k++)
    if (x->dtype == OX_F64)
      ((double *)x->data)[i] = (double)odd[k % 3];
    else
      ((float *)x->data)[i] = odd[k % 3];
}

static void run_case(const rnn_case *t, uint32_t type, uint32_t isa, int64_t run_tiles, one_node *n) {
  static const ox_str acts[] = {{"HardSigmoid", 11}, {"Elu", 3},         {"Softsign", 8},
                                {"LeakyRelu", 9},    {"ScaledTanh", 10}, {"Relu", 4}};
  static const float alpha[] = {0.3f, 0.9f, 0.2f, 0.7f}, beta[] = {0.4f, 0.8f};
  size_t n_acts = t->gates == 4 ? 3 : t->gates == 3 ? 2 : 1;
  int64_t dirs = strcmp(t->direction, "bidirectional") == 0 ? 2 : 1, g = t->gates * t->hidden, h = t->hidden;
  int32_t lens[512];
  bool lstm = t->gates == 4;
  seed = 5;
  one_node_init(n, "", t->op, 14, lstm ? 3 : 2);
  n->isa = isa, n->run_tiles = run_tiles;
  one_node_int(n, "hidden_size", h), one_node_str(n, "direction", t->direction), one_node_int(n, "layout", t->layout);
  if (t->reset) one_node_int(n, "linear_before_reset", 1);
  if (t->forget) one_node_int(n, "input_forget", 1);
  if (t->clip) one_node_float(n, "clip", 0.5f);
  if (t->odd_acts) {
    one_node_strs(n, "activations", n_acts * (size_t)dirs, acts);
    one_node_floats(n, "activation_alpha", OX_COUNT(alpha), alpha),
        one_node_floats(n, "activation_beta", OX_COUNT(beta), beta);
  }
  int64_t x[3] = {t->seq, t->batch, t->input}, state[3] = {dirs, t->batch, h};
  if (t->layout) x[0] = t->batch, x[1] = t->seq, state[0] = t->batch, state[1] = dirs;
  add(n, type, true, false, 3, x);
  add(n, type, true, t->constant, 3, (int64_t[]){dirs, g, t->input});
  add(n, type, true, t->constant, 3, (int64_t[]){dirs, g, h});
  add(n, type, t->bias, t->constant, 2, (int64_t[]){dirs, 2 * g});
  for (int64_t b = 0; b < t->batch; b++) lens[b] = (int32_t)((t->seq + b * 3) % (t->seq + 1));
  if (t->lens)
    one_node_input(n, OX_I32, 1, &t->batch, lens);
  else
    one_node_input(n, OX_UNDEFINED, -1, NULL, NULL);
  add(n, type, t->h0, false, 3, state);
  if (lstm) add(n, type, t->c0, false, 3, state), add(n, type, t->peep, t->constant, 2, (int64_t[]){dirs, 3 * h});
  if (t->odd_x) put_odd(&n->in[0]);
  CHECK_OK(one_node_run(n));
}

static double element(const ox_tensor *t, int64_t i) {
  if (t->dtype == OX_F64) return ((const double *)t->data)[i];
  if (t->dtype == OX_F32) return (double)((const float *)t->data)[i];
  uint16_t b = ((const uint16_t *)t->data)[i];
  return (double)(t->dtype == OX_F16 ? ox_f16_to_f32(b) : ox_bf16_to_f32(b));
}

static void compare(const rnn_case *t, uint32_t type, uint32_t isa, int64_t run_tiles, double tol) {
  one_node a, b;
  run_case(t, OX_F64, 0, 0, &b);
  run_case(t, type, isa, run_tiles, &a);
  for (uint32_t o = 0; o < a.n_out; o++) {
    assert_true(ox_shape_equal(&a.out[o].shape, &b.out[o].shape));
    for (int64_t i = 0; i < ox_shape_count(&a.out[o].shape); i++) {
      double got = element(&a.out[o], i), want = element(&b.out[o], i);
      if (isnan(want) && isnan(got)) continue;
      if (!(fabs(got - want) <= tol * (1 + fabs(want))))
        fail_msg("%s %s: output %u[%d] is %g, wanted %g", t->op, t->direction, o, (int)i, got, want);
    }
  }
  one_node_deinit(&a), one_node_deinit(&b);
}

static void test_all_options_agree_with_double(void **state) {
  (void)state;
  static const char *const ops[] = {"RNN", "GRU", "LSTM"}, *const directions[] = {"forward", "reverse",
                                                                                  "bidirectional"};
  static const int64_t gates[] = {1, 3, 4}, batches[] = {1, 2, 13, 30, 0, 7, 8}, hiddens[] = {1, 7, 16, 33};
  for (uint32_t i = 0; i < 90; i++) {
    uint32_t f = i * 2654435761u >> 12, cell = i % 3;
    rnn_case t = {ops[cell],
                  directions[i / 3 % 3],
                  gates[cell],
                  1 + i % 5,
                  batches[f % 7],
                  1 + f % 9,
                  hiddens[i % 4],
                  f & 1,
                  f & 2,
                  f & 4,
                  f & 8,
                  f & 16,
                  f & 32,
                  f & 64 && cell == 1,
                  f & 128 && cell == 2,
                  f & 256,
                  f & 512,
                  f & 1024,
                  false};
    compare(&t, OX_F32, ox_isa_host(), 1, 2e-5);
    compare(&t, OX_F32, 0, 1, 2e-5);
    compare(&t, OX_F16, ox_isa_host(), 1, 2e-2);
    compare(&t, OX_BF16, ox_isa_host(), 1, 1e-1);
  }
}

/* As many rows, columns and inputs as the product of all inputs takes seven steps for or goes to a matrix unit, and
 * less of each. Few steps through time: such weights make the errors of a step larger in the next. At most two rounding
 * errors for each product are let through, eight in the second step. A worker keeps its scratch. In two the directions
 * take turns where L3 is slow. */
static void test_large_projections_agree_with_double(void **state) {
  (void)state;
  static const struct {
    const char *op, *direction;
    int64_t gates, seq, batch, input, hidden;
  } t[] = {{"LSTM", "bidirectional", 4, 2, 31, 512, 257}, {"GRU", "reverse", 3, 1, 61, 768, 256},
           {"RNN", "forward", 1, 1, 270, 1024, 520},      {"LSTM", "forward", 4, 1, 300, 640, 250},
           {"GRU", "bidirectional", 3, 1, 59, 768, 256},  {"LSTM", "bidirectional", 4, 2, 31, 511, 257},
           {"LSTM", "bidirectional", 4, 3, 1, 64, 512},   {"GRU", "bidirectional", 3, 3, 2, 64, 512},
           {"LSTM", "bidirectional", 4, 2, 64, 100, 65},  {"RNN", "reverse", 1, 1, 500, 200, 129}};
  for (size_t i = 0; i < OX_COUNT(t); i++)
    for (int constant = 0; constant < 2; constant++) {
      rnn_case one = {.op = t[i].op, .direction = t[i].direction, .gates = t[i].gates, .constant = constant};
      one.seq = t[i].seq, one.batch = t[i].batch, one.input = t[i].input, one.hidden = t[i].hidden;
      one.bias = one.h0 = true, one.layout = i % 2;
      compare(&one, OX_F32, ox_isa_host(), 0, (double)((one.input + one.hidden) * (one.seq == 1 ? 1 : 4)) * 0x1p-23);
    }
}

/* X with infinities and NaN in some rows of a large projection: they show where they do in double. */
static void test_not_finite_inputs(void **state) {
  (void)state;
  static const struct {
    const char *op, *direction;
    int64_t gates;
  } t[] = {{"LSTM", "bidirectional", 4}, {"GRU", "forward", 3}, {"RNN", "reverse", 1}};
  for (size_t i = 0; i < OX_COUNT(t); i++)
    for (int constant = 0; constant < 2; constant++) {
      rnn_case one = {.op = t[i].op, .direction = t[i].direction, .gates = t[i].gates, .constant = constant};
      one.seq = 2, one.batch = 70, one.input = 130, one.hidden = 256, one.bias = one.odd_x = true, one.layout = i % 2;
      compare(&one, OX_F32, ox_isa_host(), 0, 1e-4);
    }
}

/* One to four rows by weights that fill wide panels, nearly fill them, or do not. */
static void test_few_rows_agree_with_double(void **state) {
  (void)state;
  static const char *const ops[] = {"RNN", "GRU", "LSTM"};
  static const int64_t gates[] = {1, 3, 4}, hiddens[] = {32, 64, 127, 128, 130, 256};
  const uint32_t host = ox_isa_host(), isas[] = {host, ox_isa_cap(host, "avx2")};
  for (size_t cell = 0; cell < OX_COUNT(ops); cell++)
    for (size_t i = 0; i < OX_COUNT(hiddens); i++)
      for (int64_t batch = 1; batch <= 4; batch++) {
        rnn_case one = {.op = ops[cell], .direction = "bidirectional", .gates = gates[cell], .hidden = hiddens[i]};
        one.seq = 3, one.batch = batch, one.input = 20, one.bias = one.h0 = true, one.constant = batch & 1;
        one.reset = cell == 1 && batch & 2, one.peep = cell == 2 && batch & 2;
        for (size_t k = 0; k < OX_COUNT(isas); k++) compare(&one, OX_F32, isas[k], 1, 1e-4);
      }
}

static void test_gru_by_hand(void **state) {
  (void)state;
  double x = 0.5, h = 0.25, w[3] = {0.1, 0.2, 0.3}, r[3] = {0.4, 0.5, 0.6}, b[6] = {.01, .02, .03, .04, .05, .06};
  for (int reset = 0; reset < 2; reset++) {
    double z = 1 / (1 + exp(-(x * w[0] + h * r[0] + b[0] + b[3]))),
           q = 1 / (1 + exp(-(x * w[1] + h * r[1] + b[1] + b[4])));
    double n = tanh(reset ? x * w[2] + b[2] + q * (h * r[2] + b[5]) : x * w[2] + q * h * r[2] + b[2] + b[5]);
    one_node k;
    one_node_init(&k, "", "GRU", 14, 2);
    one_node_int(&k, "linear_before_reset", reset);
    one_node_input(&k, OX_F64, 3, (int64_t[]){1, 1, 1}, &x), one_node_input(&k, OX_F64, 3, (int64_t[]){1, 3, 1}, w);
    one_node_input(&k, OX_F64, 3, (int64_t[]){1, 3, 1}, r), one_node_input(&k, OX_F64, 2, (int64_t[]){1, 6}, b);
    one_node_input(&k, OX_UNDEFINED, -1, NULL, NULL), one_node_input(&k, OX_F64, 3, (int64_t[]){1, 1, 1}, &h);
    CHECK_OK(one_node_run(&k));
    assert_true(fabs(element(&k.out[1], 0) - ((1 - z) * n + z * h)) < 1e-15);
    one_node_deinit(&k);
  }
}

static void test_bad_models_are_refused(void **state) {
  (void)state;
  float x[64] = {0};
  int32_t lens[2] = {1, 9};
  one_node n;
  one_node_init(&n, "", "LSTM", 14, 1);
  one_node_input(&n, OX_F32, 3, (int64_t[]){2, 2, 3}, x), one_node_input(&n, OX_F32, 3, (int64_t[]){1, 8, 3}, x);
  one_node_input(&n, OX_F32, 3, (int64_t[]){1, 8, 3}, x);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "wanted [1,12,3]");
  one_node_deinit(&n);
  one_node_init(&n, "", "RNN", 14, 1);
  one_node_input(&n, OX_F32, 3, (int64_t[]){2, 2, 3}, x), one_node_input(&n, OX_F32, 3, (int64_t[]){1, 2, 3}, x);
  one_node_input(&n, OX_F32, 3, (int64_t[]){1, 2, 2}, x), one_node_input(&n, OX_UNDEFINED, -1, NULL, NULL);
  one_node_input(&n, OX_I32, 1, (int64_t[]){2}, lens);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "sequence_lens[1] is 9");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_options_agree_with_double),
      cmocka_unit_test(test_large_projections_agree_with_double),
      cmocka_unit_test(test_not_finite_inputs),
      cmocka_unit_test(test_few_rows_agree_with_double),
      cmocka_unit_test(test_gru_by_hand),
      cmocka_unit_test(test_bad_models_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
