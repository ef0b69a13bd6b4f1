/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_map_test.c - maps made from scores, and tensors made from maps. */
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

static ox_str str(const char *s) { return (ox_str){s, strlen(s)}; }

static void test_zip_map_makes_a_map_per_row(void **state) {
  (void)state;
  const ox_str labels[] = {str("x"), str("y")};
  const float scores[] = {1, 2, 3, 4, 5, 6};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "ZipMap", 1, 1);
  one_node_strs(&n, "classlabels_strings", 2, labels);
  one_node_input(&n, OX_F32, 2, (int64_t[]){3, 2}, scores);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out_type[0].kind, OX_SEQUENCE);
  assert_int_equal(n.out_type[0].elem->key_dtype, OX_STRING);
  assert_int_equal(n.out[0].shape.dim[0], 3);
  for (int r = 0; r < 3; r++) {
    const ox_tensor *pair = ((const ox_tensor *const *)n.out[0].data)[r]->data;
    assert_memory_equal(((const ox_str *)pair[0].data)[1].p, "y", 1);
    assert_true(((const float *)pair[1].data)[1] == scores[2 * r + 1]);
  }
  one_node_deinit(&n);
}

/* A map {5: 1.5, 0: 2.5}. */
static ox_tensor small_map(ox_tensor *pair) {
  static int64_t keys[] = {5, 0};
  static float values[] = {1.5f, 2.5f};
  ox_shape two = ox_shape_of(1, (int64_t[]){2});
  pair[0] = ox_tensor_view(OX_I64, &two, keys), pair[1] = ox_tensor_view(OX_F32, &two, values);
  return (ox_tensor){.kind = OX_MAP, .dtype = OX_F32, .data = pair, .shape = two};
}

static void test_cast_map_orders_by_key(void **state) {
  (void)state;
  ox_tensor pair[2], map = small_map(pair);
  static const float dense[] = {2.5f, 1.5f}, sparse[] = {2.5f, 0, 0, 0, 0, 1.5f, 0};
  for (int form = 0; form < 2; form++) {
    one_node n;
    one_node_init(&n, "ai.onnx.ml", "CastMap", 1, 1);
    one_node_str(&n, "map_form", form ? "SPARSE" : "DENSE");
    one_node_int(&n, "max_map", 7);
    one_node_value(&n, &map);
    CHECK_OK(one_node_run(&n));
    assert_int_equal(n.out[0].shape.dim[1], form ? 7 : 2);
    assert_memory_equal(n.out[0].data, form ? sparse : dense, n.out[0].bytes);
    one_node_deinit(&n);
  }
}

static void test_dict_vectorizer_refuses_other_keys(void **state) {
  (void)state;
  ox_tensor pair[2], map = small_map(pair);
  const ox_str words[] = {str("x")};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "DictVectorizer", 1, 1);
  one_node_strs(&n, "string_vocabulary", 1, words);
  one_node_value(&n, &map);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "keys of int64");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_zip_map_makes_a_map_per_row),
      cmocka_unit_test(test_cast_map_orders_by_key),
      cmocka_unit_test(test_dict_vectorizer_refuses_other_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
