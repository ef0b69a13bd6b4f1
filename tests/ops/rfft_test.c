/* SPDX-License-Identifier: Apache-2.0
 * ops/rfft_test.c - Rfft and Irfft against the sums that define them, over one to three axes. */
#include "support/typed.h"

enum { AXES = 3 };
static const struct {
  int axes;
  int64_t n[AXES]; /* the last |axes| of them */
} signals[] = {{1, {1, 1, 2}}, {1, {1, 1, 8}}, {1, {1, 1, 14}}, {2, {1, 3, 4}},
               {2, {1, 5, 2}}, {3, {2, 3, 6}}, {3, {1, 1, 2}}};
enum { BATCH = 3 };

/* Bin |k| of the signal of |n|, whose elements begin at |at|. */
static void bin(const ox_tensor *x, int64_t at, const int64_t *n, const int64_t *k, double out[2]) {
  out[0] = out[1] = 0;
  for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
    const int64_t place[AXES] = {i / n[2] / n[1], i / n[2] % n[1], i % n[2]};
    double angle = 0;
    for (int a = 0; a < AXES; a++)
      angle -= 2 * 3.14159265358979323846 * (double)(place[a] * k[a] % n[a]) / (double)n[a];
    out[0] += typed_at(x, at + i) * cos(angle), out[1] += typed_at(x, at + i) * sin(angle);
  }
}

static void check(size_t s, uint32_t dtype) {
  const int64_t *n = signals[s].n, bins = n[2] / 2 + 1, size = n[0] * n[1] * n[2];
  int axes = signals[s].axes;
  int64_t dims[AXES + 2] = {BATCH};
  for (int a = 0; a < axes; a++) dims[1 + a] = n[AXES - axes + a];
  one_node f, b;
  one_node_init(&f, "com.microsoft", "Rfft", 1, 1), one_node_init(&b, "com.microsoft", "Irfft", 1, 1);
  one_node_int(&f, "signal_ndim", axes), one_node_int(&b, "signal_ndim", axes);
  const ox_tensor *x = typed_input(&f, dtype, 1 + axes, dims, 1);
  CHECK_OK(one_node_run(&f));
  const ox_tensor *y = &f.out[0];
  assert_int_equal(ox_shape_count(&y->shape), BATCH * n[0] * n[1] * bins * 2);
  for (int64_t i = 0; i < BATCH * n[0] * n[1] * bins; i++) {
    const int64_t k[AXES] = {i / bins / n[1] % n[0], i / bins % n[1], i % bins};
    double want[2];
    bin(x, i / (n[0] * n[1] * bins) * size, n, k, want);
    typed_near(y, 2 * i, want[0], 20), typed_near(y, 2 * i + 1, want[1], 20);
  }
  one_node_input(&b, dtype, y->shape.rank, y->shape.dim, y->data);
  CHECK_OK(one_node_run(&b));
  assert_true(ox_shape_equal(&b.out[0].shape, &x->shape));
  for (int64_t i = 0; i < BATCH * size; i++) typed_near(&b.out[0], i, typed_at(x, i), dtype == OX_F16 ? 8 : 4);
  one_node_deinit(&f), one_node_deinit(&b);
}

static void test_both_ways(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16};
  for (size_t s = 0; s < OX_COUNT(signals); s++)
    for (size_t t = 0; t < OX_COUNT(types); t++) check(s, types[t]);
}

static void fails(const char *op, int rank, const int64_t *dims, const char *attr, int64_t v, const char *text) {
  one_node n;
  one_node_init(&n, "com.microsoft", op, 1, 1);
  one_node_int(&n, attr, v);
  if (strcmp(attr, "signal_ndim")) one_node_int(&n, "signal_ndim", 1);
  typed_input(&n, OX_F32, rank, dims, 1);
  CHECK_FAILS_WITH(one_node_run(&n), text);
  one_node_deinit(&n);
}

static void test_wrong_models(void **state) {
  (void)state;
  static const int64_t dims[] = {2, 3, 4};
  fails("Rfft", 3, dims, "onesided", 0, "onesided");
  fails("Rfft", 1, dims, "signal_ndim", 2, "rank 1");
  fails("Rfft", 3, dims, "signal_ndim", 4, "'signal_ndim' is 4");
  fails("Irfft", 3, dims, "signal_ndim", 1, "last dimension is 4");
  fails("Irfft", 3, dims, "normalized", 1, "normalized");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both_ways),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
