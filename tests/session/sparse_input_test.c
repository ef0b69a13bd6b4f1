/* SPDX-License-Identifier: Apache-2.0
 * session/sparse_input_test.c - sparse tensors as inputs of a model: each run may bring one of another shape. */
#include <string.h>

#include "support/check.h"
#include "support/text_session.h"

static const char any_size[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>"
    "g (sparse_tensor(float[M,K]) a, float[K,N] b) => (float[M,N] y)"
    "{ t = com.microsoft.SparseToDenseMatMul (a, b) y = Neg (t) }";
static const char one_size[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>"
    "g (sparse_tensor(float[2,2]) a, float[K,N] b) => (float[2,N] y)"
    "{ y = com.microsoft.SparseToDenseMatMul (a, b) }";

/* Ones on the diagonal of [rows, columns]. */
typedef struct diagonal {
  ox_tensor whole, part[2];
  double ones[8];
  int64_t places[8];
} diagonal;

static ox_value *make_diagonal(ox_env *env, diagonal *d, uint32_t dtype, int64_t rows, int64_t columns) {
  static const float one = 1;
  int64_t n = rows < columns ? rows : columns;
  for (int64_t i = 0; i < n; i++) ((float *)(void *)d->ones)[i] = one, d->places[i] = i * columns + i;
  d->part[0] = (ox_tensor){OX_TENSOR, dtype, d->ones, (size_t)n * (dtype == OX_F64 ? 8 : 4), {1, {n}}};
  d->part[1] = (ox_tensor){OX_TENSOR, OX_I64, d->places, (size_t)n * 8, {1, {n}}};
  d->whole = (ox_tensor){OX_SPARSE, dtype, d->part, sizeof d->part, {2, {rows, columns}}};
  ox_value *v;
  CHECK_OK(ox_value_view(env, &d->whole, 0, NULL, &v));
  return v;
}

static ox_status *run(ox_session *s, ox_value *a, ox_value *b, ox_value **out) {
  const ox_value *in[] = {a, b};
  *out = NULL;
  return ox_session_run(s, NULL, (const char *const[]){"a", "b"}, in, 2, NULL, out, 1);
}

static void test_each_run_has_its_shape(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{2, 3, 1}, {3, 3, 2}, {2, 3, 1}, {5, 4, 3}, {0, 2, 2}, {1, 1, 0}, {2, 3, 1}};
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, any_size, NULL, &s));
  ox_value_info info;
  CHECK_OK(ox_session_input(s, 0, &info));
  assert_int_equal(info.kind, OX_SPARSE);
  assert_int_equal(info.rank, 2);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int64_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
    diagonal d;
    ox_value *a = make_diagonal(env, &d, OX_F32, m, k), *b = ramp_value(env, 1, 1, 2, (int64_t[]){k, n}), *y;
    CHECK_OK(run(s, a, b, &y));
    assert_int_equal(ox_value_get(y)->shape.dim[0], m);
    assert_int_equal(ox_value_get(y)->shape.dim[1], n);
    for (int64_t e = 0; e < m * n; e++)
      assert_true(ox_tensor_element(ox_value_get(y), e) == (e / n < k ? -1 - (double)e : 0));
    ox_value_release(a), ox_value_release(b), ox_value_release(y);
  }
  ox_session_release(s);
  ox_env_release(env);
}

static void test_what_does_not_fit(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, one_size, NULL, &s));
  diagonal d;
  ox_value *b = ramp_value(env, 1, 1, 2, (int64_t[]){2, 2}), *y, *a = make_diagonal(env, &d, OX_F32, 3, 2);
  CHECK_FAILS(run(s, a, b, &y), OX_SHAPE_MISMATCH, "input 'a': wanted shape [2,2], got [3,2]");
  ox_value_release(a);
  a = make_diagonal(env, &d, OX_F64, 2, 2);
  CHECK_FAILS(run(s, a, b, &y), OX_SHAPE_MISMATCH, "input 'a': wanted float32, got float64");
  ox_value_release(a);
  CHECK_FAILS(run(s, b, b, &y), OX_SHAPE_MISMATCH, "input 'a': wanted a value of kind sparse tensor, got tensor");
  a = make_diagonal(env, &d, OX_F32, 2, 2);
  CHECK_FAILS(run(s, a, a, &y), OX_SHAPE_MISMATCH, "input 'b': wanted a value of kind tensor, got sparse tensor");
  d.places[1] = 4;
  CHECK_FAILS(run(s, a, b, &y), OX_INVALID_ARGUMENT, "index 1 of A is outside of [2,2]");
  d.places[1] = 3;
  CHECK_OK(run(s, a, b, &y));
  assert_true(ox_tensor_element(ox_value_get(y), 3) == 4);
  ox_value_release(a), ox_value_release(b), ox_value_release(y);
  ox_session_release(s);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_run_has_its_shape),
      cmocka_unit_test(test_what_does_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
