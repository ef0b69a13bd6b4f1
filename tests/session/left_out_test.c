/* SPDX-License-Identifier: Apache-2.0
 * session/left_out_test.c - inputs of an optional type may be left out of a run; others may not. */
#include <string.h>

#include "onyx/onyx.h"
#include "support/check.h"
#include "support/text_session.h"

static const char model[] =
    "<ir_version: 8, opset_import: [\"\" : 18]> g (float[N] x, optional(float[N]) o) => (bool b, float[N] y)"
    "{ b = OptionalHasElement (o) y = Relu (x) }";

static void test_an_optional_input_may_be_left_out(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, model, NULL, &s));
  ox_value *x = ramp_value(env, 1, 1, 1, (const int64_t[]){3}), *out[2];
  static const char *const names[] = {"x", "o"};
  const ox_value *const given[] = {x, x};
  for (size_t round = 0; round < 2; round++) /* contexts of both kinds are kept apart */
    for (size_t n = 1; n <= 2; n++) {
      out[0] = out[1] = NULL;
      CHECK_OK(ox_session_run(s, NULL, names, given, n, NULL, out, 2));
      assert_int_equal(*(const unsigned char *)ox_value_data(out[0]), n == 2);
      assert_true(((const float *)ox_value_data(out[1]))[2] == 3);
      ox_value_release(out[0]), ox_value_release(out[1]);
    }
  out[0] = out[1] = NULL;
  CHECK_FAILS(ox_session_run(s, NULL, names + 1, given, 1, NULL, out, 2), OX_INVALID_ARGUMENT, "input 'x' is missing");
  ox_value_release(x);
  ox_session_release(s);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_optional_input_may_be_left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
