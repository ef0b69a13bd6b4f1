/* SPDX-License-Identifier: Apache-2.0
 * exec/bodies_test.c - operators with bodies: growing shapes, no iterations, values passed through and crossed over,
 * captured values, nesting. */
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD25 "<ir_version: 13, opset_import: [\"\" : 25]> "
#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

static const struct {
  const char *name, *text; /* x is float[2] {1, 2} */
  size_t n;                /* elements of the first output */
  double want[16];
} cases[] = {
    {"a carried value that grows, beyond the kept contexts",
     HEAD "g (float[2] x) => (float[N] y) <int64 m = {7}, bool go = {1}> { y = Loop <body = b (int64 i, bool c, "
          "float[K] v) => (bool c2, float[L] w)"
          " { c2 = Identity (c) w = Concat <axis = 0> (v, x) }> (m, go, x) }",
     16,
     {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}},
    {"one that grows beside one that does not",
     HEAD "g (float[2] x) => (float[N] y) <int64 m = {7}, bool go = {1}> { g0, u1 = Loop <body = b (int64 i, bool c, "
          "float[K] v, float[M] u) => (bool c2, float[L] w, float[O] t)"
          " { c2 = Identity (c) w = Concat <axis = 0> (v, x) t = Add (u, x) }> (m, go, x, x) s = ReduceSum (g0) y = Concat "
          "<axis = 0> (u1, s) }",
     3,
     {8, 16, 24}},
    {"one that grows, and later another",
     HEAD "g (float[2] x) => (float[N] y) <int64 m = {9}, bool go = {1}, int64 five = {5}, int64 none = {0}, int64 one = "
          "{1}, int64[1] ax = {0}> { g0, u1 = Loop <body = b (int64 i, bool c, float[K] v, float[M] u) => (bool c2, "
          "float[L] w, float[O] t) { c2 = Identity (c) w = Concat <axis = 0> (v, x) d = Sub (i, five) e = Max (d, none) f = "
          "Add (e, one) k = Unsqueeze (f, ax) n = Abs (u) r = ReduceMin <keepdims = 0> (n) o = Div (r, r) z = Mul (x, o) t = "
          "Tile (z, k) }> (m, go, x, x) s = ReduceSum (g0) y = Concat <axis = 0> (u1, s) }",
     9,
     {1, 2, 1, 2, 1, 2, 1, 2, 30}},
    {"no iteration",
     HEAD "g (float[2] x) => (float[2] y) <int64 m = {0}, bool go = {1}> { y = Loop <body = b (int64 i, bool c, "
          "float[2] v) => (bool c2, float[2] w)"
          " { c2 = Identity (c) w = Add (v, x) }> (m, go, x) }",
     2,
     {1, 2}},
    {"no iteration: an empty scan output",
     HEAD "g (float[2] x) => (float[A,2] y) <int64 m = {0}, bool go = {1}> { q, y = Loop <body = b (int64 i, bool c, "
          "float[2] v) => (bool c2, float[2] w, float[2] s)"
          " { c2 = Identity (c) w = Add (v, x) s = Identity (w) }> (m, go, x) }",
     0,
     {0}},
    {"the condition ends the loop",
     HEAD "g (float[2] x) => (float[2] y) <bool go = {1}, float most = {20}> { y = Loop <body = b (int64 i, bool c, "
          "float[2] v) => (bool c2, float[2] w)"
          " { w = Add (v, v) s = ReduceMax <keepdims = 0> (w) c2 = Less (s, most) }> (, go, x) }",
     2,
     {16, 32}},
    {"carried values that change places",
     HEAD "g (float[2] x) => (float[2] y) <int64 m = {3}, bool go = {1}, float[2] z = {5, 6}> { y, q = Loop <body = b "
          "(int64 i, bool c, float[2] v, float[2] u) => (bool c2, float[2] v2, float[2] u2)"
          " { c2 = Identity (c) v2 = Identity (u) u2 = Identity (v) }> (m, go, x, z) }",
     2,
     {5, 6}},
    {"scan outputs count the iterations",
     HEAD "g (float[2] x) => (float[A,2] y) <int64 m = {3}, bool go = {1}> { q, y = Loop <body = b (int64 i, bool c, "
          "float[2] v) => (bool c2, float[2] w, float[2] s)"
          " { c2 = Identity (c) w = Add (v, x) s = Identity (v) }> (m, go, x) }",
     6,
     {1, 2, 2, 4, 3, 6}},
    {"a branch passes a captured value through",
     HEAD "g (float[2] x) => (float[2] y) <bool no = {0}> { a = Neg (x) b = Abs (a) r = If <then_branch = t () => "
          "(float[2] p) { p = Exp (a) }, else_branch = e () => (float[2] q) { q = Identity (a) }> (no)"
          " y = Add (r, b) }",
     2,
     {0, 0}},
    {"a loop in a branch in a loop",
     HEAD "g (float[2] x) => (float[2] y) <int64 m = {2}, bool go = {1}> { y = Loop <body = b (int64 i, bool c, "
          "float[2] v) => (bool c2, float[2] w) { c2 = Identity (c)"
          " w = If <then_branch = t () => (float[2] p) { p = Loop <body = d (int64 j, bool k, float[2] u) => (bool k2, "
          "float[2] u2) { k2 = Identity (k) u2 = Add (u, x) }> (m, go, v) },"
          " else_branch = e () => (float[2] q) { q = Identity (v) }> (c) }> (m, go, x) }",
     2,
     {5, 10}},
    {"scan sums along the sequence",
     HEAD "g (float[2] x) => (float[3,2] y) <float[3,2] s = {1, 2, 3, 4, 5, 6}> { q, y = Scan <num_scan_inputs = 1, "
          "body = b (float[2] a, float[2] v) => (float[2] a2, float[2] o)"
          " { a2 = Add (a, v) o = Identity (a2) }> (x, s) }",
     6,
     {2, 4, 5, 8, 10, 14}},
    {"scan backwards, along axis 1",
     HEAD "g (float[2] x) => (float[2,3] y) <float[2,3] s = {1, 2, 3, 4, 5, 6}> { q, y = Scan <num_scan_inputs = 1, "
          "scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [1],"
          " scan_output_directions = [1], body = b (float[2] a, float[2] v) => (float[2] a2, float[2] o) { a2 = Add "
          "(a, v) o = Identity (a2) }> (x, s) }",
     6,
     {7, 6, 4, 17, 13, 8}},
    {"scan outputs of four bits begin in the middle of bytes",
     HEAD25
     "g (float[2] x) => (float[A,3] y) <int64 m = {3}, bool go = {1}, float[3] z = {-3, 0, 3}, float one = {1}> {"
     " q, s = Loop <body = b (int64 i, bool c, float[3] v) => (bool c2, float[3] w, int4[3] p)"
     " { c2 = Identity (c) p = Cast <to = 22> (v) w = Add (v, one) }> (m, go, z) y = Cast <to = 1> (s) }",
     9,
     {-3, 0, 3, -2, 1, 4, -1, 2, 5}},
    {"a carried value and scan outputs of two bits",
     HEAD25
     "g (float[2] x) => (float[A] y) <int64 m = {7}, bool go = {1}, float one = {1}, float four = {4}, float zero = "
     "{0}> { n = Cast <to = 25> (zero) q, s = Loop <body = b (int64 i, bool c, uint2 v) => (bool c2, uint2 w, uint2 "
     "p) { c2 = Identity (c) p = Identity (v) f = Cast <to = 1> (v) h = Add (f, one) j = Mod <fmod = 1> (h, four)"
     " w = Cast <to = 25> (j) }> (m, go, n) y = Cast <to = 1> (s) }",
     7,
     {0, 1, 2, 3, 0, 1, 2}},
    {"columns of four bits, backwards",
     HEAD25
     "g (float[2] x) => (float[5,3] y) <float[3,5] s = {1, 2, 3, 4, 5, -1, -2, -3, -4, -5, 0, 7, -8, 6, -7}> {"
     " s4 = Cast <to = 22> (s) y4 = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],"
     " body = b (int4[3] v) => (int4[3] o) { o = Identity (v) }> (s4) y = Cast <to = 1> (y4) }",
     15,
     {5, -5, -7, 4, -4, 6, 3, -3, -8, 2, -2, 7, 1, -1, 0}},
    {"rows of small floats become columns, backwards",
     HEAD25
     "g (float[2] x) => (float[3,5] y) <float[5,3] s = {0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6, 0}> "
     "{ s4 = Cast <to = 23> (s) y4 = Scan <num_scan_inputs = 1, scan_output_axes = [1],"
     " scan_output_directions = [1], body = b (float4e2m1[3] v) => (float4e2m1[3] o) { o = Identity (v) }> (s4)"
     " y = Cast <to = 1> (y4) }",
     15,
     {-4, -1.5, 6, 2, 0.5, -6, -2, -0.5, 3, 1, 0, -3, -1, 4, 1.5}},
};

static void check_case(size_t i, uint32_t level) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_session_opts so;
  ox_env *env;
  ox_session *s;
  const char *name = "x";
  const int64_t dims[] = {2};
  ox_session_opts_init(&so);
  so.optimize = level;
  CHECK_OK(ox_env_create(&eo, &env));
  ox_status *st = text_session(env, cases[i].text, &so, &s);
  if (st) fail_msg("%s: %s", cases[i].name, ox_status_message(st));
  ox_value *x = ramp_value(env, 1, 1, 1, dims);
  long before = 0;
  for (int turn = 0; turn < 3; turn++) {
    ox_value *out = NULL;
    if (turn == 2) before = atomic_load(&count.calls);
    st = ox_session_run(s, NULL, &name, (const ox_value *const *)&x, ox_session_input_count(s), NULL, &out, 1);
    if (st) fail_msg("%s: %s", cases[i].name, ox_status_message(st));
    if (ox_tensor_count(ox_value_get(out)) != (int64_t)cases[i].n)
      fail_msg("%s: %d elements", cases[i].name, (int)ox_tensor_count(ox_value_get(out)));
    for (size_t k = 0; k < cases[i].n; k++)
      if (ox_tensor_element(ox_value_get(out), (int64_t)k) != cases[i].want[k])
        fail_msg("%s, element %zu: %g, wanted %g", cases[i].name, k, ox_tensor_element(ox_value_get(out), (int64_t)k),
                 cases[i].want[k]);
    ox_value_release(out);
  }
  if (atomic_load(&count.calls) != before)
    fail_msg("%s: %ld allocations in a repeated run", cases[i].name, atomic_load(&count.calls) - before);
  ox_value_release(x);
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
}

static void test_results_and_repeated_runs(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (uint32_t level = 0; level <= 3; level += 3) check_case(i, level);
}

/* Without a trip count that means anything, and with a condition that no iteration changes. A loop that may end is run,
 * until its body fails. */
static void test_a_loop_that_cannot_end_is_refused(void **state) {
  (void)state;
#define LOOP(init, inputs, body)                                                                                   \
  HEAD "g (float[2] x) => (float[N] y) <bool go = {1}, bool no = {0}, int64 far = {9223372036854775807}," init     \
       " int64[1] three = {3}> { y = Loop <body = b (int64 i, bool c, float[K] v) => (bool d, float[L] w) { " body \
       " w = Reshape (v, three) }> (" inputs ", x) }"
  static const struct {
    const char *text;
    bool endless;
  } rows[] = {
      {LOOP("", "\"\", \"\"", "d = Identity (c)"), true},
      {LOOP("", "far, go", "e = Identity (c) d = Identity (e)"), true},
      {LOOP("", "\"\", go", "d = Identity (go)"), true},
      {LOOP("", "\"\", go", "d = Identity (no)"), false},
      {LOOP("", "\"\", go", "d = Not (c)"), false},
      {LOOP("int64 many = {9223372036854775806},", "many, go", "d = Identity (c)"), false},
  };
#undef LOOP
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (uint32_t level = 0; level <= 3; level += 3) {
      ox_env *env;
      ox_session *s;
      ox_session_opts so;
      const char *name = "x";
      const int64_t dims[] = {2};
      ox_value *out = NULL;
      ox_session_opts_init(&so);
      so.optimize = level;
      CHECK_OK(ox_env_create(NULL, &env));
      CHECK_OK(text_session(env, rows[i].text, &so, &s));
      ox_value *x = ramp_value(env, 1, 1, 1, dims);
      ox_status *st = ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, &out, 1);
      assert_non_null(st);
      const char *want = rows[i].endless ? "never end" : "Reshape";
      if (!strstr(ox_status_message(st), want)) fail_msg("row %zu: \"%s\"", i, ox_status_message(st));
      ox_status_free(st);
      ox_value_release(x);
      ox_session_release(s);
      ox_env_release(env);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_and_repeated_runs),
                                     cmocka_unit_test(test_a_loop_that_cannot_end_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
