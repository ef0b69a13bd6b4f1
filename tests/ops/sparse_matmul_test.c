/* SPDX-License-Identifier: Apache-2.0
 * ops/sparse_matmul_test.c - SparseToDenseMatMul in every type and transposition against plain loops. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
enum { MOST = 600 };

/* Mostly zeros. */
static const ox_tensor *add_matrix(one_node *n, uint32_t dtype, int64_t rows, int64_t columns, bool sparse) {
  double v[MOST];
  uint8_t data[MOST * 8];
  assert_true(rows * columns <= MOST);
  for (int64_t i = 0; i < rows * columns; i++) {
    int64_t x = (i + 5 * (int64_t)n->n_in) * 7919 % 97;
    v[i] = sparse && x % 4 ? 0 : (double)(x - (dtype == OX_U32 || dtype == OX_U64 ? 0 : 48));
  }
  ox_convert_select(0)->store_f64[dtype](v, data, 0, (size_t)(rows * columns), NULL);
  one_node_input(n, dtype, 2, DIMS(rows, columns), data);
  return &n->in[n->n_in - 1];
}

static void product(uint32_t dtype, int64_t m, int64_t k, int64_t n, bool ta, bool tb, float alpha) {
  one_node node;
  one_node_init(&node, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  one_node_int(&node, "transA", ta), one_node_int(&node, "transB", tb), one_node_float(&node, "alpha", alpha);
  const ox_tensor *a = ta ? add_matrix(&node, dtype, k, m, true) : add_matrix(&node, dtype, m, k, true);
  const ox_tensor *b = tb ? add_matrix(&node, dtype, n, k, false) : add_matrix(&node, dtype, k, n, false);
  node.run_tiles = 1;
  CHECK_OK(one_node_run(&node));
  assert_int_equal(node.out[0].shape.dim[0], m);
  assert_int_equal(node.out[0].shape.dim[1], n);
  for (int64_t i = 0; i < m * n; i++) {
    double want = 0;
    for (int64_t e = 0; e < k; e++)
      want += typed_at(a, ta ? e * m + i / n : i / n * k + e) * typed_at(b, tb ? i % n * k + e : e * n + i % n);
    assert_true(typed_at(&node.out[0], i) == want * (double)alpha);
  }
  one_node_deinit(&node);
}

static void test_products(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_I32, OX_I64, OX_U32, OX_U64};
  static const int64_t sizes[][3] = {{1, 1, 1}, {7, 20, 9}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {17, 5, 31}};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (size_t s = 0; s < OX_COUNT(sizes); s++)
      for (int form = 0; form < 4; form++)
        for (int twice = 0; twice < 2; twice++)
          product(types[t], sizes[s][0], sizes[s][1], sizes[s][2], form & 1, form & 2, twice ? 2 : 1);
}

static void test_integers_wrap(void **state) {
  (void)state;
  static const int32_t a[] = {INT32_MAX}, b[] = {2}, want[] = {-2};
  one_node n;
  one_node_init(&n, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  one_node_input(&n, OX_I32, 2, DIMS(1, 1), a), one_node_input(&n, OX_I32, 2, DIMS(1, 1), b);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, want, sizeof want);
  one_node_deinit(&n);
}

static void test_wrong_shapes(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  typed_input(&n, OX_F32, 2, DIMS(2, 3), 1), typed_input(&n, OX_F32, 2, DIMS(2, 3), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "A has 3 columns, B 2 rows");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  typed_input(&n, OX_F32, 2, DIMS(2, 3), 1), typed_input(&n, OX_F32, 3, DIMS(1, 3, 3), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "input 1");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_integers_wrap),
      cmocka_unit_test(test_wrong_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
