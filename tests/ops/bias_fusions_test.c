/* SPDX-License-Identifier: Apache-2.0
 * ops/bias_fusions_test.c - BiasAdd, BiasSplitGelu and BiasSoftmax against doubles. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
static const uint32_t types[] = {OX_F32, OX_F16, OX_F64};

static void add(uint32_t dtype, const int64_t *dims) {
  one_node n;
  one_node_init(&n, "com.microsoft", "BiasAdd", 1, 1);
  const ox_tensor *x = typed_input(&n, dtype, 3, dims, 2), *b = typed_input(&n, dtype, 1, dims + 2, 2);
  const ox_tensor *s = typed_input(&n, dtype, 3, dims, 2);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < ox_shape_count(&x->shape); i++)
    typed_near(&n.out[0], i, typed_at(x, i) + typed_at(b, i % dims[2]) + typed_at(s, i), 1);
  one_node_deinit(&n);
}

static void test_bias_add(void **state) {
  (void)state;
  for (size_t t = 0; t < 2; t++)
    add(types[t], DIMS(1, 1, 1)), add(types[t], DIMS(2, 0, 3)), add(types[t], DIMS(2, 9, 4099)),
        add(types[t], DIMS(3, 700, 5));
}

static void split_gelu(uint32_t dtype, const int64_t *dims) {
  one_node n;
  int64_t half = dims[2] / 2;
  one_node_init(&n, "com.microsoft", "BiasSplitGelu", 1, 1);
  const ox_tensor *x = typed_input(&n, dtype, 3, dims, 3), *b = typed_input(&n, dtype, 1, dims + 2, 2);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].shape.dim[2], half);
  for (int64_t i = 0; i < dims[0] * dims[1] * half; i++) {
    int64_t row = i / half * dims[2], k = i % half;
    double left = typed_at(x, row + k) + typed_at(b, k), v = typed_at(x, row + half + k) + typed_at(b, half + k);
    typed_near(&n.out[0], i, left * 0.5 * v * (1 + erf(v / sqrt(2))), 2);
  }
  one_node_deinit(&n);
}

static void test_bias_split_gelu(void **state) {
  (void)state;
  for (size_t t = 0; t < 2; t++)
    split_gelu(types[t], DIMS(1, 1, 2)), split_gelu(types[t], DIMS(2, 0, 4)), split_gelu(types[t], DIMS(2, 3, 0)),
        split_gelu(types[t], DIMS(2, 3, 5120)), split_gelu(types[t], DIMS(3, 700, 6));
}

/* The bias broadcasts to the data as numpy would have it. */
static void softmax(uint32_t dtype, int64_t axis, bool inner, const int64_t *dims, const int64_t *bias_dims) {
  one_node n;
  one_node_init(&n, "com.microsoft", "BiasSoftmax", 1, 1);
  one_node_int(&n, "axis", axis), one_node_int(&n, "is_inner_broadcast", inner);
  const ox_tensor *x = typed_input(&n, dtype, 4, dims, 4), *b = typed_input(&n, dtype, 4, bias_dims, 4);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  int64_t count = ox_shape_count(&x->shape), width = 1;
  for (int64_t d = axis < 0 ? axis + 4 : axis; d < 4; d++) width *= dims[d];
  for (int64_t row = 0; row < count; row += width) {
    double most = -INFINITY, sum = 0, v[64];
    assert_true(width <= 64);
    for (int64_t i = 0; i < width; i++) {
      int64_t from = 0;
      for (int64_t d = 0, at = row + i, below = count; d < 4; d++) {
        below /= dims[d];
        from = from * bias_dims[d] + (bias_dims[d] == 1 ? 0 : at / below);
        at %= below;
      }
      v[i] = typed_at(x, row + i) + typed_at(b, from);
      most = fmax(most, v[i]);
    }
    for (int64_t i = 0; i < width; i++) sum += exp(v[i] - most);
    for (int64_t i = 0; i < width; i++) typed_near(&n.out[0], row + i, exp(v[i] - most) / sum, 1);
  }
  one_node_deinit(&n);
}

static void test_bias_softmax(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    softmax(types[t], 3, true, DIMS(2, 3, 4, 5), DIMS(2, 1, 1, 5));
    softmax(types[t], -1, true, DIMS(2, 3, 4, 5), DIMS(2, 3, 1, 5));
    softmax(types[t], 3, false, DIMS(2, 3, 4, 5), DIMS(1, 3, 4, 5));
    softmax(types[t], 3, false, DIMS(2, 3, 4, 5), DIMS(1, 1, 4, 5));
    softmax(types[t], 2, true, DIMS(2, 3, 4, 5), DIMS(2, 1, 4, 5));
    softmax(types[t], 1, false, DIMS(2, 3, 4, 5), DIMS(1, 3, 4, 5));
    softmax(types[t], 3, true, DIMS(2, 3, 4, 5), DIMS(2, 3, 4, 5));
    softmax(types[t], 3, true, DIMS(1, 1, 1, 1), DIMS(1, 1, 1, 1));
    softmax(types[t], 3, true, DIMS(2, 0, 4, 5), DIMS(2, 1, 1, 5));
  }
}

static void test_wrong_models(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "com.microsoft", "BiasSoftmax", 1, 1);
  one_node_int(&n, "axis", 1), one_node_int(&n, "is_inner_broadcast", 1);
  typed_input(&n, OX_F32, 2, DIMS(6, 3), 1), typed_input(&n, OX_F32, 2, DIMS(4, 3), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "bias of shape [4,3]");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "BiasSoftmax", 1, 1);
  one_node_int(&n, "axis", 2), one_node_int(&n, "is_inner_broadcast", 1);
  typed_input(&n, OX_F32, 2, DIMS(6, 3), 1), typed_input(&n, OX_F32, 2, DIMS(6, 3), 1);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "axis 2");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "BiasSplitGelu", 1, 1);
  typed_input(&n, OX_F32, 3, DIMS(1, 1, 3), 1), typed_input(&n, OX_F32, 1, DIMS(3), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "halves");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "BiasAdd", 1, 1);
  typed_input(&n, OX_F32, 3, DIMS(1, 1, 3), 1), typed_input(&n, OX_F32, 1, DIMS(3), 1);
  typed_input(&n, OX_F32, 3, DIMS(1, 2, 3), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "input 2");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bias_add),
      cmocka_unit_test(test_bias_split_gelu),
      cmocka_unit_test(test_bias_softmax),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
