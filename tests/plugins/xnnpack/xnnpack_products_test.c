/* SPDX-License-Identifier: Apache-2.0
 * plugins/xnnpack/xnnpack_products_test.c - products of two inputs: beside sums in double, the same bits for any number
 * of threads and for each run, and what happens when memory ends. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/ep_models.h"
#include "support/text_session.h"

typedef struct {
  const char *what;
  int64_t outer_a, inner_a, outer_b, inner_b; /* the batches; 1 is repeated */
  int64_t m, k, n;
} row;

static const row rows[] = {
    {"one number", 1, 1, 1, 1, 1, 1, 1},
    {"one row", 2, 3, 2, 3, 1, 64, 100},
    {"a strip", 1, 1, 1, 1, 5, 9, 32},
    {"a strip and a column", 1, 2, 1, 2, 5, 9, 33},
    {"the last few rows", 1, 3, 1, 3, 12, 17, 31},
    {"the first many rows", 1, 3, 1, 3, 13, 17, 31},
    {"an inner dimension of 1", 1, 4, 1, 4, 20, 1, 16},
    {"one column", 1, 4, 1, 4, 20, 37, 1},
    {"a panel", 2, 2, 2, 2, 16, 16, 16},
    {"a panel and a column", 2, 2, 2, 2, 29, 15, 17},
    {"fewer products than threads", 1, 1, 1, 1, 200, 70, 90},
    {"as many products as two threads", 1, 2, 1, 2, 64, 128, 50},
    {"more products than threads", 3, 4, 3, 4, 48, 33, 65},
    {"a right factor of all", 3, 4, 1, 1, 7, 21, 40},
    {"a left factor of all", 1, 1, 3, 2, 40, 21, 40},
    {"outer batches repeated", 1, 5, 3, 5, 14, 8, 24},
    {"inner batches repeated", 3, 5, 3, 1, 14, 8, 24},
    {"both repeated", 3, 1, 1, 5, 14, 8, 24},
    {"an odd depth, columns for two threads", 1, 1, 1, 1, 13, 17, 400},
    {"more than a core's cache", 1, 2, 1, 2, 40, 600, 530},
};

static float number(size_t i, int which) {
  return (float)((int)((i * 7919 + (size_t)which * 104729) % 2003) - 1001) / 997;
}

static ox_value *factor(ox_env *env, int which, int64_t outer, int64_t inner, int64_t rows_of, int64_t columns) {
  const int64_t dims[] = {outer, inner, rows_of, columns};
  ox_value *v;
  CHECK_OK(ox_value_create(env, OX_F32, dims, 4, &v));
  size_t n = (size_t)(outer * inner * rows_of * columns);
  for (size_t i = 0; i < n; i++) ((float *)ox_value_data(v))[i] = number(i, which);
  return v;
}

static ox_status *open_env(counting_alloc *count, ox_env **out) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(count)};
  ox_status *st = ox_env_create(&eo, out);
  return st ? st : ox_env_load_plugin(*out, XNNPACK_PLUGIN);
}

static ox_status *open_session(ox_env *env, uint32_t threads, ox_session **out) {
  const ox_provider_spec spec = {"xnnpack", {0}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1, so.n_threads = threads;
  return text_session(env,
                      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[A,B,M,K] a, float[C,D,K,N] b) => "
                      "(float[E,F,M,N] y) { y = MatMul (a, b) }",
                      &so, out);
}

static ox_status *multiply(ox_session *s, const ox_value *a, const ox_value *b, ox_value **out) {
  const char *const names[] = {"a", "b"};
  const ox_value *const in[] = {a, b};
  *out = NULL;
  return ox_session_run(s, NULL, names, in, 2, NULL, out, 1);
}

/* Element (i, j) of product (outer, inner): the sum and the sum of magnitudes, of which rounding errors are a part. */
static double sum_of(const row *r, const float *a, const float *b, int64_t outer, int64_t inner, int64_t i, int64_t j,
                     double *out_magnitude) {
  int64_t at_a = (r->outer_a > 1 ? outer : 0) * r->inner_a + (r->inner_a > 1 ? inner : 0);
  int64_t at_b = (r->outer_b > 1 ? outer : 0) * r->inner_b + (r->inner_b > 1 ? inner : 0);
  double sum = 0;
  *out_magnitude = 0;
  for (int64_t l = 0; l < r->k; l++) {
    double x = (double)a[(at_a * r->m + i) * r->k + l] * (double)b[(at_b * r->k + l) * r->n + j];
    sum += x, *out_magnitude += fabs(x);
  }
  return sum;
}

static void compare(const row *r, const ox_value *a, const ox_value *b, const ox_value *y) {
  const float *pa = ox_value_get(a)->data, *pb = ox_value_get(b)->data, *py = ox_value_get(y)->data;
  int64_t outer = r->outer_a > r->outer_b ? r->outer_a : r->outer_b,
          inner = r->inner_a > r->inner_b ? r->inner_a : r->inner_b;
  size_t at = 0;
  assert_int_equal(ox_value_get(y)->bytes, outer * inner * r->m * r->n * 4);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t q = 0; q < inner; q++)
      for (int64_t i = 0; i < r->m; i++)
        for (int64_t j = 0; j < r->n; j++, at++) {
          double magnitude, want = sum_of(r, pa, pb, o, q, i, j, &magnitude);
          if (!(fabs((double)py[at] - want) <= 1e-5 * magnitude))
            fail_msg("%s: element %zu is %g, not %g", r->what, at, (double)py[at], want);
        }
}

/* The same session computes all rows, so its memory is planned for one shape after the other, from the last row on. */
static void test_products(void **state) {
  (void)state;
  static float first[OX_COUNT(rows)][1 << 16];
  for (uint32_t threads = 1; threads <= 3; threads++) {
    counting_alloc count = {.fail_at = -1};
    ox_env *env;
    ox_session *s;
    ox_placement p;
    CHECK_OK(open_env(&count, &env));
    CHECK_OK(open_session(env, threads, &s));
    assert_true(ox_session_placement(s, 0, &p));
    assert_string_equal(p.owner, "xnnpack");
    for (size_t i = OX_COUNT(rows); i-- > 0;) {
      const row *r = &rows[i];
      ox_value *a = factor(env, 0, r->outer_a, r->inner_a, r->m, r->k);
      ox_value *b = factor(env, 1, r->outer_b, r->inner_b, r->k, r->n);
      for (int run = 0; run < 3; run++) {
        ox_value *y;
        CHECK_OK(multiply(s, a, b, &y));
        size_t bytes = ox_value_get(y)->bytes;
        assert_true(bytes <= sizeof first[i]);
        if (threads == 1 && !run) {
          compare(r, a, b, y);
          memcpy(first[i], ox_value_get(y)->data, bytes);
        }
        if (memcmp(first[i], ox_value_get(y)->data, bytes) != 0)
          fail_msg("%s: other bits on %u threads in run %d", r->what, threads, run);
        ox_value_release(y);
      }
      ox_value_release(a);
      ox_value_release(b);
    }
    ox_session_release(s);
    ox_env_release(env);
    assert_int_equal(atomic_load(&count.live), 0);
  }
}

/* True: the allocation |fail_at| was not reached. */
static bool load_and_run(const row *r, long fail_at) {
  counting_alloc count = {.fail_at = fail_at};
  ox_env *env = NULL;
  ox_session *s = NULL;
  ox_value *a = factor(NULL, 0, r->outer_a, r->inner_a, r->m, r->k), *y = NULL;
  ox_value *b = factor(NULL, 1, r->outer_b, r->inner_b, r->k, r->n);
  ox_status *st = open_env(&count, &env);
  if (!st) st = open_session(env, 2, &s);
  if (!st) st = multiply(s, a, b, &y);
  bool done = !st;
  if (st) assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
  ox_status_free(st);
  ox_value_release(y);
  ox_value_release(b);
  ox_value_release(a);
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
  return done;
}

static void test_each_allocation_may_fail(void **state) {
  (void)state;
  const row r = {"", 2, 2, 2, 2, 20, 16, 24};
  long n = 0;
  while (!load_and_run(&r, n)) n++;
  assert_true(n > 10);
}

static void test_what_does_not_fit_is_an_error(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  ox_env *env;
  ox_session *s;
  CHECK_OK(open_env(&count, &env));
  CHECK_OK(open_session(env, 1, &s));
  const row wrong[] = {{"inner", 1, 1, 1, 1, 20, 16, 24}, {"batches", 2, 1, 3, 1, 20, 16, 24}};
  for (size_t i = 0; i < OX_COUNT(wrong); i++) {
    const row *r = &wrong[i];
    ox_value *a = factor(env, 0, r->outer_a, r->inner_a, r->m, r->k), *y;
    ox_value *b = factor(env, 1, r->outer_b, r->inner_b, r->k - !i, r->n);
    CHECK_FAILS(multiply(s, a, b, &y), OX_SHAPE_MISMATCH, "MatMul");
    ox_value_release(a);
    ox_value_release(b);
  }
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_each_allocation_may_fail),
                                     cmocka_unit_test(test_what_does_not_fit_is_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
