/* SPDX-License-Identifier: Apache-2.0
 * ops/embed_layer_norm_test.c - words plus positions, normalized; the mask index counts ones wherever they are. */
#include <math.h>

#include "support/check.h"
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_and_mask_index)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
