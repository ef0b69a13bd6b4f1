/* SPDX-License-Identifier: Apache-2.0
 * ops/image_scaler_test.c - experimental operators of old models: ImageScaler, Scale, GivenTensorFill, Crop,
 * DynamicSlice. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
static const uint32_t types[] = {OX_F32, OX_F16, OX_F64};

static void scaler(uint32_t dtype, const int64_t *dims, size_t n_bias) {
  static const float bias[] = {1, -2, 0.5f};
  one_node n;
  one_node_init(&n, "", "ImageScaler", 1, 1);
  one_node_float(&n, "scale", 2.5f), one_node_floats(&n, "bias", n_bias, bias);
  const ox_tensor *x = typed_input(&n, dtype, 4, dims, 3);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < ox_shape_count(&x->shape); i++)
    typed_near(&n.out[0], i, 2.5 * typed_at(x, i) + (n_bias ? (double)bias[i / dims[2] / dims[3] % dims[1]] : 0), 1);
  one_node_deinit(&n);
}

static void test_image_scaler(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++)
    scaler(types[t], DIMS(1, 1, 1, 1), 1), scaler(types[t], DIMS(2, 3, 31, 1033), 3),
        scaler(types[t], DIMS(2, 3, 5, 7), 0), scaler(types[t], DIMS(2, 3, 0, 7), 3);
  one_node n;
  one_node_init(&n, "", "ImageScaler", 1, 1);
  one_node_floats(&n, "bias", 2, (const float[]){1, 2});
  typed_input(&n, OX_F32, 4, DIMS(1, 3, 2, 2), 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "2 biases");
  one_node_deinit(&n);
}

static void test_scale(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    one_node n;
    one_node_init(&n, "", "Scale", 1, 1);
    one_node_float(&n, "scale", -0.75f);
    const ox_tensor *x = typed_input(&n, types[t], 1, DIMS(777), 3);
    CHECK_OK(one_node_run(&n));
    for (int64_t i = 0; i < 777; i++) typed_near(&n.out[0], i, -0.75 * typed_at(x, i), 1);
    one_node_deinit(&n);
  }
}

static void test_given_tensor_fill(void **state) {
  (void)state;
  static const float values[] = {1, 2, 3, 4, 5, 6};
  static const int64_t two_three[] = {2, 3}; /* lists are borrowed until deinit */
  static const struct {
    int in_rank; /* -1: no input */
    int64_t in_dims[2];
    bool as_shape;
    size_t n_shape, n_extra;
    ox_code code;
  } rows[] = {{-1, {0}, false, 2, 0, OX_OK},
              {-1, {0}, false, 1, 1, OX_OK},
              {2, {2, 3}, false, 0, 0, OX_OK},
              {1, {2}, false, 0, 1, OX_OK},
              {1, {1}, true, 0, 1, OX_OK},
              {-1, {0}, false, 0, 0, OX_INVALID_MODEL},
              {2, {2, 2}, false, 0, 0, OX_INVALID_MODEL}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    one_node_init(&n, "", "GivenTensorFill", 1, 1);
    one_node_floats(&n, "values", 6, values);
    one_node_ints(&n, "shape", rows[i].n_shape, two_three);
    one_node_ints(&n, "extra_shape", rows[i].n_extra, two_three + 1);
    one_node_int(&n, "input_as_shape", rows[i].as_shape);
    uint32_t dtype = rows[i].in_rank < 0 ? OX_F32 : rows[i].as_shape ? OX_F64 : OX_F16;
    if (rows[i].as_shape)
      one_node_input(&n, OX_F64, 1, DIMS(1), (const double[]){2});
    else if (rows[i].in_rank >= 0)
      typed_input(&n, OX_F16, rows[i].in_rank, rows[i].in_dims, 1);
    if (rows[i].code == OX_OK) {
      CHECK_OK(one_node_run(&n));
      assert_int_equal(n.out[0].dtype, dtype);
      assert_int_equal(n.out[0].shape.rank, 2);
      for (int64_t k = 0; k < 6; k++) assert_true(typed_at(&n.out[0], k) == (double)values[k]);
    } else {
      CHECK_FAILS(one_node_run(&n), rows[i].code, "6 values");
    }
    one_node_deinit(&n);
  }
}

static void crop(uint32_t dtype, const int64_t *border, const int64_t *scale) {
  enum { H = 5, W = 7 };
  one_node n;
  one_node_init(&n, "", "Crop", 1, 1);
  one_node_ints(&n, "border", 4, border);
  if (scale) one_node_ints(&n, "scale", 2, scale);
  const ox_tensor *x = typed_input(&n, dtype, 4, DIMS(2, 3, H, W), 3);
  CHECK_OK(one_node_run(&n));
  int64_t h = scale ? scale[0] : H - border[1] - border[3], w = scale ? scale[1] : W - border[0] - border[2];
  assert_int_equal(n.out[0].shape.dim[2], h);
  assert_int_equal(n.out[0].shape.dim[3], w);
  for (int64_t i = 0; i < 6 * h * w; i++) {
    int64_t from = (i / w / h * H + border[1] + i / w % h) * W + border[0] + i % w;
    assert_true(typed_at(&n.out[0], i) == typed_at(x, from));
  }
  one_node_deinit(&n);
}

static void test_crop(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    crop(types[t], DIMS(0, 0, 0, 0), NULL), crop(types[t], DIMS(1, 2, 3, 1), NULL);
    crop(types[t], DIMS(3, 0, 4, 0), NULL), crop(types[t], DIMS(2, 1, 9, 9), DIMS(3, 4));
    crop(types[t], DIMS(0, 0, 0, 0), DIMS(0, 0)), crop(types[t], DIMS(2, 1, 0, 0), DIMS(4, 5));
  }
  static const struct {
    size_t n_border;
    int64_t border[4], scale[2];
    const char *text;
  } bad[] = {{3, {0}, {1, 1}, "3 numbers"},
             {4, {-1, 0, 0, 0}, {1, 1}, "border[0]"},
             {4, {4, 0, 0, 0}, {1, 1}, "of 4 pixels"},
             {4, {0, 0, 0, 0}, {1, 5}, "5 from 0"},
             {4, {0, 0, 0, 0}, {1, -1}, "scale[1]"}};
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    one_node n;
    one_node_init(&n, "", "Crop", 1, 1);
    one_node_ints(&n, "border", bad[i].n_border, bad[i].border), one_node_ints(&n, "scale", 2, bad[i].scale);
    typed_input(&n, OX_F32, 4, DIMS(1, 1, 4, 4), 1);
    CHECK_FAILS_WITH(one_node_run(&n), bad[i].text);
    one_node_deinit(&n);
  }
}

static void test_dynamic_slice(void **state) {
  (void)state;
  static const int64_t x[] = {1, 2, 3, 4, 5, 6, 7, 8}, from[] = {1, 0}, to[] = {2, 3}, axes[] = {0, 1};
  static const int32_t from32[] = {0, 1}, to32[] = {-1, 1000};
  one_node n;
  one_node_init(&n, "", "DynamicSlice", 1, 1);
  one_node_input(&n, OX_I64, 2, DIMS(2, 4), x);
  one_node_input(&n, OX_I64, 1, DIMS(2), from), one_node_input(&n, OX_I64, 1, DIMS(2), to);
  one_node_input(&n, OX_I64, 1, DIMS(2), axes);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, DIMS(5, 6, 7), 3 * sizeof(int64_t));
  one_node_deinit(&n);
  one_node_init(&n, "", "DynamicSlice", 1, 1);
  one_node_input(&n, OX_I64, 2, DIMS(2, 4), x);
  one_node_input(&n, OX_I32, 1, DIMS(2), from32), one_node_input(&n, OX_I32, 1, DIMS(2), to32);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, DIMS(2, 3, 4), 3 * sizeof(int64_t));
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_image_scaler),      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_given_tensor_fill), cmocka_unit_test(test_crop),
      cmocka_unit_test(test_dynamic_slice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
