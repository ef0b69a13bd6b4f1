/* SPDX-License-Identifier: Apache-2.0
 * ops/pool_test.c - pools whose window is longer than the padded input. The standard's formula gives less than one
 * there, and models rely on what ONNX Runtime makes of it: the values below are those of ONNX Runtime 1.31.1 on x = 1,
 * 2, 3 ... */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

typedef struct pool_case {
  int rank;
  int64_t x[5], kernel[3], stride[3], dilation, pads[2]; /* dilation, pads: with one spatial axis, and if not 0 */
  bool ceil;
  const char *auto_pad;
  int64_t y[5];
  double max[4], average[4], lp[4];
} pool_case;

static const pool_case cases[] = {
    {4, {1, 1, 1, 5}, {2, 2}, {2, 2}, 0, {0}, 0, NULL, {1, 1, 1, 2}, {2, 4}, {1.5, 3.5}, {2.2360680103302, 5}},
    {4, {1, 1, 1, 5}, {2, 2}, {2, 2}, 0, {0}, 0, "VALID", {1, 1, 1, 2}, {2, 4}, {1.5, 3.5}, {2.2360680103302, 5}},
    {4, {1, 1, 1, 5}, {2, 2}, {2, 2}, 0, {0}, 1, NULL, {1, 1, 1, 3}, {2, 4, 5}, {1.5, 3.5, 5}, {2.2360680103302, 5, 5}},
    {4, {1, 2, 1, 1}, {2, 2}, {2, 2}, 0, {0}, 0, NULL, {1, 2, 1, 1}, {1, 2}, {1, 2}, {1, 2}},
    {4, {1, 2, 1, 1}, {2, 2}, {2, 2}, 0, {0}, 1, NULL, {1, 2, 1, 1}, {1, 2}, {1, 2}, {1, 2}},
    {4,
     {1, 1, 3, 1},
     {2, 3},
     {1, 3},
     0,
     {0},
     0,
     NULL,
     {1, 1, 2, 1},
     {2, 3},
     {1.5, 2.5},
     {2.2360680103302, 3.605551242828369}},
    {4,
     {1, 1, 1, 4},
     {3, 2},
     {3, 1},
     0,
     {0},
     0,
     NULL,
     {1, 1, 1, 3},
     {2, 3, 4},
     {1.5, 2.5, 3.5},
     {2.2360680103302, 3.605551242828369, 5}},
    /* too long by a stride and more: nothing */
    {4, {1, 1, 1, 4}, {3, 2}, {2, 1}, 0, {0}, 0, NULL, {1, 1, 0, 3}, {0}, {0}, {0}},
    {4, {1, 1, 1, 4}, {3, 2}, {2, 1}, 0, {0}, 1, NULL, {1, 1, 0, 3}, {0}, {0}, {0}},
    {4, {1, 1, 1, 4}, {2, 2}, {1, 1}, 0, {0}, 0, NULL, {1, 1, 0, 3}, {0}, {0}, {0}},
    {4, {1, 1, 1, 4}, {2, 2}, {1, 1}, 0, {0}, 1, NULL, {1, 1, 0, 3}, {0}, {0}, {0}},
    {4, {1, 1, 1, 4}, {6, 2}, {3, 1}, 0, {0}, 0, NULL, {1, 1, 0, 3}, {0}, {0}, {0}},
    {4, {1, 1, 4, 1}, {2, 6}, {1, 3}, 0, {0}, 0, NULL, {1, 1, 3, 0}, {0}, {0}, {0}},
    {4, {0, 1, 1, 5}, {2, 2}, {2, 2}, 0, {0}, 0, NULL, {0, 1, 1, 2}, {0}, {0}, {0}},
    {3, {1, 1, 2}, {6}, {3}, 0, {1, 1}, 0, NULL, {1, 1, 1}, {2}, {1.5}, {2.2360680103302}},
    {3, {1, 1, 2}, {6}, {3}, 0, {1, 1}, 1, NULL, {1, 1, 1}, {2}, {1.5}, {2.2360680103302}},
    {3, {1, 1, 1}, {4}, {3}, 0, {1, 0}, 0, NULL, {1, 1, 1}, {1}, {1}, {1}},
    {3, {1, 1, 2}, {2}, {3}, 3, {0}, 0, NULL, {1, 1, 1}, {1}, {1}, {1}},
    {3, {1, 1, 2}, {2}, {2}, 3, {0}, 0, NULL, {1, 1, 0}, {0}, {0}, {0}},
    {5, {1, 1, 1, 1, 3}, {2, 2, 2}, {2, 2, 2}, 0, {0}, 0, NULL, {1, 1, 1, 1, 1}, {2}, {1.5}, {2.2360680103302}},
    {5,
     {1, 1, 1, 1, 3},
     {2, 2, 2},
     {2, 2, 2},
     0,
     {0},
     1,
     NULL,
     {1, 1, 1, 1, 2},
     {2, 3},
     {1.5, 3},
     {2.2360680103302, 3}},
};

static size_t elements(const int64_t *dims, int rank) {
  size_t n = 1;
  for (int i = 0; i < rank; i++) n *= (size_t)dims[i];
  return n;
}

static double at(const ox_tensor *t, size_t i) {
  switch (t->dtype) {
    case OX_F32:
      return (double)((const float *)t->data)[i];
    case OX_F64:
      return ((const double *)t->data)[i];
    case OX_I8:
      return ((const int8_t *)t->data)[i];
    default:
      return ((const uint8_t *)t->data)[i];
  }
}

static void start(one_node *n, const pool_case *c, const char *op, uint32_t dtype, uint32_t n_out) {
  static const float f32[] = {1, 2, 3, 4, 5};
  static const double f64[] = {1, 2, 3, 4, 5};
  static const uint8_t bytes[] = {1, 2, 3, 4, 5};
  size_t axes = (size_t)c->rank - 2;
  one_node_init(n, "", op, 22, n_out);
  one_node_ints(n, "kernel_shape", axes, c->kernel);
  one_node_ints(n, "strides", axes, c->stride);
  if (c->dilation) one_node_ints(n, "dilations", 1, &c->dilation);
  if (c->pads[0]) one_node_ints(n, "pads", 2, c->pads);
  if (c->auto_pad) one_node_str(n, "auto_pad", c->auto_pad);
  one_node_int(n, "ceil_mode", c->ceil);
  one_node_input(n, dtype, c->rank, c->x,
                 dtype == OX_F32   ? (const void *)f32
                 : dtype == OX_F64 ? (const void *)f64
                                   : bytes);
}

static void check(size_t i, const char *op, uint32_t dtype, const double *want) {
  const pool_case *c = &cases[i];
  one_node n;
  start(&n, c, op, dtype, 1);
  CHECK_OK(one_node_run(&n));
  const ox_tensor *y = &n.out[0];
  if (y->shape.rank != c->rank || memcmp(y->shape.dim, c->y, (size_t)c->rank * sizeof *c->y))
    fail_msg("case %zu, %s of type %u: wrong shape", i, op, dtype);
  for (size_t j = 0; j < elements(c->y, c->rank); j++)
    if (!(fabs(at(y, j) - want[j]) <= 1e-6))
      fail_msg("case %zu, %s of type %u: [%zu] is %g, wanted %g", i, op, dtype, j, at(y, j), want[j]);
  one_node_deinit(&n);
}

static void test_windows_longer_than_the_input(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    check(i, "MaxPool", OX_F32, cases[i].max);
    check(i, "MaxPool", OX_F64, cases[i].max);
    check(i, "MaxPool", OX_U8, cases[i].max);
    check(i, "MaxPool", OX_I8, cases[i].max);
    check(i, "AveragePool", OX_F32, cases[i].average);
    check(i, "AveragePool", OX_F64, cases[i].average);
    check(i, "LpPool", OX_F32, cases[i].lp);
  }
}

static void test_indices(void **state) {
  (void)state;
  one_node n;
  start(&n, &cases[0], "MaxPool", OX_F32, 2);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(((const int64_t *)n.out[1].data)[0], 1);
  assert_int_equal(((const int64_t *)n.out[1].data)[1], 3);
  one_node_deinit(&n);
}

/* Padding counts as far as it reaches, and no further: 3 / 4. */
static void test_average_counts_padding(void **state) {
  (void)state;
  static const float x[] = {1, 2};
  one_node n;
  one_node_init(&n, "", "AveragePool", 22, 1);
  one_node_ints(&n, "kernel_shape", 1, (int64_t[]){6});
  one_node_ints(&n, "strides", 1, (int64_t[]){3});
  one_node_ints(&n, "pads", 2, (int64_t[]){1, 1});
  one_node_int(&n, "count_include_pad", 1);
  one_node_input(&n, OX_F32, 3, (int64_t[]){1, 1, 2}, x);
  CHECK_OK(one_node_run(&n));
  assert_true(((const float *)n.out[0].data)[0] == 0.75f);
  one_node_deinit(&n);
}

static void test_quantized_pools(void **state) {
  (void)state;
  static const uint8_t x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, zero = 0;
  static const float one = 1;
  const int64_t two[] = {2, 2};
  one_node n;
  one_node_init(&n, "com.microsoft", "NhwcMaxPool", 1, 1);
  one_node_ints(&n, "kernel_shape", 2, two);
  one_node_ints(&n, "strides", 2, two);
  one_node_input(&n, OX_I8, 4, (int64_t[]){1, 1, 5, 2}, x);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].shape.dim[1], 1);
  assert_memory_equal(n.out[0].data, ((uint8_t[]){3, 4, 7, 8}), 4);
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "QLinearAveragePool", 1, 1);
  one_node_ints(&n, "kernel_shape", 2, two);
  one_node_ints(&n, "strides", 2, two);
  one_node_input(&n, OX_U8, 4, (int64_t[]){1, 1, 1, 5}, x);
  for (int i = 0; i < 2; i++) {
    one_node_input(&n, OX_F32, 0, NULL, &one);
    one_node_input(&n, OX_U8, 0, NULL, &zero);
  }
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, ((uint8_t[]){2, 4}), 2);
  one_node_deinit(&n);
}

/* Two strides or more too long, as by a kernel that was meant for another image: an error there and here. */
static void test_far_too_long_is_refused(void **state) {
  (void)state;
  static const pool_case bad[] = {
      {.rank = 4, .x = {1, 1, 1, 4}, .kernel = {7, 2}, .stride = {3, 1}},
      {.rank = 4, .x = {1, 1, 1, 4}, .kernel = {7, 2}, .stride = {3, 1}, .ceil = true},
      {.rank = 4, .x = {1, 1, 1, 5}, .kernel = {3, 2}, .stride = {1, 2}, .auto_pad = "VALID"},
      {.rank = 3, .x = {1, 1, 1}, .kernel = {1 << 30}, .stride = {1 << 28}}};
  static const char *const ops[] = {"MaxPool", "AveragePool", "LpPool"};
  for (size_t i = 0; i < OX_COUNT(bad); i++)
    for (size_t o = 0; o < OX_COUNT(ops); o++) {
      one_node n;
      start(&n, &bad[i], ops[o], OX_F32, 1);
      CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "does not fit in");
      one_node_deinit(&n);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows_longer_than_the_input), cmocka_unit_test(test_indices),
      cmocka_unit_test(test_average_counts_padding),        cmocka_unit_test(test_quantized_pools),
      cmocka_unit_test(test_far_too_long_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
