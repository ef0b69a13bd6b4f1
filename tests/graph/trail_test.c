/* SPDX-License-Identifier: Apache-2.0
 * graph/trail_test.c - errors about shapes tell where these come from: while a model is loaded, while a run is prepared
 * and in the middle of one. */
#include <string.h>

#include "support/check.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

static const struct {
  const char *what, *model, *part;
} at_load[] = {
    {"a chain with names, a constant that is not mentioned",
     HEAD "g (float[2, 3] x) => (float[3, 2] y) <float[1, 2] w = {1, 2}, int64[2] s = {3, 2}>"
          "{ [r] a = Relu (x) [rs] b = Reshape (a, s) y = MatMul (b, w) }",
     "('b' [3,2] is Reshape 'rs' of Relu 'r' of 'x' [2,3])"},
    {"two inputs of the graph", HEAD "g (float[2] x, float[3] z) => (float[2] y) { y = Add (x, z) }",
     "('x' [2] is an input; 'z' [3] is an input)"},
    {"nodes without names, more of them than are told",
     HEAD "g (float[2] x, float[3] z) => (float[2] y) { a = Neg (x) b = Relu (a) c = Sin (b) d = Cos (c) e = Neg (d)"
          "f = Relu (e) g = Sin (f) h = Cos (g) i = Neg (h) y = Add (i, z) }",
     "'i' [2] is Neg of Cos of Sin of Relu of Neg of Cos of Sin of Relu of others; 'z'"},
    {"no input has anything to do with it",
     HEAD "g (float[2] x) => (float[2] y) { a = RandomNormal <shape = [3]> () y = Add (x, a) }",
     "('x' [2] is an input; 'a' [3] is RandomNormal)"},
};

static void test_while_loading(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(at_load); i++) {
    ox_session *s = NULL;
    ox_status *st = text_session(env, at_load[i].model, NULL, &s);
    const char *text = ox_status_message(st);
    assert_null(s);
    if (ox_status_code(st) != OX_SHAPE_MISMATCH || !strstr(text, at_load[i].part))
      fail_msg("%s: got \"%s\"", at_load[i].what, text);
    ox_status_free(st);
  }
  ox_env_release(env);
}

static void fail_run(const char *model, const int64_t x[2], const int64_t z[2], const char *part) {
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, model, NULL, &s));
  ox_value *in[2] = {ramp_value(env, 1, 1, 2, x), ramp_value(env, 1, 1, 2, z)}, *out = NULL;
  ox_status *st =
      ox_session_run(s, NULL, (const char *const[]){"x", "z"}, (const ox_value *const *)in, 2, NULL, &out, 1);
  if (ox_status_code(st) != OX_SHAPE_MISMATCH || !strstr(ox_status_message(st), part))
    fail_msg("wanted \"%s\", got \"%s\"", part, ox_status_message(st));
  ox_status_free(st);
  ox_value_release(in[0]), ox_value_release(in[1]);
  ox_session_release(s);
  ox_env_release(env);
}

static void test_while_a_run_is_prepared(void **state) {
  (void)state;
  fail_run(
      HEAD
      "g (float[N, K] x, float[P, Q] z) => (float[R, S] y)"
      "{ [t] a = Transpose (x) [s] b = Sigmoid (a) [add] y = Add (b, z) }",
      (const int64_t[]){15, 3}, (const int64_t[]){64, 15},
      "node 'add' (Add): shapes [3,15] and [64,15] do not broadcast ('b' [3,15] is Sigmoid 's' of Transpose 't' of "
      "'x' [15,3]; 'z' [64,15] is an input)");
}

/* How many elements are not zero is known only then. */
static void test_in_the_middle_of_a_run(void **state) {
  (void)state;
  fail_run(
      HEAD
      "g (float[N, K] x, float[P, Q] z) => (float[R, S] y)"
      "{ [nz] n = NonZero (x) [c] f = Cast <to = 1> (n) [mul] y = Mul (f, z) }",
      (const int64_t[]){2, 3}, (const int64_t[]){2, 5},
      "node 'mul' (Mul): shapes [2,6] and [2,5] do not broadcast ('f' [2,6] is Cast 'c' of NonZero 'nz' of 'x' [2,3]; "
      "'z' [2,5] is an input)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_while_loading),
      cmocka_unit_test(test_while_a_run_is_prepared),
      cmocka_unit_test(test_in_the_middle_of_a_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
