/* SPDX-License-Identifier: Apache-2.0
 * ops/lstm_dynamic_quant_test.c - DynamicQuantizeLSTM against its definition in plain loops; weights are constant, in
 * part, or known to the run only. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum {
  SEQ = 4,
  BATCH = 70,
  INPUT = 5,
  HIDDEN = 7,
  N = 4 * HIDDEN,
  DIRS = 2,
  TOGETHER = 12 /* rows that share a range */
};

static float x[SEQ * BATCH * INPUT], bias[DIRS * 2 * N], peep[DIRS * 3 * HIDDEN], scale[2][DIRS * N];
static float first[2][DIRS * BATCH * HIDDEN];              /* initial h, c */
static uint8_t w[2][DIRS * HIDDEN * N], zero[2][DIRS * N]; /* W, R; INPUT is below HIDDEN */
static const int32_t lens[BATCH] = {2, 1, 3, 2, 0, 1};

static int setup(void **state) {
  uint32_t seed = 3;
  (void)state;
#define FILL(a, v)                           \
  for (size_t i = 0; i < OX_COUNT(a); i++) { \
    seed = seed * 1664525u + 1013904223u;    \
    uint32_t r = seed >> 10;                 \
    a[i] = v;                                \
  }
  FILL(x, (float)(r % 200) * 0.01f - 0.7f)
  FILL(bias, (float)(r % 200) * 0.005f - 0.5f)
  FILL(peep, (float)(r % 200) * 0.005f - 0.5f)
  for (int k = 0; k < 2; k++) {
    FILL(scale[k], (float)(r % 50 + 1) * 1e-4f)
    FILL(w[k], (uint8_t)r)
    FILL(zero[k], (uint8_t)r)
    FILL(first[k], (float)(r % 200) * 0.01f - 1.2f)
  }
  return 0;
}

typedef struct form {
  const char *name;
  uint32_t type;
  bool each;        /* a scale for each column */
  uint32_t varying; /* bit i: input i is no constant */
  int batch;
  bool lens, peep, reverse;
} form;

static int value(uint32_t type, uint8_t b) { return type == OX_I8 ? (int8_t)b : b; }

static void add(one_node *n, const form *f, uint32_t i, uint32_t type, int rank, const int64_t *dims,
                const void *data) {
  (f->varying >> i & 1 ? one_node_input : one_node_const)(n, type, rank, dims, data);
}

static void init(one_node *n, int batch, const char *direction) {
  one_node_init(n, "com.microsoft", "DynamicQuantizeLSTM", 1, 3);
  one_node_int(n, "hidden_size", HIDDEN), one_node_str(n, "direction", direction);
  one_node_input(n, OX_F32, 3, (int64_t[]){SEQ, batch, INPUT}, x);
}

static void quantized(one_node *n, const form *f) {
  int64_t dirs = f->reverse ? 1 : DIRS;
  init(n, f->batch, f->reverse ? "reverse" : "bidirectional");
  add(n, f, 1, f->type, 3, (int64_t[]){dirs, INPUT, N}, w[0]);
  add(n, f, 2, f->type, 3, (int64_t[]){dirs, HIDDEN, N}, w[1]);
  add(n, f, 3, OX_F32, 2, (int64_t[]){dirs, 2 * N}, bias);
  one_node_input(n, f->lens ? OX_I32 : OX_UNDEFINED, f->lens ? 1 : -1, (int64_t[]){f->batch}, lens);
  for (int k = 0; k < 2; k++) one_node_input(n, OX_F32, 3, (int64_t[]){dirs, f->batch, HIDDEN}, first[k]);
  if (f->peep)
    add(n, f, 7, OX_F32, 2, (int64_t[]){dirs, 3 * HIDDEN}, peep);
  else
    one_node_input(n, OX_UNDEFINED, -1, NULL, NULL);
  for (uint32_t k = 0; k < 2; k++) {
    add(n, f, 8 + 2 * k, OX_F32, f->each ? 2 : 1, (int64_t[]){dirs, N}, scale[k]);
    add(n, f, 9 + 2 * k, f->type, f->each ? 2 : 1, (int64_t[]){dirs, N}, zero[k]);
  }
}

/* ---- the definition, plainly ---- */
typedef struct range { /* of values that share a scale */
  float low, high;
} range;

static void widen(range *r, const float *v, int n) {
  for (int i = 0; i < n; i++) r->low = fminf(r->low, v[i]), r->high = fmaxf(r->high, v[i]);
}

/* |n| values in bytes, less their zero point; returns the scale. */
static float quantize(const range *r, const float *v, int n, int *to) {
  float by = (r->high - r->low) / 255;
  int z = (int)nearbyintf(-r->low / by);
  for (int i = 0; i < n; i++) {
    int q = (int)nearbyintf(v[i] / by) + z;
    to[i] = (q < 0 ? 0 : q > 255 ? 255 : q) - z;
  }
  return by;
}

/* Column j of |v| (k of them, of that scale) by W or R. */
static float dot(const form *f, int which, int d, const int *v, int k, int j, float by) {
  int s = f->each ? d * N + j : d, sum = 0;
  for (int i = 0; i < k; i++)
    sum += v[i] * (value(f->type, w[which][(d * k + i) * N + j]) - value(f->type, zero[which][s]));
  return (float)sum * (by * scale[which][s]);
}

static double sigmoid(double v) { return 1 / (1 + exp(-v)); }

static void cell(const form *f, int d, const float *gate, float *h, float *c) {
  for (int j = 0; j < HIDDEN; j++) {
    const float *p = peep + d * 3 * HIDDEN + j;
    double of[3] = {f->peep ? p[0] : 0, f->peep ? p[HIDDEN] : 0, f->peep ? p[2 * HIDDEN] : 0};
    double in = sigmoid(gate[j] + of[0] * c[j]), forget = sigmoid(gate[2 * HIDDEN + j] + of[2] * c[j]);
    double now = forget * c[j] + in * tanh(gate[3 * HIDDEN + j]);
    h[j] = (float)(sigmoid(gate[HIDDEN + j] + of[1] * now) * tanh(now)), c[j] = (float)now;
  }
}

static int length(const form *f, int b) { return f->lens ? lens[b] : SEQ; }

/* Rows [b0, b1) of direction |d|; *whole: of X. */
static void walk(const form *f, int d, int b0, int b1, const range *whole, float *y, float *state[2]) {
  for (int step = 0; step < SEQ; step++) {
    range r = {0, 0};
    for (int b = b0; b < b1; b++)
      if (step <= length(f, b)) widen(&r, state[0] + (d * f->batch + b) * HIDDEN, HIDDEN);
    for (int b = b0; b < b1; b++) {
      int len = length(f, b), back = d == 1 || f->reverse, t = back && step < len ? len - 1 - step : step;
      float gate[N], *h = state[0] + (d * f->batch + b) * HIDDEN, *c = state[1] + (d * f->batch + b) * HIDDEN;
      float *to = y + ((t * (f->reverse ? 1 : DIRS) + d) * f->batch + b) * HIDDEN;
      int vx[INPUT], vh[HIDDEN];
      memset(to, 0, HIDDEN * sizeof *to);
      if (step >= len) continue;
      float by_x = quantize(whole, x + (t * f->batch + b) * INPUT, INPUT, vx), by_h = quantize(&r, h, HIDDEN, vh);
      for (int j = 0; j < N; j++)
        gate[j] = dot(f, 1, d, vh, HIDDEN, j, by_h) + dot(f, 0, d, vx, INPUT, j, by_x) + bias[d * 2 * N + j] +
                  bias[d * 2 * N + N + j];
      cell(f, d, gate, h, c);
      memcpy(to, h, HIDDEN * sizeof *to);
    }
  }
}

static void wanted(const form *f, float *y, float *state[2]) {
  int dirs = f->reverse ? 1 : DIRS, longest = 0, step = f->batch <= 64 ? f->batch : TOGETHER;
  range whole = {0, 0};
  for (int b = 0; b < f->batch; b++) longest = OX_MAX(longest, length(f, b));
  widen(&whole, x, longest * f->batch * INPUT);
  for (int k = 0; k < 2; k++) memcpy(state[k], first[k], (size_t)(dirs * f->batch * HIDDEN) * sizeof(float));
  for (int d = 0; d < dirs; d++)
    for (int b = 0; b < f->batch; b += step) walk(f, d, b, OX_MIN(b + step, f->batch), &whole, y, state);
}

static void test_products_are_those_of_bytes(void **state) {
  static const form forms[] = {
      {"constant", OX_U8, false, 0, 2, false, true, false},
      {"constant, a scale for each", OX_I8, true, 0, 2, false, true, false},
      {"known to the run", OX_U8, true, 0xf8e, 2, false, true, false},
      {"known to the run, int8", OX_I8, false, 0xf8e, 2, false, true, false},
      {"W alone varies", OX_U8, false, 1 << 1, 2, false, true, false},
      {"R's scale alone varies", OX_I8, true, 1 << 10, 2, false, true, false},
      {"B alone varies", OX_U8, true, 1 << 3, 2, false, true, false},
      {"P alone varies", OX_U8, false, 1 << 7, 2, false, true, false},
      {"one row, backwards", OX_I8, false, 0, 1, false, false, true},
      {"lengths", OX_U8, true, 0, 6, true, false, false},
      {"lengths, backwards", OX_I8, false, 0xf8e, 6, true, false, true},
      {"many rows", OX_U8, true, 0, 64, false, false, false},
      {"rows of six tiles", OX_I8, true, 0, BATCH, false, false, false},
  };
  static float y[SEQ * DIRS * BATCH * HIDDEN], h[DIRS * BATCH * HIDDEN], c[DIRS * BATCH * HIDDEN];
  (void)state;
  for (size_t i = 0; i < 2 * OX_COUNT(forms); i++) {
    const form *f = &forms[i / 2];
    const float *want[3] = {y, h, c};
    one_node n;
    quantized(&n, f);
    wanted(f, y, (float *[2]){h, c});
    n.run_tiles = i % 2;
    CHECK_OK(ox_status_note(one_node_run(&n), "%s", f->name));
    size_t dirs = f->reverse ? 1 : DIRS, each = dirs * (size_t)f->batch * HIDDEN;
    for (int k = 0; k < 3; k++) {
      assert_int_equal(n.out[k].bytes, (k ? each : SEQ * each) * sizeof(float));
      for (size_t at = 0; at < n.out[k].bytes / sizeof(float); at++) {
        float got = ((const float *)n.out[k].data)[at];
        if (!(fabsf(got - want[k][at]) <= 1e-6f))
          fail_msg("%s, output %d: [%zu] is %g, wanted %g", f->name, k, at, (double)got, (double)want[k][at]);
      }
    }
    one_node_deinit(&n);
  }
}

static void test_weights_that_do_not_fit_are_refused(void **state) {
  static const int64_t wrong[][3] = {{1, INPUT, N}, {DIRS, INPUT + 1, N}, {DIRS, INPUT, N - 4}, {3, INPUT, N}};
  static const uint8_t bytes[3 * (INPUT + 1) * N];
  (void)state;
  for (size_t i = 0; i < 2 * OX_COUNT(wrong); i++) {
    one_node n;
    init(&n, 2, "bidirectional");
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
      init(&n, 2, "bidirectional");
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
      cmocka_unit_test(test_products_are_those_of_bytes),
      cmocka_unit_test(test_weights_that_do_not_fit_are_refused),
      cmocka_unit_test(test_scales_and_zero_points_are_required),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
