/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_encoder_test.c - lookups by string, integer and real keys; defaults; keys that come twice; many keys. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static ox_str str(const char *s) { return (ox_str){s, strlen(s)}; }

static void test_strings_to_floats(void **state) {
  (void)state;
  const ox_str keys[] = {str("a"), str("bb"), str("a"), str("")}, x[] = {str("bb"), str("a"), str(""), str("zz")};
  static const float values[] = {1, 2, 3, 4}, want[] = {2, 1, 4, -5};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "LabelEncoder", 2, 1);
  one_node_strs(&n, "keys_strings", 4, keys);
  one_node_floats(&n, "values_floats", 4, values);
  one_node_float(&n, "default_float", -5);
  one_node_input(&n, OX_STRING, 1, (int64_t[]){4}, x);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < 4; i++) assert_true(((float *)n.out[0].data)[i] == want[i]);
  one_node_deinit(&n);
}

static void test_reals_find_nan_and_both_zeros(void **state) {
  (void)state;
  const float keys[] = {NAN, 0, 1.5f}, x[] = {-0.0f, NAN, 1.5f, 2};
  const int64_t values[] = {10, 20, 30}, want[] = {20, 10, 30, -1};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "LabelEncoder", 4, 1);
  one_node_floats(&n, "keys_floats", 3, keys);
  one_node_ints(&n, "values_int64s", 3, values);
  one_node_input(&n, OX_F32, 1, (int64_t[]){4}, x);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < 4; i++) assert_int_equal(((int64_t *)n.out[0].data)[i], want[i]);
  one_node_deinit(&n);
}

static void test_many_integers(void **state) {
  (void)state;
  enum { N = 5000 };
  static int64_t keys[N], values[N];
  for (int i = 0; i < N; i++) keys[i] = (int64_t)i * 4096 - 7, values[i] = i;
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "LabelEncoder", 2, 1);
  one_node_ints(&n, "keys_int64s", N, keys);
  one_node_ints(&n, "values_int64s", N, values);
  one_node_input(&n, OX_I64, 1, (int64_t[]){N}, keys);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < N; i++) assert_int_equal(((int64_t *)n.out[0].data)[i], i);
  one_node_deinit(&n);
}

static void test_one_hot(void **state) {
  (void)state;
  const int64_t cats[] = {4, -2};
  const double x[] = {4.7, 0, -2};
  const float want[] = {1, 0, 0, 0, 0, 1};
  for (int zeros = 0; zeros < 2; zeros++) {
    one_node n;
    one_node_init(&n, "ai.onnx.ml", "OneHotEncoder", 1, 1);
    one_node_ints(&n, "cats_int64s", 2, cats);
    one_node_int(&n, "zeros", zeros);
    one_node_input(&n, OX_F64, 2, (int64_t[]){3, 1}, x);
    if (!zeros) {
      CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "element 1");
    } else {
      CHECK_OK(one_node_run(&n));
      assert_int_equal(n.out[0].shape.rank, 3);
      for (int i = 0; i < 6; i++) assert_true(((float *)n.out[0].data)[i] == want[i]);
    }
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strings_to_floats),
      cmocka_unit_test(test_reals_find_nan_and_both_zeros),
      cmocka_unit_test(test_many_integers),
      cmocka_unit_test(test_one_hot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
