/* SPDX-License-Identifier: Apache-2.0
 * ops/optional_test.c - optionals that hold a tensor go through a session like any tensor. */
#include "support/check.h"
#include "support/text_session.h"

static void test_an_optional_tensor_can_be_an_output(void **state) {
  static const char *const text =
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (optional(float[2]) o, float[2] y) "
      "{ a = Neg (x) o = Optional (a) e = OptionalGetElement (o) y = Add (e, x) }";
  const int64_t dims[] = {2};
  const char *name = "x";
  ox_env *env;
  ox_session *s;
  (void)state;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, text, NULL, &s));
  ox_value *x = ramp_value(env, 3, 1, 1, dims);
  for (int run = 0; run < 3; run++) {
    ox_value *out[2] = {NULL, NULL};
    CHECK_OK(ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, out, 2));
    for (int i = 0; i < 2; i++) {
      assert_true(ox_tensor_element(ox_value_get(out[0]), i) == -3 - i);
      assert_true(ox_tensor_element(ox_value_get(out[1]), i) == 0);
      ox_value_release(out[i]);
    }
  }
  ox_value_release(x);
  ox_session_release(s);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_optional_tensor_can_be_an_output)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
