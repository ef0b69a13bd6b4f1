/* SPDX-License-Identifier: Apache-2.0
 * ops/moe_test.c - mixtures of experts against a loop over tokens; 4-bit weights against the same in floats. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { T = 19, E = 5, K = 2, HID = 32, INT = 16 };
static float x[T * HID], router[T * E], w1[E * INT * HID], b1[E * INT], w2[E * HID * INT], scale1[E * INT],
    scale2[E * HID];
static uint8_t q1[E * INT * HID / 2], q2[E * HID * INT / 2];

static void fill(float *p, size_t n, int seed) {
  for (size_t i = 0; i < n; i++) p[i] = (float)((int)((i * 7919 + (size_t)seed * 31) % 1009) - 504) / 800;
}

static void fill_all(void) {
  fill(x, OX_COUNT(x), 1), fill(router, OX_COUNT(router), 2), fill(b1, OX_COUNT(b1), 3);
  for (size_t i = 0; i < OX_COUNT(q1); i++) q1[i] = (uint8_t)(i * 73), q2[i] = (uint8_t)(i * 91 + 5);
  for (int i = 0; i < E * INT; i++) scale1[i] = 0.01f + 0.001f * (float)(i % 7);
  for (int i = 0; i < E * HID; i++) scale2[i] = 0.02f + 0.001f * (float)(i % 5);
  for (int i = 0; i < E * INT * HID; i++) w1[i] = (float)((q1[i / 2] >> i % 2 * 4 & 15) - 8) * scale1[i / HID];
  for (int i = 0; i < E * HID * INT; i++) w2[i] = (float)((q2[i / 2] >> i % 2 * 4 & 15) - 8) * scale2[i / INT];
}

static void naive(int t, bool among, double *y) {
  double weight[K], sum = 0, chosen = 0, h[INT];
  int expert[K];
  for (int e = 0; e < E; e++) sum += exp(router[t * E + e]);
  for (int j = 0; j < K; j++) {
    expert[j] = -1;
    for (int e = 0; e < E; e++)
      if (!(j && e == expert[0]) && (expert[j] < 0 || router[t * E + e] > router[t * E + expert[j]])) expert[j] = e;
    weight[j] = exp(router[t * E + expert[j]]) / sum, chosen += weight[j];
  }
  memset(y, 0, HID * sizeof *y);
  for (int j = 0; j < K; j++) {
    int e = expert[j];
    for (int i = 0; i < INT; i++) {
      h[i] = b1[e * INT + i];
      for (int k = 0; k < HID; k++) h[i] += (double)w1[(e * INT + i) * HID + k] * x[t * HID + k];
      h[i] = h[i] / (1 + exp(-h[i]));
    }
    for (int i = 0; i < HID; i++)
      for (int k = 0; k < INT; k++)
        y[i] += weight[j] / (among ? chosen : 1) * (double)w2[(e * HID + i) * INT + k] * h[k];
  }
}

static void check(one_node *n, bool among) {
  CHECK_OK(one_node_run(n));
  for (int t = 0; t < T; t++) {
    double y[HID];
    naive(t, among, y);
    for (int i = 0; i < HID; i++) assert_true(fabs(((float *)n->out[0].data)[t * HID + i] - y[i]) < 1e-5);
  }
  one_node_deinit(n);
}

static void begin(one_node *n, const char *op) {
  one_node_init(n, "com.microsoft", op, 1, 1);
  one_node_int(n, "k", K);
  one_node_str(n, "activation_type", "silu");
  one_node_input(n, OX_F32, 2, (int64_t[]){T, HID}, x);
  one_node_input(n, OX_F32, 2, (int64_t[]){T, E}, router);
}

static void test_float_experts(void **state) {
  (void)state;
  fill_all();
  for (int64_t run_tiles = 0; run_tiles < 2; run_tiles++) {
    one_node n;
    begin(&n, "MoE");
    n.run_tiles = run_tiles;
    one_node_input(&n, OX_F32, 3, (int64_t[]){E, INT, HID}, w1);
    one_node_input(&n, OX_F32, 2, (int64_t[]){E, INT}, b1);
    one_node_input(&n, OX_F32, 3, (int64_t[]){E, HID, INT}, w2);
    check(&n, false);
  }
}

static void test_four_bit_experts(void **state) {
  (void)state;
  one_node n;
  fill_all();
  begin(&n, "QMoE");
  one_node_input(&n, OX_U8, 3, (int64_t[]){E, INT, HID / 2}, q1);
  one_node_input(&n, OX_F32, 2, (int64_t[]){E, INT}, scale1);
  one_node_input(&n, OX_F32, 2, (int64_t[]){E, INT}, b1);
  one_node_input(&n, OX_U8, 3, (int64_t[]){E, HID, INT / 2}, q2);
  one_node_input(&n, OX_F32, 2, (int64_t[]){E, HID}, scale2);
  check(&n, true);
}

static void test_more_experts_than_there_are(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "com.microsoft", "MoE", 1, 1);
  one_node_int(&n, "k", E + 1);
  one_node_input(&n, OX_F32, 2, (int64_t[]){T, HID}, x);
  one_node_input(&n, OX_F32, 2, (int64_t[]){T, E}, router);
  one_node_input(&n, OX_F32, 3, (int64_t[]){E, INT, HID}, w1);
  one_node_input(&n, OX_F32, -1, NULL, NULL);
  one_node_input(&n, OX_F32, 3, (int64_t[]){E, HID, INT}, w2);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "k 6");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float_experts),
      cmocka_unit_test(test_four_bit_experts),
      cmocka_unit_test(test_more_experts_than_there_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
