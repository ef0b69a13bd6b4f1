/* SPDX-License-Identifier: Apache-2.0
 * ops/embed_layer_norm_test.c - words plus positions, normalized; the mask index counts ones wherever they are. */
#include <math.h>

#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { B = 2, S = 3, WORDS = 4, N = 2 };

static void test_rows_and_mask_index(void **state) {
  (void)state;
  const int32_t ids[B * S] = {3, 0, 1, 2, 2, 0}, mask[B * S] = {0, 1, 1, 1, 2, 0};
  const float word[WORDS * N] = {0, 1, 2, 3, 5, 8, -1, 4}, position[S * N] = {1, 0, 0, 2, 3, -7};
  const float gamma[N] = {2, 3}, beta[N] = {0.5f, -1};
  one_node n;
  one_node_init(&n, "com.microsoft", "EmbedLayerNormalization", 1, 2);
  one_node_input(&n, OX_I32, 2, (int64_t[]){B, S}, ids);
  one_node_input(&n, OX_UNDEFINED, -1, NULL, NULL);
  one_node_input(&n, OX_F32, 2, (int64_t[]){WORDS, N}, word);
  one_node_input(&n, OX_F32, 2, (int64_t[]){S, N}, position);
  one_node_input(&n, OX_UNDEFINED, -1, NULL, NULL);
  one_node_input(&n, OX_F32, 1, (int64_t[]){N}, gamma);
  one_node_input(&n, OX_F32, 1, (int64_t[]){N}, beta);
  one_node_input(&n, OX_I32, 2, (int64_t[]){B, S}, mask);
  CHECK_OK(one_node_run(&n));
  for (int t = 0; t < B * S; t++) {
    double a = word[ids[t] * N] + position[t % S * N], b = word[ids[t] * N + 1] + position[t % S * N + 1];
    double d = (a - b) / 2, scale = 1 / sqrt(d * d + 1e-12);
    assert_true(fabs(((float *)n.out[0].data)[t * N] - (2 * d * scale + 0.5)) < 1e-5);
    assert_true(fabs(((float *)n.out[0].data)[t * N + 1] - (-3 * d * scale - 1)) < 1e-5);
  }
  const int32_t *index = n.out[1].data;
  assert_int_equal(index[0], 2); /* padding on the left */
  assert_int_equal(index[1], 1); /* only 1 counts */
  one_node_deinit(&n);
}

/* Three tables of bytes, each with a scale and a zero point of its own, rows longer than a vector. */
static void check_bytes(uint32_t type) {
  enum { TOKENS = 5, IDS = 7, WIDE = 83 };
  const int32_t ids[TOKENS] = {6, 0, 3, 3, 1}, segments[TOKENS] = {0, 1, 1, 0, 1};
  const float scale[5] = {0.02f, 0.031f, 0.5f, 0.01f, 0.007f};
  uint8_t table[5][IDS * WIDE], zero[5];
  const int64_t rows[5] = {IDS, TOKENS, 2, 1, 1};
  int low = type == OX_I8 ? -128 : 0;
  uint32_t seed = 21;
  for (int t = 0; t < 5; t++) {
    zero[t] = (uint8_t)(100 + 9 * t + low);
    for (int i = 0; i < IDS * WIDE; i++) table[t][i] = (uint8_t)(test_random(&seed) >> 8);
  }
#define REAL(t, i) (((type == OX_I8 ? (int8_t)table[t][i] : table[t][i]) - (100 + 9 * (t) + low)) * (double)scale[t])
  one_node n;
  one_node_init(&n, "com.microsoft", "QEmbedLayerNormalization", 1, 2);
  one_node_input(&n, OX_I32, 2, (int64_t[]){1, TOKENS}, ids),
      one_node_input(&n, OX_I32, 2, (int64_t[]){1, TOKENS}, segments);
  for (int t = 0; t < 5; t++)
    one_node_input(&n, type, t < 3 ? 2 : 1, t < 3 ? (int64_t[]){rows[t], WIDE} : (int64_t[]){WIDE}, table[t]);
  one_node_input(&n, OX_UNDEFINED, -1, NULL, NULL);
  for (int t = 0; t < 5; t++) one_node_input(&n, OX_F32, 0, NULL, &scale[t]);
  for (int t = 0; t < 5; t++) one_node_input(&n, type, 0, NULL, &zero[t]);
  CHECK_OK(one_node_run(&n));
  for (int t = 0; t < TOKENS; t++) {
    double x[WIDE], mean = 0, variance = 0;
    for (int i = 0; i < WIDE; i++)
      mean += (x[i] = REAL(0, ids[t] * WIDE + i) + REAL(1, t * WIDE + i) + REAL(2, segments[t] * WIDE + i)) / WIDE;
    for (int i = 0; i < WIDE; i++) variance += (x[i] - mean) * (x[i] - mean) / WIDE;
    for (int i = 0; i < WIDE; i++) {
      double want = (x[i] - mean) / sqrt(variance + 1e-12) * REAL(3, i) + REAL(4, i);
      if (!(fabs((double)((float *)n.out[0].data)[t * WIDE + i] - want) <= 1e-5))
        fail_msg("[%d,%d] is %g, wanted %g", t, i, (double)((float *)n.out[0].data)[t * WIDE + i], want);
    }
  }
  one_node_deinit(&n);
}

static void test_tables_of_bytes(void **state) {
  (void)state;
  check_bytes(OX_U8), check_bytes(OX_I8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_and_mask_index),
                                     cmocka_unit_test(test_tables_of_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
