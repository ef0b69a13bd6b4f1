/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_integer_test.c - MulInteger, ReduceSumInteger and QLinearReduceMean against plain loops. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { MOST = 4000 };

static int value(uint32_t dtype, uint8_t v) { return dtype == OX_I8 ? (int8_t)v : v; }

static void fill(uint8_t *x, int64_t n, int step) {
  for (int64_t i = 0; i < n; i++) x[i] = (uint8_t)(i * step + 3 + i / 256);
}

/* ---- MulInteger ---- */

static void check_mul(uint32_t dtype, int zeros) {
  static uint8_t a[5 * 1 * 130], b[3 * 1];
  const uint8_t za = 200, zb = 77;
  fill(a, OX_COUNT(a), 37), fill(b, OX_COUNT(b), 91);
  one_node n;
  one_node_init(&n, "com.microsoft", "MulInteger", 1, 1);
  one_node_input(&n, dtype, 3, (int64_t[]){5, 1, 130}, a);
  one_node_input(&n, dtype, zeros & 1 ? 0 : -1, NULL, zeros & 1 ? &za : NULL);
  one_node_input(&n, dtype, 2, (int64_t[]){3, 1}, b);
  if (zeros & 2) one_node_input(&n, dtype, 0, NULL, &zb);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].dtype, OX_I32);
  for (int64_t i = 0; i < 5 * 3 * 130; i++) {
    int x = value(dtype, a[i / 390 * 130 + i % 130]) - (zeros & 1 ? value(dtype, za) : 0);
    int y = value(dtype, b[i / 130 % 3]) - (zeros & 2 ? value(dtype, zb) : 0);
    assert_int_equal(((const int32_t *)n.out[0].data)[i], x * y);
  }
  one_node_deinit(&n);
}

static void test_products(void **state) {
  (void)state;
  for (int zeros = 0; zeros < 4; zeros++) check_mul(OX_U8, zeros), check_mul(OX_I8, zeros);
}

/* ---- folds ---- */

static const struct {
  int64_t dim[3];
  size_t n_axes;
  int64_t axes[3];
} folds[] = {{{2, 3, 4}, 1, {1}},      {{2, 3, 4}, 2, {0, -1}}, {{2, 3, 4}, 0, {0}}, {{2, 3, 4}, 3, {0, 1, 2}},
             {{30, 2, 60}, 2, {0, 2}}, {{600, 1, 5}, 1, {-1}},  {{2, 0, 3}, 1, {1}}, {{2, 0, 3}, 1, {0}}};

static bool is_folded(size_t f, int d) {
  bool yes = folds[f].n_axes == 0;
  for (size_t i = 0; i < folds[f].n_axes; i++) yes = yes || (folds[f].axes[i] + 3) % 3 == d;
  return yes;
}

/* Sums by output; *length: of how many each. */
static int64_t sums(size_t f, uint32_t dtype, const uint8_t *x, int64_t *sum, int64_t *length) {
  const int64_t *n = folds[f].dim;
  int64_t outputs = 1;
  *length = 1;
  for (int d = 0; d < 3; d++) *(is_folded(f, d) ? length : &outputs) *= n[d];
  for (int64_t i = 0; i < outputs; i++) sum[i] = 0;
  for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
    const int64_t at[3] = {i / n[2] / n[1], i / n[2] % n[1], i % n[2]};
    int64_t to = 0;
    for (int d = 0; d < 3; d++)
      if (!is_folded(f, d)) to = to * n[d] + at[d];
    sum[to] += value(dtype, x[i]);
  }
  return outputs;
}

static void begin(one_node *n, const char *op, size_t f, bool keep) {
  one_node_init(n, "com.microsoft", op, 1, 1);
  one_node_ints(n, "axes", folds[f].n_axes, folds[f].axes), one_node_int(n, "keepdims", keep);
}

static void check_shape(const one_node *n, size_t f, bool keep, int64_t outputs) {
  int rank = 0;
  for (int d = 0; d < 3; d++) rank += keep || !is_folded(f, d);
  assert_int_equal(n->out[0].shape.rank, rank);
  assert_int_equal(ox_shape_count(&n->out[0].shape), outputs);
}

static void check_folds(size_t f, uint32_t dtype, bool keep) {
  static uint8_t x[MOST];
  static int64_t sum[MOST];
  const float scale = 0.05f, y_scale = 0.03f;
  const uint8_t zero = 100, y_zero = 7;
  int64_t length;
  fill(x, MOST, 37);
  int64_t outputs = sums(f, dtype, x, sum, &length);
  one_node n;
  begin(&n, "ReduceSumInteger", f, keep);
  one_node_input(&n, dtype, 3, folds[f].dim, x);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].dtype, dtype == OX_U8 ? OX_U32 : OX_I32);
  check_shape(&n, f, keep, outputs);
  for (int64_t i = 0; i < outputs; i++) assert_int_equal(((const int32_t *)n.out[0].data)[i], sum[i]);
  one_node_deinit(&n);
  begin(&n, "QLinearReduceMean", f, keep);
  one_node_input(&n, dtype, 3, folds[f].dim, x), one_node_input(&n, OX_F32, 0, NULL, &scale);
  one_node_input(&n, dtype, 0, NULL, &zero), one_node_input(&n, OX_F32, 0, NULL, &y_scale);
  one_node_input(&n, dtype, 0, NULL, &y_zero);
  CHECK_OK(one_node_run(&n));
  check_shape(&n, f, keep, outputs);
  for (int64_t i = 0; i < outputs && length; i++) {
    double mean = ((double)sum[i] / (double)length - value(dtype, zero)) * (double)scale / (double)y_scale;
    double low = dtype == OX_I8 ? -128 : 0, want = fmin(fmax(nearbyint(mean) + y_zero, low), low + 255);
    bool close = fabs(mean - floor(mean) - 0.5) < 1e-4; /* either neighbour will do */
    int got = value(dtype, ((const uint8_t *)n.out[0].data)[i]);
    if (fabs(got - want) > close) fail_msg("fold %zu: [%d] is %d, wanted %g", f, (int)i, got, want);
  }
  one_node_deinit(&n);
}

static void test_folds(void **state) {
  (void)state;
  for (size_t f = 0; f < OX_COUNT(folds); f++)
    for (int keep = 0; keep < 2; keep++) check_folds(f, OX_U8, keep), check_folds(f, OX_I8, keep);
}

static void test_wrong_axis(void **state) {
  (void)state;
  static const uint8_t x[6] = {0};
  one_node n;
  one_node_init(&n, "com.microsoft", "ReduceSumInteger", 1, 1);
  one_node_ints(&n, "axes", 1, (int64_t[]){2}), one_node_int(&n, "keepdims", 1);
  one_node_input(&n, OX_U8, 2, (int64_t[]){2, 3}, x);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "axis 2");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_folds),
      cmocka_unit_test(test_wrong_axis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
