/* SPDX-License-Identifier: Apache-2.0
 * ops/lstm_dynamic_quant_test.c - DynamicQuantizeLSTM against LSTM with weights that the test has widened: constant, in
 * part, or known to the run only. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { SEQ = 3, BATCH = 2, INPUT = 5, HIDDEN = 4, N = 4 * HIDDEN, DIRS = 2 };

static float x[SEQ * BATCH * INPUT], bias[DIRS * 2 * N], peep[DIRS * 3 * HIDDEN], scale[2][DIRS * N];
static uint8_t w[2][DIRS * INPUT * N], zero[2][DIRS * N]; /* W, R; the latter has HIDDEN rows */

static int setup(void **state) {
  uint32_t seed = 3;
  (void)state;
#define FILL(a, v)                           \
  for (size_t i = 0; i < OX_COUNT(a); i++) { \
    seed = seed * 1664525u + 1013904223u;    \
    uint32_t r = seed >> 10;                 \
    a[i] = v;                                \
  }
  FILL(x, (float)(r % 200) * 0.01f - 1)
  FILL(bias, (float)(r % 200) * 0.005f - 0.5f)
  FILL(peep, (float)(r % 200) * 0.005f - 0.5f)
  for (int k = 0; k < 2; k++) {
    FILL(scale[k], (float)(r % 50 + 1) * 1e-4f)
    FILL(w[k], (uint8_t)r)
    FILL(zero[k], (uint8_t)r)
  }
  return 0;
}

typedef struct form {
  const char *name;
  uint32_t type;
  bool each;        /* a scale for each column */
  uint32_t varying; /* bit i: input i is no constant */
} form;

static int value(uint32_t type, uint8_t b) { return type == OX_I8 ? (int8_t)b : b; }

static void add(one_node *n, const form *f, uint32_t i, uint32_t type, int rank, const int64_t *dims,
                const void *data) {
  (f->varying >> i & 1 ? one_node_input : one_node_const)(n, type, rank, dims, data);
}

static void init(one_node *n, const char *domain, const char *op, int version) {
  one_node_init(n, domain, op, version, 3);
  one_node_int(n, "hidden_size", HIDDEN), one_node_str(n, "direction", "bidirectional");
  one_node_input(n, OX_F32, 3, (int64_t[]){SEQ, BATCH, INPUT}, x);
}

static void quantized(one_node *n, const form *f) {
  init(n, "com.microsoft", "DynamicQuantizeLSTM", 1);
  add(n, f, 1, f->type, 3, (int64_t[]){DIRS, INPUT, N}, w[0]);
  add(n, f, 2, f->type, 3, (int64_t[]){DIRS, HIDDEN, N}, w[1]);
  add(n, f, 3, OX_F32, 2, (int64_t[]){DIRS, 2 * N}, bias);
  for (int i = 0; i < 3; i++) one_node_input(n, OX_UNDEFINED, -1, NULL, NULL);
  add(n, f, 7, OX_F32, 2, (int64_t[]){DIRS, 3 * HIDDEN}, peep);
  for (uint32_t k = 0; k < 2; k++) {
    add(n, f, 8 + 2 * k, OX_F32, f->each ? 2 : 1, (int64_t[]){DIRS, N}, scale[k]);
    add(n, f, 9 + 2 * k, f->type, f->each ? 2 : 1, (int64_t[]){DIRS, N}, zero[k]);
  }
}

static void plain(one_node *n, const form *f) {
  static float wide[2][DIRS * N * INPUT];
  init(n, "", "LSTM", 14);
  for (int k = 0; k < 2; k++) {
    int rows = k ? HIDDEN : INPUT;
    for (int at = 0; at < DIRS * rows * N; at++) {
      int d = at / (rows * N), i = at / N % rows, j = at % N, s = f->each ? d * N + j : d;
      wide[k][(d * N + j) * rows + i] = (float)(value(f->type, w[k][at]) - value(f->type, zero[k][s])) * scale[k][s];
    }
    one_node_input(n, OX_F32, 3, (int64_t[]){DIRS, N, rows}, wide[k]);
  }
  one_node_input(n, OX_F32, 2, (int64_t[]){DIRS, 2 * N}, bias);
  for (int i = 0; i < 3; i++) one_node_input(n, OX_UNDEFINED, -1, NULL, NULL);
  one_node_input(n, OX_F32, 2, (int64_t[]){DIRS, 3 * HIDDEN}, peep);
}

static void test_weights_of_any_origin(void **state) {
  static const form forms[] = {
      {"constant", OX_U8, false, 0},
      {"constant, a scale for each", OX_I8, true, 0},
      {"known to the run", OX_U8, true, 0xf8e},
      {"known to the run, int8", OX_I8, false, 0xf8e},
      {"W alone varies", OX_U8, false, 1 << 1},
      {"R's scale alone varies", OX_I8, true, 1 << 10},
      {"B alone varies", OX_U8, true, 1 << 3},
      {"P alone varies", OX_U8, false, 1 << 7},
  };
  (void)state;
  for (size_t i = 0; i < 2 * OX_COUNT(forms); i++) {
    const form *f = &forms[i / 2];
    one_node a, b;
    quantized(&a, f), plain(&b, f);
    a.run_tiles = i % 2;
    CHECK_OK(ox_status_note(one_node_run(&a), "%s", f->name));
    CHECK_OK(one_node_run(&b));
    for (int k = 0; k < 3; k++) {
      assert_int_equal(a.out[k].bytes, b.out[k].bytes);
      for (size_t at = 0; at < a.out[k].bytes / sizeof(float); at++) {
        float got = ((const float *)a.out[k].data)[at], want = ((const float *)b.out[k].data)[at];
        if (!(fabsf(got - want) <= 1e-6f)) fail_msg("%s, output %d: %g, wanted %g", f->name, k, got, want);
      }
    }
    one_node_deinit(&a), one_node_deinit(&b);
  }
}

static void test_weights_that_do_not_fit_are_refused(void **state) {
  static const int64_t wrong[][3] = {{1, INPUT, N}, {DIRS, INPUT + 1, N}, {DIRS, INPUT, N - 4}, {3, INPUT, N}};
  static const uint8_t bytes[3 * (INPUT + 1) * N];
  (void)state;
  for (size_t i = 0; i < 2 * OX_COUNT(wrong); i++) {
    one_node n;
    init(&n, "com.microsoft", "DynamicQuantizeLSTM", 1);
    (i % 2 ? one_node_input : one_node_const)(&n, OX_U8, 3, wrong[i / 2], bytes);
    (i % 2 ? one_node_input : one_node_const)(&n, OX_U8, 3, (int64_t[]){DIRS, HIDDEN, N}, w[1]);
    for (int k = 0; k < 5; k++) one_node_input(&n, OX_UNDEFINED, -1, NULL, NULL);
    for (int k = 0; k < 2; k++) {
      one_node_const(&n, OX_F32, 1, (int64_t[]){DIRS}, scale[k]);
      one_node_const(&n, OX_U8, 1, (int64_t[]){DIRS}, zero[k]);
    }
    CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "W ");
    one_node_deinit(&n);
  }
}

/* Each of them, with the other of its pair there. */
static void test_scales_and_zero_points_are_required(void **state) {
  static const char *const names[] = {"W_scale", "W_zero_point", "R_scale", "R_zero_point"};
  (void)state;
  for (uint32_t missing = 8; missing < 12; missing++)
    for (int shorter = 0; shorter < 2; shorter++) { /* the inputs end before it */
      one_node n;
      init(&n, "com.microsoft", "DynamicQuantizeLSTM", 1);
      one_node_input(&n, OX_U8, 3, (int64_t[]){DIRS, INPUT, N}, w[0]);
      one_node_input(&n, OX_U8, 3, (int64_t[]){DIRS, HIDDEN, N}, w[1]);
      for (uint32_t i = 3; i < (shorter ? missing : 12); i++)
        if (i < 8 || i == missing)
          one_node_input(&n, OX_UNDEFINED, -1, NULL, NULL);
        else
          one_node_input(&n, i % 2 ? OX_U8 : OX_F32, 1, (int64_t[]){DIRS}, i % 2 ? (void *)zero[0] : scale[0]);
      CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, names[missing - 8]);
      one_node_deinit(&n);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weights_of_any_origin),
      cmocka_unit_test(test_weights_that_do_not_fit_are_refused),
      cmocka_unit_test(test_scales_and_zero_points_are_required),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
