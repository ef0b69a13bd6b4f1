/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_features_test.c - columns put side by side, and columns picked by number. */
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static void test_vectorizer_cuts_and_fills(void **state) {
  (void)state;
  static const int64_t widths[] = {2, 3}, a[] = {1, 2, 3, 4, 5, 6};
  static const double b[] = {7, 8, 9, 10};
  static const float want[] = {1, 2, 7, 8, 0, 4, 5, 9, 10, 0};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "FeatureVectorizer", 1, 1);
  one_node_ints(&n, "inputdimensions", 2, widths);
  one_node_input(&n, OX_I64, 2, (int64_t[]){2, 3}, a);
  one_node_input(&n, OX_F64, 2, (int64_t[]){2, 2}, b);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, want, sizeof want);
  one_node_deinit(&n);
}

static void test_extractor_picks_columns(void **state) {
  (void)state;
  static const float x[] = {1, 2, 3, 4, 5, 6}, want[] = {3, 1, 6, 4};
  static const int64_t good[] = {2, 0}, bad[] = {2, -1};
  for (int i = 0; i < 2; i++) {
    one_node n;
    one_node_init(&n, "ai.onnx.ml", "ArrayFeatureExtractor", 1, 1);
    one_node_input(&n, OX_F32, 2, (int64_t[]){2, 3}, x);
    one_node_input(&n, OX_I64, 2, (int64_t[]){1, 2}, i ? bad : good);
    if (i)
      CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "column -1 of 3");
    else
      CHECK_OK(one_node_run(&n));
    if (!i) assert_memory_equal(n.out[0].data, want, sizeof want);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vectorizer_cuts_and_fills),
      cmocka_unit_test(test_extractor_picks_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
