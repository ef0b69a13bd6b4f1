/* SPDX-License-Identifier: Apache-2.0
 * session/scalar_input_test.c - an input that is declared a scalar takes any tensor of one element, and no other. */
#include "support/check.h"
#include "support/text_session.h"

static const char model[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float s) => (float y, int64[R] d)"
    "{ y = Neg (s) d = Shape (s) }";

static void test_one_element_serves_a_scalar(void **state) {
  (void)state;
  static const struct {
    size_t rank;
    int64_t dims[3];
    ox_code code;
  } cases[] = {
      {0, {0}, OX_OK},
      {1, {1}, OX_OK},
      {3, {1, 1, 1}, OX_OK},
      {1, {0}, OX_SHAPE_MISMATCH},
      {1, {2}, OX_SHAPE_MISMATCH},
      {2, {1, 3}, OX_SHAPE_MISMATCH},
  };
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, model, NULL, &s));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ox_value *in = ramp_value(env, 3, 1, cases[i].rank, cases[i].dims), *out[2] = {NULL};
    ox_status *st = ox_session_run(s, NULL, (const char *const[]){"s"}, (const ox_value *const *)&in, 1, NULL, out, 2);
    if (ox_status_code(st) != cases[i].code) fail_msg("case %zu: %s", i, ox_status_message(st));
    if (!st) { /* as the model says: a scalar again */
      assert_int_equal(ox_value_get(out[0])->shape.rank, 0);
      assert_true(ox_tensor_element(ox_value_get(out[0]), 0) == -3);
      assert_int_equal(ox_value_get(out[1])->shape.dim[0], 0);
    }
    ox_status_free(st);
    ox_value_release(out[0]), ox_value_release(out[1]), ox_value_release(in);
  }
  ox_session_release(s);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_element_serves_a_scalar),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
