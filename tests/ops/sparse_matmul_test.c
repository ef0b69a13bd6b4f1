/* SPDX-License-Identifier: Apache-2.0
 * ops/sparse_matmul_test.c - SparseToDenseMatMul in every type and transposition against plain loops: matrices full of
 * zeros, and sparse values. */
#include <math.h>
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

/* ---- sparse values ---- */

/* A sparse value: what is there, in any order. */
typedef struct sparse_value {
  ox_tensor whole, part[2];
  int64_t n, row[MOST], column[MOST], index[2 * MOST];
  double a[MOST];
  uint8_t data[MOST * 8];
} sparse_value;

/* About every third place, the last first, some of them twice; |pairs|: indices of rank 2. */
static void make_sparse(sparse_value *v, uint32_t dtype, int64_t rows, int64_t columns, bool pairs) {
  v->n = 0;
  for (int64_t at = rows * columns; at-- > 0;)
    for (int64_t i = at * 7919 % 97; i % 3 == 0 && i < 97; i += i % 2 ? 3 : 97) { /* odd ones: once more */
      assert_true(v->n < MOST);
      v->row[v->n] = at / columns, v->column[v->n] = at % columns;
      v->a[v->n++] = (double)(i % 19) - (dtype == OX_U32 || dtype == OX_U64 ? 0 : 9);
    }
  for (int64_t i = 0; i < v->n; i++)
    if (pairs)
      v->index[2 * i] = v->row[i], v->index[2 * i + 1] = v->column[i];
    else
      v->index[i] = v->row[i] * columns + v->column[i];
  ox_convert_select(0)->store_f64[dtype](v->a, v->data, 0, (size_t)v->n, NULL);
  v->part[0] = ox_tensor_view(dtype, &(ox_shape){1, {v->n}}, v->data);
  v->part[1] = ox_tensor_view(OX_I64, &(ox_shape){pairs ? 2 : 1, {v->n, 2}}, v->index);
  v->whole = (ox_tensor){.kind = OX_SPARSE, .dtype = dtype, .data = v->part, .bytes = sizeof v->part};
  v->whole.shape = (ox_shape){2, {rows, columns}};
}

static void sparse_product(uint32_t dtype, int64_t m, int64_t k, int64_t n, int form, float alpha) {
  static sparse_value v;
  bool ta = form & 1, tb = form & 2;
  one_node node;
  make_sparse(&v, dtype, ta ? k : m, ta ? m : k, form & 4);
  one_node_init(&node, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  one_node_int(&node, "transA", ta), one_node_int(&node, "transB", tb), one_node_float(&node, "alpha", alpha);
  one_node_value(&node, &v.whole);
  const ox_tensor *b = tb ? add_matrix(&node, dtype, n, k, false) : add_matrix(&node, dtype, k, n, false);
  node.run_tiles = 1;
  CHECK_OK(one_node_run(&node));
  double want[MOST] = {0};
  for (int64_t e = 0; e < v.n; e++)
    for (int64_t j = 0; j < n; j++) {
      int64_t row = ta ? v.column[e] : v.row[e], inner = ta ? v.row[e] : v.column[e];
      want[row * n + j] += v.a[e] * typed_at(b, tb ? j * k + inner : inner * n + j) * (double)alpha;
    }
  assert_int_equal(ox_shape_count(&node.out[0].shape), m * n);
  for (int64_t i = 0; i < m * n; i++)
    if (!(typed_at(&node.out[0], i) == want[i]))
      fail_msg("type %u, [%d,%d,%d], form %d, element %d: got %g, wanted %g", dtype, (int)m, (int)k, (int)n, form,
               (int)i, typed_at(&node.out[0], i), want[i]);
  one_node_deinit(&node);
}

static void test_products_of_sparse_values(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_I32, OX_I64, OX_U32, OX_U64};
  static const int64_t sizes[][3] = {{1, 1, 1}, {7, 20, 9}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {17, 5, 31}};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (size_t s = 0; s < OX_COUNT(sizes); s++)
      for (int form = 0; form < 8; form++)
        for (int twice = 0; twice < 2; twice++)
          sparse_product(types[t], sizes[s][0], sizes[s][1], sizes[s][2], form, twice ? 2 : 1);
}

/* A zero that is there is multiplied: what is not finite in B shows. */
static void test_zeros_that_are_there(void **state) {
  (void)state;
  static const float b[] = {INFINITY, 1};
  float zero[] = {0};
  int64_t at[] = {0};
  ox_tensor part[] = {ox_tensor_view(OX_F32, &(ox_shape){1, {1}}, zero),
                      ox_tensor_view(OX_I64, &(ox_shape){1, {1}}, at)};
  ox_tensor a = {OX_SPARSE, OX_F32, part, sizeof part, {2, {1, 1}}};
  one_node n;
  one_node_init(&n, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  one_node_value(&n, &a), one_node_input(&n, OX_F32, 2, DIMS(1, 2), b);
  CHECK_OK(one_node_run(&n));
  assert_true(isnan(typed_at(&n.out[0], 0)) && typed_at(&n.out[0], 1) == 0);
  one_node_deinit(&n);
}

static void test_sparse_values_that_are_wrong(void **state) {
  (void)state;
  static const struct {
    ox_shape values, indices;
    uint32_t type;
    int64_t index[4];
    const char *text;
  } cases[] = {
      {{1, {2}}, {1, {2}}, OX_I64, {0, 6}, "index 1 of A is outside of [2,3]"},
      {{1, {2}}, {1, {2}}, OX_I64, {-1, 0}, "index 0 of A is outside of [2,3]"},
      {{1, {2}}, {2, {2, 2}}, OX_I64, {0, 0, 0, 3}, "index 1 of A is outside of [2,3]"},
      {{1, {2}}, {2, {2, 2}}, OX_I64, {2, 0, 0, 0}, "index 0 of A is outside of [2,3]"},
      {{1, {2}}, {2, {2, 2}}, OX_I64, {0, INT64_MIN, 0, 0}, "index 0 of A is outside of [2,3]"},
      {{1, {2}}, {1, {1}}, OX_I64, {0}, "values of shape [2] with indices of shape [1]"},
      {{1, {2}}, {2, {2, 1}}, OX_I64, {0}, "values of shape [2] with indices of shape [2,1]"},
      {{1, {2}}, {1, {2}}, OX_I32, {0}, "values of shape [2] with indices"},
      {{2, {1, 2}}, {1, {1}}, OX_I64, {0}, "values of shape [1,2] with indices"},
  };
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    float data[] = {1, 2};
    int64_t index[4];
    memcpy(index, cases[i].index, sizeof index);
    ox_tensor part[] = {ox_tensor_view(OX_F32, &cases[i].values, data),
                        ox_tensor_view(cases[i].type, &cases[i].indices, index)};
    ox_tensor a = {OX_SPARSE, OX_F32, part, sizeof part, {2, {2, 3}}};
    one_node n;
    one_node_init(&n, "com.microsoft", "SparseToDenseMatMul", 1, 1);
    one_node_value(&n, &a), typed_input(&n, OX_F32, 2, DIMS(3, 2), 1);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, cases[i].text);
    one_node_deinit(&n);
  }
}

static void test_kinds_that_are_wrong(void **state) {
  (void)state;
  float data[] = {1};
  int64_t at[] = {0};
  ox_tensor part[] = {ox_tensor_view(OX_F32, &(ox_shape){1, {1}}, data),
                      ox_tensor_view(OX_I64, &(ox_shape){1, {1}}, at)};
  ox_tensor sparse = {OX_SPARSE, OX_F32, part, sizeof part, {2, {1, 1}}}, halves = sparse;
  halves.dtype = OX_F16;
  one_node n;
  one_node_init(&n, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  typed_input(&n, OX_F32, 2, DIMS(1, 1), 1), one_node_value(&n, &sparse);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "B is not a tensor");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  one_node_value(&n, &(ox_tensor){.kind = OX_SEQUENCE, .dtype = OX_F32}), typed_input(&n, OX_F32, 2, DIMS(1, 1), 1);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "A is neither a sparse tensor nor a tensor");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "SparseToDenseMatMul", 1, 1);
  one_node_value(&n, &halves), typed_input(&n, OX_F16, 2, DIMS(1, 1), 1);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "input 0 is float16");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_integers_wrap),
      cmocka_unit_test(test_wrong_shapes),
      cmocka_unit_test(test_products_of_sparse_values),
      cmocka_unit_test(test_zeros_that_are_there),
      cmocka_unit_test(test_sparse_values_that_are_wrong),
      cmocka_unit_test(test_kinds_that_are_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
