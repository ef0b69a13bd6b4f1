/* SPDX-License-Identifier: Apache-2.0
 * ops/optional_test.c - optionals go through a session like any tensor, full or empty. */
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
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

#define HEAD(version, given)                                                        \
  "<ir_version: 8, opset_import: [\"\" : " version "]> g (bool c, float[2] x" given \
  ") => (optional(float[100,100]) o, bool h) "
#define EMPTY " = Optional <type: type_proto = float[100,100]> () "
#define BRANCHES(one, other)                                          \
  "o = If <then_branch = t () => (optional(float[100,100]) p) { " one \
  " }, "                                                              \
  "else_branch = f () => (optional(float[100,100]) q) { " other " }> (c) "
#define HAS "h = OptionalHasElement (o) }"
#define BIG "s = Slice (x, zero, one) n = Constant <value_ints = [100, 100]> () big = Expand (s, n) "
#define HEAD_CONST "<int64[1] zero = {0}, int64[1] one = {1}> "

/* |o| is an empty optional or 100 x 100 times x[0]; at 100 x 100 nothing is computed before the run. */
static const struct {
  const char *name, *text;
  bool full[2]; /* for c = 0 and 1 */
} optionals[] = {
    {"an empty one", HEAD("15", "") "{ o" EMPTY HAS, {false, false}},
    {"an empty one and a view of it", HEAD("16", "") "{ e" EMPTY "o = Identity (e) " HAS, {false, false}},
    {"a branch with an empty one",
     HEAD("16", "") HEAD_CONST "{ " BIG BRANCHES("p" EMPTY, "q = Optional (big)") HAS,
     {true, false}},
    {"two empty branches", HEAD("28", "") "{ " BRANCHES("p" EMPTY, "q" EMPTY) HAS, {false, false}},
    {"views of an empty one from outside",
     HEAD("16", "") HEAD_CONST "{ " BIG "e" EMPTY BRANCHES("p = Optional (big)", "d = Identity (e) q = Identity (d)")
         HAS,
     {false, true}},
    {"an empty input",
     HEAD("18", ", optional(float[100,100]) e") HEAD_CONST "{ " BIG BRANCHES("p = Identity (e)", "q = Optional (big)")
         HAS,
     {true, false}},
    {"a branch reads what a branch made",
     HEAD("21", "") HEAD_CONST
     "{ " BIG "e = If <then_branch = t1 () => (optional(float[100,100]) p1) { p1" EMPTY "}, else_branch = f1 () => "
     "(optional(float[100,100]) q1) { q1 = Optional (big) }> (c) " BRANCHES("p = Identity (e)", "q = Identity (e)") HAS,
     {true, false}},
};

/* Each session runs with both values of c in turn: a context made for a full optional must not serve an empty one. */
static void test_optionals_may_be_empty(void **state) {
  static const char *const names[] = {"c", "x", "e"};
  ox_env *env;
  ox_value *values[3] = {NULL};
  (void)state;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_value_create(env, OX_BOOL, NULL, 0, &values[0]));
  values[1] = ramp_value(env, 3, 1, 1, (int64_t[]){2});
  CHECK_OK(ox_value_create_copy(env, &(ox_tensor){.kind = OX_NONE_VALUE}, &values[2]));
  for (size_t i = 0; i < OX_COUNT(optionals); i++) {
    ox_session *s;
    size_t n_in = strstr(optionals[i].text, ") e)") ? 3 : 2;
    CHECK_OK(ox_status_note(text_session(env, optionals[i].text, NULL, &s), "%s", optionals[i].name));
    for (int run = 0; run < 4; run++) {
      ox_value *out[2] = {NULL, NULL};
      bool full = optionals[i].full[run % 2];
      *(uint8_t *)ox_value_data(values[0]) = run % 2;
      CHECK_OK(ox_status_note(ox_session_run(s, NULL, names, (const ox_value *const *)values, n_in, NULL, out, 2), "%s",
                              optionals[i].name));
      const ox_tensor *o = ox_value_get(out[0]);
      if (ox_tensor_element(ox_value_get(out[1]), 0) != full || o->kind != (full ? OX_TENSOR : OX_NONE_VALUE))
        fail_msg("%s, c = %d: kind %u", optionals[i].name, run % 2, o->kind);
      for (int k = 0; full && k < 10000; k++) assert_true(ox_tensor_element(o, k) == 3);
      for (int k = 0; k < 2; k++) ox_value_release(out[k]);
    }
    ox_session_release(s);
  }
  for (int k = 0; k < 3; k++) ox_value_release(values[k]);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_optional_tensor_can_be_an_output),
                                     cmocka_unit_test(test_optionals_may_be_empty)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
