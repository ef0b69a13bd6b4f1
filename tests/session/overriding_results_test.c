/* SPDX-License-Identifier: Apache-2.0
 * session/overriding_results_test.c - inputs with a default: constants until a run names one, and again when none
 * does. */
#include "session/session.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* ---- results: x is float[4] {1, 2, 3, 4}; what overrides is float or, for "s", int64 ---- */

enum { MOST = 9 };

typedef struct {
  const char *name; /* NULL: the default */
  size_t n;
  double v[4];
} given;

static const struct {
  const char *name, *text;
  given w, s;
  size_t n;
  double plain[MOST]; /* without overriding */
  size_t n_over;
  double over[MOST];
} cases[] = {
    {"a sum",
     HEAD "g (float[4] x, float[4] w = {1, 1, 1, 1}) => (float[4] y) { y = Add (x, w) }",
     {"w", 4, {10, 20, 30, 40}},
     {0},
     4,
     {2, 3, 4, 5},
     4,
     {11, 22, 33, 44}},
    {"a symbolic dimension",
     HEAD "g (float[4] x, float[K] w) => (float[M] y) <float[1] w = {7}> { y = Concat <axis = 0> (x, w) }",
     {"w", 3, {5, 6, 7}},
     {0},
     5,
     {1, 2, 3, 4, 7},
     7,
     {1, 2, 3, 4, 5, 6, 7}},
    {"nothing",
     HEAD "g (float[4] x, float[K] w) => (float[M] y) <float[1] w = {7}> { y = Concat <axis = 0> (x, w) }",
     {"w", 0, {0}},
     {0},
     5,
     {1, 2, 3, 4, 7},
     4,
     {1, 2, 3, 4}},
    {"one of two",
     HEAD "g (float[4] x, float[1] w = {2}, float[1] v = {3}) => (float[4] y) { a = Mul (x, w) y = Add (a, v) }",
     {"w", 1, {10}},
     {0},
     4,
     {5, 7, 9, 11},
     4,
     {13, 23, 33, 43}},
    {"before the input",
     HEAD "g (float[1] w = {2}, float[4] x) => (float[4] y) { y = Mul (x, w) }",
     {"w", 1, {10}},
     {0},
     4,
     {2, 4, 6, 8},
     4,
     {10, 20, 30, 40}},
    {"a shape",
     HEAD "g (float[4] x, int64[R] s) => (float y) <int64[1] s = {4}> { o = Expand (x, s) y = ReduceSum <keepdims = 0> "
          "(o) }",
     {0},
     {"s", 2, {2, 4}},
     1,
     {10},
     1,
     {20}},
    {"axes of a reduction",
     HEAD "g (float[4] x, int64[1] s = {0}) => (float[A] y) <int64[2] t = {2, 2}>"
          "{ r = Reshape (x, t) y = ReduceSum <keepdims = 0> (r, s) }",
     {0},
     {"s", 1, {1}},
     2,
     {4, 6},
     2,
     {3, 7}},
    {"in a branch",
     HEAD "g (float[4] x, float[1] w = {2}) => (float[4] y) <bool yes = {1}>"
          "{ y = If (yes) <then_branch = t () => (p) { p = Mul (x, w) }, else_branch = e () => (q) { q = Neg (x) }> }",
     {"w", 1, {10}},
     {0},
     4,
     {2, 4, 6, 8},
     4,
     {10, 20, 30, 40}},
    {"an output as it is",
     HEAD "g (float[4] x, float[2] w = {5, 6}) => (float[2] w) { y = Neg (x) }",
     {"w", 2, {7, 8}},
     {0},
     2,
     {5, 6},
     2,
     {7, 8}},
    {"read by nobody",
     HEAD "g (float[4] x, float[2] w = {5, 6}) => (float[4] y) { y = Neg (x) }",
     {"w", 2, {7, 8}},
     {0},
     4,
     {-1, -2, -3, -4},
     4,
     {-1, -2, -3, -4}},
    {"both",
     HEAD "g (float[4] x, float[1] w = {2}, int64[1] s = {0}) => (float[M] y)"
          "{ g = Gather (x, s) y = Mul (g, w) }",
     {"w", 1, {10}},
     {"s", 1, {3}},
     1,
     {2},
     1,
     {40}},
};

static ox_value *value_of(ox_env *env, const given *g, bool ints) {
  ox_value *v;
  const int64_t dims[] = {(int64_t)g->n};
  CHECK_OK(ox_value_create(env, ints ? OX_I64 : OX_F32, dims, 1, &v));
  for (size_t i = 0; i < g->n; i++) {
    if (ints)
      ((int64_t *)ox_value_data(v))[i] = (int64_t)g->v[i];
    else
      ((float *)ox_value_data(v))[i] = (float)g->v[i];
  }
  return v;
}

static void check(const char *name, const ox_value *out, size_t n, const double *want) {
  const ox_tensor *t = ox_value_get(out);
  if (ox_tensor_count(t) != (int64_t)n) fail_msg("%s: %lld elements", name, (long long)ox_tensor_count(t));
  for (size_t i = 0; i < n; i++)
    if (ox_tensor_element(t, (int64_t)i) != want[i])
      fail_msg("%s, element %zu: %g, wanted %g", name, i, ox_tensor_element(t, (int64_t)i), want[i]);
}

/* Turns without, with and without overriding; the last of each kind allocates nothing. */
static void check_case(size_t i, uint32_t level) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_session_opts so;
  ox_env *env;
  ox_session *s;
  ox_session_opts_init(&so);
  so.optimize = level;
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(text_session(env, cases[i].text, &so, &s));
  assert_int_equal(ox_session_input_count(s), 1);
  ox_value *x = ramp_value(env, 1, 1, 1, (int64_t[]){4}), *over[2] = {NULL};
  const char *names[3];
  size_t n = 0;
  for (int k = 0; k < 2; k++) {
    const given *g = k ? &cases[i].s : &cases[i].w;
    if (!g->name) continue;
    over[n] = value_of(env, g, k == 1);
    names[n++] = g->name;
  }
  names[n] = "x"; /* in an order that is not the model's */
  for (int turn = 0; turn < 7; turn++) {
    bool overrides = turn / 2 % 2, again = turn > 4 || turn % 2;
    const ox_value *in[3] = {NULL}; /* NULL stands for the default */
    for (size_t k = 0; k < n && overrides; k++) in[k] = over[k];
    in[n] = x;
    ox_value *out = NULL;
    long before = atomic_load(&count.calls);
    if (!overrides && !again)
      CHECK_OK(ox_session_run(s, NULL, names + n, in + n, 1, NULL, &out, 1));
    else
      CHECK_OK(ox_session_run(s, NULL, names, in, n + 1, NULL, &out, 1));
    if (again && atomic_load(&count.calls) != before) fail_msg("%s: a repeated run allocates", cases[i].name);
    check(cases[i].name, out, overrides ? cases[i].n_over : cases[i].n, overrides ? cases[i].over : cases[i].plain);
    ox_value_release(out);
    assert_true((atomic_load(&s->sibling) != NULL) == (turn >= 2));
  }
  ox_value_release(x), ox_value_release(over[0]), ox_value_release(over[1]);
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
}

static void test_results_and_repeated_runs(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (uint32_t level = 0; level <= 3; level += 3) check_case(i, level);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results_and_repeated_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
