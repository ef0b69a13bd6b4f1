/* SPDX-License-Identifier: Apache-2.0
 * ops/conv_ops_test.c - Conv, ConvTranspose, pools, Resize and QLinearConv as nodes: constant or run-time weights,
 * every type, any number of tiles at a time, and attributes that must be refused. The sums themselves:
 * kern/conv_test.c. */
#include "support/check.h"

#include <math.h>
#include <string.h>

#include "graph/dtype.h"
#include "support/one_node.h"

enum { C = 5, H = 9, WID = 11, M = 6, K = 3 };
static float x[2 * C * H * WID], w[M * C * K * K], bias[M];

static int fill(void **state) {
  (void)state;
  uint32_t seed = 5;
  float *all[] = {x, w, bias};
  size_t n[] = {OX_COUNT(x), OX_COUNT(w), OX_COUNT(bias)};
  for (int a = 0; a < 3; a++)
    for (size_t i = 0; i < n[a]; i++) {
      seed = seed * 1664525u + 1013904223u;
      all[a][i] = (float)(seed >> 16 & 255) / 64 - 2; /* exact in bfloat16 */
    }
  return 0;
}

static const int64_t x_dims[] = {2, C, H, WID}, w_dims[] = {M, C, K, K}, b_dims[] = {M};
static const int64_t strides[] = {2, 1}, pads[] = {1, 0, 1, 2}, kernel[] = {K, K};

/* The same node by the book. */
static double conv_at(int64_t n, int64_t m, int64_t oh, int64_t ow) {
  double sum = (double)bias[m];
  for (int64_t c = 0; c < C; c++)
    for (int64_t i = 0; i < K; i++)
      for (int64_t j = 0; j < K; j++) {
        int64_t h = oh * strides[0] + i - pads[0], v = ow * strides[1] + j - pads[1];
        if (h < 0 || h >= H || v < 0 || v >= WID) continue;
        sum += (double)x[((n * C + c) * H + h) * WID + v] * (double)w[((m * C + c) * K + i) * K + j];
      }
  return sum;
}

static void narrow(uint32_t dtype, const float *from, size_t n, void *to) {
  for (size_t i = 0; i < n; i++) {
    if (dtype == OX_F32) ((float *)to)[i] = from[i];
    if (dtype == OX_F64) ((double *)to)[i] = (double)from[i];
    if (dtype == OX_F16) ((uint16_t *)to)[i] = ox_f16_from_f32(from[i]);
    if (dtype == OX_BF16) ((uint16_t *)to)[i] = ox_bf16_from_f32(from[i]);
  }
}

static double element(const ox_tensor *t, int64_t i) {
  if (t->dtype == OX_F64) return ((const double *)t->data)[i];
  if (t->dtype == OX_F16) return (double)ox_f16_to_f32(((const uint16_t *)t->data)[i]);
  if (t->dtype == OX_BF16) return (double)ox_bf16_to_f32(((const uint16_t *)t->data)[i]);
  return (double)((const float *)t->data)[i];
}

static void run_conv(uint32_t dtype, bool constant, uint32_t isa, int64_t tiles) {
  static double xb[OX_COUNT(x)], wb[OX_COUNT(w)], bb[M];
  one_node n;
  one_node_init(&n, "", "Conv", 11, 1);
  n.isa = isa, n.run_tiles = tiles;
  narrow(dtype, x, OX_COUNT(x), xb), narrow(dtype, w, OX_COUNT(w), wb), narrow(dtype, bias, M, bb);
  one_node_ints(&n, "strides", 2, strides);
  one_node_ints(&n, "pads", 4, pads);
  one_node_input(&n, dtype, 4, x_dims, xb);
  if (constant)
    one_node_const(&n, dtype, 4, w_dims, wb);
  else
    one_node_input(&n, dtype, 4, w_dims, wb);
  one_node_input(&n, dtype, 1, b_dims, bb);
  CHECK_OK(one_node_run(&n));
  const ox_shape *y = &n.out[0].shape;
  assert_int_equal(y->dim[2], 5);
  assert_int_equal(y->dim[3], 11);
  double tolerance = dtype == OX_BF16 ? 1e-2 : dtype == OX_F16 ? 1e-3 : dtype == OX_F64 ? 1e-13 : 1e-5;
  for (int64_t i = 0; i < ox_shape_count(y); i++) {
    double want = conv_at(i / (M * 55), i / 55 % M, i / 11 % 5, i % 11), got = element(&n.out[0], i);
    if (!(fabs(got - want) <= tolerance * (fabs(want) + 1)))
      fail_msg("%s, constant %d: [%d] is %g, wanted %g", ox_dtype_name(dtype), constant, (int)i, got, want);
  }
  one_node_deinit(&n);
}

static void test_conv_by_type_and_weights(void **state) {
  (void)state;
  const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int constant = 0; constant < 2; constant++)
      for (int64_t tiles = 0; tiles < 2; tiles++) {
        run_conv(types[t], constant, ox_isa_host(), tiles);
        run_conv(types[t], constant, 0, tiles);
      }
}

/* A transposed convolution is the gradient of a convolution: <conv(a), b> = <a, transposed(b)>. */
static void test_transpose_is_the_adjoint(void **state) {
  (void)state;
  float y[2 * M * 5 * 11];
  for (size_t i = 0; i < OX_COUNT(y); i++) y[i] = (float)(i * 37 % 101) / 50 - 1;
  one_node n;
  one_node_init(&n, "", "ConvTranspose", 11, 1);
  const int64_t y_dims[] = {2, M, 5, 11}, shape[] = {H, WID};
  one_node_ints(&n, "strides", 2, strides);
  one_node_ints(&n, "pads", 4, pads);
  one_node_input(&n, OX_F32, 4, y_dims, y);
  one_node_const(&n, OX_F32, 4, w_dims, w);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].shape.dim[2], shape[0]);
  assert_int_equal(n.out[0].shape.dim[3], shape[1]);
  double left = 0, right = 0;
  for (int64_t i = 0; i < 2 * M * 55; i++)
    left += (double)y[i] * (conv_at(i / (M * 55), i / 55 % M, i / 11 % 5, i % 11) - (double)bias[i / 55 % M]);
  for (size_t i = 0; i < OX_COUNT(x); i++) right += (double)x[i] * element(&n.out[0], (int64_t)i);
  if (!(fabs(left - right) <= 1e-4 * (fabs(left) + 1))) fail_msg("%g is not %g", left, right);
  one_node_deinit(&n);
}

static double pool_at(const char *op, int64_t plane, int64_t oh, int64_t ow) {
  double sum = 0, most = -INFINITY;
  int count = 0;
  for (int64_t i = 0; i < K; i++)
    for (int64_t j = 0; j < K; j++) {
      int64_t h = oh * strides[0] + i - pads[0], v = ow * strides[1] + j - pads[1];
      if (h < 0 || h >= H || v < 0 || v >= WID) continue;
      double e = (double)x[(plane * H + h) * WID + v];
      sum += e, most = fmax(most, e), count++;
    }
  return op[0] == 'M' ? most : sum / count;
}

static void test_pools(void **state) {
  (void)state;
  const char *ops[] = {"MaxPool", "AveragePool"};
  for (int o = 0; o < 2; o++)
    for (int indices = 0; indices < 2 - o; indices++) { /* with indices the plain kernel runs */
      one_node n;
      one_node_init(&n, "", ops[o], 12, 1 + (uint32_t)indices);
      one_node_ints(&n, "kernel_shape", 2, kernel);
      one_node_ints(&n, "strides", 2, strides);
      one_node_ints(&n, "pads", 4, pads);
      one_node_input(&n, OX_F32, 4, x_dims, x);
      CHECK_OK(one_node_run(&n));
      for (int64_t i = 0; i < 2 * C * 55; i++) {
        double want = pool_at(ops[o], i / 55, i / 11 % 5, i % 11), got = element(&n.out[0], i);
        if (!(fabs(got - want) <= 1e-6 * (fabs(want) + 1)))
          fail_msg("%s: [%d] is %g, wanted %g", ops[o], (int)i, got, want);
        if (indices && (double)x[((const int64_t *)n.out[1].data)[i]] != want) fail_msg("index %d", (int)i);
      }
      one_node_deinit(&n);
    }
}

static void test_resize_doubles(void **state) {
  (void)state;
  one_node n;
  const float scales[] = {1, 1, 2, 2};
  const int64_t four[] = {4};
  one_node_init(&n, "", "Resize", 13, 1);
  one_node_str(&n, "coordinate_transformation_mode", "asymmetric");
  one_node_str(&n, "nearest_mode", "floor");
  one_node_input(&n, OX_F32, 4, x_dims, x);
  one_node_input(&n, OX_F32, -1, NULL, NULL);
  one_node_const(&n, OX_F32, 1, four, scales);
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < ox_shape_count(&n.out[0].shape); i++) {
    int64_t p = i / (4 * H * WID), h = i / (2 * WID) % (2 * H) / 2, v = i % (2 * WID) / 2;
    assert_true(element(&n.out[0], i) == (double)x[(p * H + h) * WID + v]);
  }
  one_node_deinit(&n);
}

/* What of QLinearConv is constant, and so which way it is computed. */
static const struct linear_row {
  const char *name;
  bool depthwise, constant;
  int8_t w_zero;
  int64_t stride[2], pad;
} linear_rows[] = {
    {"parameters of the run", false, false, 0, {2, 1}, 1},
    {"depthwise", true, false, 0, {2, 1}, 1},
    {"constant", false, true, 0, {2, 1}, 1},
    {"constant depthwise", true, true, 0, {2, 1}, 1},
    {"asymmetric weights", false, true, 5, {2, 1}, 1},
    {"asymmetric depthwise", true, true, -7, {2, 1}, 1},
    {"far apart", false, true, 0, {400, 400}, 400},
    {"far apart, depthwise", true, true, 0, {400, 400}, 400},
    {"asymmetric, far apart", true, true, 31, {400, 400}, 400},
    {"weights of 255", false, true, -128, {2, 1}, 1},
    {"weights of 255, depthwise", true, true, -128, {2, 1}, 1},
};

static void linear_input(one_node *n, bool constant, uint32_t dtype, const void *value) {
  if (constant)
    one_node_const(n, dtype, 0, NULL, value);
  else
    one_node_input(n, dtype, 0, NULL, value);
}

/* Bytes on every instruction set, ties round to even. */
static void check_linear(const struct linear_row *r, ox_isa isa) {
  uint8_t xb[2 * C * H * WID], x_zero = 7, y_zero = 100;
  int8_t wb[M * C * K * K];
  float x_scale = 0.5f, w_scale = 0.25f, y_scale = 16;
  for (size_t i = 0; i < OX_COUNT(xb); i++) xb[i] = (uint8_t)(i * 53 % 256);
  for (size_t i = 0; i < OX_COUNT(wb); i++) wb[i] = (int8_t)((int)(i * 29 % 256) - 128);
  int64_t m = r->depthwise ? C : M, per = r->depthwise ? 1 : C, dims[] = {m, per, K, K};
  int64_t all_pads[] = {r->pad, r->pad, r->pad, r->pad};
  int64_t high = (H + 2 * r->pad - K) / r->stride[0] + 1, wide = (WID + 2 * r->pad - K) / r->stride[1] + 1;
  one_node n;
  one_node_init(&n, "", "QLinearConv", 10, 1);
  n.isa = isa;
  one_node_ints(&n, "strides", 2, r->stride);
  one_node_ints(&n, "pads", 4, all_pads);
  one_node_int(&n, "group", r->depthwise ? C : 1);
  one_node_input(&n, OX_U8, 4, x_dims, xb);
  linear_input(&n, r->constant, OX_F32, &x_scale);
  linear_input(&n, r->constant, OX_U8, &x_zero);
  one_node_const(&n, OX_I8, 4, dims, wb);
  linear_input(&n, r->constant, OX_F32, &w_scale);
  linear_input(&n, r->constant, OX_I8, &r->w_zero);
  linear_input(&n, r->constant, OX_F32, &y_scale);
  linear_input(&n, r->constant, OX_U8, &y_zero);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(ox_shape_count(&n.out[0].shape), 2 * m * high * wide);
  for (int64_t i = 0; i < 2 * m * high * wide; i++) {
    int64_t image = i / (m * high * wide), ch = i / (high * wide) % m, oh = i / wide % high, ow = i % wide;
    int32_t sum = 0;
    for (int64_t t = 0; t < per * K * K; t++) {
      int64_t c = r->depthwise ? ch : t / (K * K), h = oh * r->stride[0] + t / K % K - r->pad;
      int64_t v = ow * r->stride[1] + t % K - r->pad;
      if (h < 0 || h >= H || v < 0 || v >= WID) continue;
      sum += ((int)xb[((image * C + c) * H + h) * WID + v] - x_zero) * (wb[ch * per * K * K + t] - r->w_zero);
    }
    double want = fmin(fmax(nearbyint((double)sum * 0.5 * 0.25 / 16) + y_zero, 0), 255);
    if (((const uint8_t *)n.out[0].data)[i] != (uint8_t)want)
      fail_msg("%s: [%d] is %d, wanted %g", r->name, (int)i, ((const uint8_t *)n.out[0].data)[i], want);
  }
  one_node_deinit(&n);
}

static void test_qlinear_conv(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(linear_rows); i++) {
    check_linear(&linear_rows[i], ox_isa_host());
    check_linear(&linear_rows[i], 0);
  }
}

static void test_bad_attributes_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t v[4];
    size_t n;
    const char *part;
  } bad[] = {{"strides", {0, 1}, 2, "strides[0]"},        {"strides", {1}, 1, "strides has 1"},
             {"dilations", {1, -2}, 2, "dilations[1]"},   {"pads", {1, 1}, 2, "pads has 2"},
             {"kernel_shape", {2, 3}, 2, "kernel_shape"}, {"dilations", {90, 1}, 2, "does not fit"}};
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    one_node n;
    one_node_init(&n, "", "Conv", 11, 1);
    one_node_ints(&n, bad[i].name, bad[i].n, bad[i].v);
    one_node_input(&n, OX_F32, 4, x_dims, x);
    one_node_input(&n, OX_F32, 4, w_dims, w);
    ox_status *st = one_node_run(&n);
    if (!st || !strstr(ox_status_message(st), bad[i].part))
      fail_msg("%s: got \"%s\", wanted \"...%s...\"", bad[i].name, ox_status_message(st), bad[i].part);
    ox_status_free(st);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conv_by_type_and_weights),
      cmocka_unit_test(test_transpose_is_the_adjoint),
      cmocka_unit_test(test_pools),
      cmocka_unit_test(test_resize_doubles),
      cmocka_unit_test(test_qlinear_conv),
      cmocka_unit_test(test_bad_attributes_are_refused),
  };
  return cmocka_run_group_tests(tests, fill, NULL);
}
