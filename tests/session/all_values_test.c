/* SPDX-License-Identifier: Apache-2.0
 * session/all_values_test.c - values of the model as outputs: which are there when the graph has been optimized and
 * divided, that they are what they are without, who makes them, and which are random; what the optimizer applied. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/device_ep.h"
#include "support/echo_ep.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "

static const char net[] = HEAD
    "(float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y) "
    "<float[1, 1, 3, 3] w = {1, 2, 3, 4, -5, 6, -7, 8, 9}, float[4] u = {1, 2, 3, 4}> "
    "{ [last] y = Mul (r, s) [id] i = Identity (x) [conv] c = Conv (i, w) [add] a = Add (c, s) [relu] r = Relu (a) "
    "[neg] n = Neg (u) [sum] s = ReduceSum <keepdims = 0> (n) [tall] t = Exp (c2) [two] c2 = Sin (r) }";
static const int64_t net_dims[] = {1, 1, 4, 4};

static ox_env *make_env(void) {
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_add_provider(env, echo_ep()));
  CHECK_OK(ox_env_add_provider(env, device_ep()));
  return env;
}

static ox_session_opts options(uint32_t level) {
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.optimize = level, o.all_values = 1;
  return o;
}

/* "y n s ..." */
static const char *names_of(const ox_session *s) {
  static char text[512];
  text[0] = 0;
  for (size_t i = 0; i < ox_session_output_count(s); i++) {
    ox_value_info info;
    CHECK_OK(ox_session_output(s, i, &info));
    strcat(strcat(text, *text ? " " : ""), info.name);
  }
  return text;
}

static size_t find(const ox_session *s, const char *name) {
  ox_value_info info;
  size_t i = 0;
  for (; i < ox_session_output_count(s); i++) {
    CHECK_OK(ox_session_output(s, i, &info));
    if (strcmp(info.name, name) == 0) break;
  }
  return i;
}

/* ---- which there are, and what they hold ---- */

static const char *const claims[] = {NULL, "as=programs", "claims=second,as=either", "claims=parts,as=programs,seed=3"};

static ox_session *open_net(ox_env *env, uint32_t level, const char *provider, const char *claim) {
  const char *keys[] = {"claims", "as", "seed"}, *values[3];
  char text[64] = "";
  ox_session *s;
  ox_session_opts o = options(level);
  ox_provider_spec spec = {provider, {0, keys, values}};
  if (claim) strcpy(text, claim);
  for (char *at = strtok(text, ","); at; at = strtok(NULL, ",")) {
    char *eq = strchr(at, '=');
    *eq = 0, keys[spec.options.n] = at, values[spec.options.n++] = eq + 1;
  }
  if (provider) o.providers = &spec, o.n_providers = 1;
  CHECK_OK(text_session(env, net, &o, &s));
  return s;
}

enum { MOST = 16 };

static void run(ox_env *env, ox_session *s, ox_value **out) {
  const char *name = "x";
  ox_value *x = ramp_value(env, -1, 0.25f, 4, net_dims);
  assert_true(ox_session_output_count(s) <= MOST);
  for (size_t i = 0; i < MOST; i++) out[i] = NULL;
  CHECK_OK(ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, out, ox_session_output_count(s)));
  ox_value_release(x);
}

/* Every output of |s| is that of |all|, which has them all. */
static void compare(ox_env *env, ox_session *all, ox_session *s) {
  ox_value *want[MOST], *got[MOST];
  run(env, all, want), run(env, s, got);
  for (size_t i = 0; i < ox_session_output_count(s); i++) {
    ox_value_info info;
    CHECK_OK(ox_session_output(s, i, &info));
    const ox_tensor *g = ox_value_get(got[i]), *w = ox_value_get(want[find(all, info.name)]);
    assert_int_equal(ox_tensor_count(g), ox_tensor_count(w));
    for (int64_t k = 0; k < ox_tensor_count(w); k++)
      if (fabs(ox_tensor_element(g, k) - ox_tensor_element(w, k)) > 1e-4)
        fail_msg("'%s'[%d]: %g, not %g", info.name, (int)k, ox_tensor_element(g, k), ox_tensor_element(w, k));
  }
  for (size_t i = 0; i < MOST; i++) ox_value_release(want[i]), ox_value_release(got[i]);
}

static void test_values_that_are_left(void **state) {
  (void)state;
  static const struct {
    uint32_t level;
    const char *names;
  } rows[] = {
      {OX_OPTIMIZE_NONE, "y i c n s a r c2 t"}, /* in topological order */
      {OX_OPTIMIZE_BASIC, "y c s a r"},         /* s is a constant now, c2 and t went unread */
      {OX_OPTIMIZE_EXTENDED, "y s r"},          /* a convolution with bias and activation */
      {OX_OPTIMIZE_ALL, "y s r"},
  };
  ox_env *env = make_env();
  ox_session *all = open_net(env, OX_OPTIMIZE_NONE, NULL, NULL);
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_session *s = open_net(env, rows[i].level, NULL, NULL);
    assert_string_equal(names_of(s), rows[i].names);
    compare(env, all, s);
    ox_session_release(s);
  }
  ox_session_release(all);
  ox_env_release(env);
}

/* Behind programs and in other memories. */
static void test_values_of_providers(void **state) {
  (void)state;
  static const char *const providers[] = {"echo", "device"};
  ox_env *env = make_env();
  ox_session *all = open_net(env, OX_OPTIMIZE_NONE, NULL, NULL);
  for (size_t i = 0; i < OX_COUNT(claims) * OX_COUNT(providers) * 2; i++) {
    ox_session *s = open_net(env, i % 2 ? OX_OPTIMIZE_ALL : OX_OPTIMIZE_NONE, providers[i / 2 % 2], claims[i / 4]);
    assert_int_equal(find(s, "y"), 0);
    compare(env, all, s);
    for (size_t k = 0; k < ox_session_output_count(s); k++) {
      ox_value_info info;
      ox_placement p;
      size_t node = ox_session_output_node(s, k);
      CHECK_OK(ox_session_output(s, k, &info));
      if (strcmp(info.name, "s") == 0 && node == SIZE_MAX) continue; /* a constant */
      assert_true(ox_session_placement(s, node, &p));
      assert_string_not_equal(p.how, "copy");
      assert_string_not_equal(p.op, "Part");
      if (strcmp(info.name, "y") == 0) assert_string_equal(p.name, "last");
    }
    ox_session_release(s);
  }
  ox_session_release(all);
  ox_env_release(env);
}

/* ---- who makes them, of what, by which rules ---- */

static void test_nodes_and_rules(void **state) {
  (void)state;
  ox_env *env = make_env();
  ox_session *s = open_net(env, OX_OPTIMIZE_ALL, NULL, NULL);
  ox_placement p;
  assert_int_equal(ox_session_output_node(s, find(s, "s")), SIZE_MAX);
  assert_int_equal(ox_session_output_node(s, 3), SIZE_MAX); /* there is none */
  assert_true(ox_session_placement(s, ox_session_output_node(s, find(s, "r")), &p));
  assert_string_equal(p.op, "FusedConv");
  assert_int_equal(p.n_from, 3);
  const char *rule;
  uint64_t n, identity = 0, activation = 0;
  size_t i = 0;
  for (ox_session_applied(s, i, &rule, &n); rule; ox_session_applied(s, ++i, &rule, &n)) {
    assert_true(n > 0);
    if (strcmp(rule, "identity") == 0) identity = n;
    if (strcmp(rule, "conv-activation") == 0) activation = n;
  }
  assert_true(i > 3 && identity == 1 && activation == 1 && n == 0);
  ox_session_release(s);
  s = open_net(env, OX_OPTIMIZE_NONE, NULL, NULL);
  assert_true(ox_session_placement(s, ox_session_output_node(s, find(s, "i")), &p));
  assert_string_equal(p.name, "id");
  ox_session_applied(s, 0, &rule, &n);
  assert_null(rule);
  ox_session_release(s);
  ox_env_release(env);
}

/* ---- random numbers ---- */

static void test_random_outputs(void **state) {
  (void)state;
  static const struct {
    const char *text, *random; /* names of the outputs that are */
  } rows[] = {
      {HEAD "(float[2] x) => (float[2] y) { a = Neg (x) y = Abs (a) }", ""},
      {HEAD
       "(float[2] x) => (float[2] y) { a = Neg (x) b = RandomNormalLike (a) c = Abs (b) y = Add (a, c) d = Exp (a) }",
       "y b c "},
      {HEAD "(float[2] x, bool k) => (float[2] y, float[2] z) { b = RandomNormalLike (x) y = Abs (x)\n"
            "z = If (k) <then_branch = t () => (float[2] p) { p = Neg (b) }, else_branch = e () => (float[2] q) "
            "{ q = Neg (x) }> }",
       "z b "},
      {HEAD "(float[2] x, bool k) => (float[2] y, float[2] z) { y = Abs (x)\n"
            "z = If (k) <then_branch = t () => (float[2] p) { p = RandomNormalLike (x) }, else_branch = e () => "
            "(float[2] q) { q = Neg (x) }> }",
       "z "},
      {HEAD "(float[2] x, bool k) => (float[2] y, float[2] z) { b = RandomNormalLike (x) y = Abs (x)\n"
            "z = If (k) <then_branch = t () => (float[2] p) { p = If (k) <then_branch = t2 () => (float[2] r) "
            "{ r = Neg (b) }, else_branch = e2 () => (float[2] s) { s = Neg (x) }> }, else_branch = e () => "
            "(float[2] q) { q = Neg (x) }> }",
       "z b "},
  };
  ox_env *env = make_env();
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_session *s;
    char random[64] = "";
    ox_session_opts o = options(OX_OPTIMIZE_NONE);
    CHECK_OK(text_session(env, rows[i].text, &o, &s));
    for (size_t k = 0; k < ox_session_output_count(s) + 1; k++) {
      ox_value_info info;
      if (!ox_session_output_is_random(s, k)) continue;
      CHECK_OK(ox_session_output(s, k, &info));
      strcat(strcat(random, info.name), " ");
    }
    assert_string_equal(random, rows[i].random);
    ox_session_release(s);
  }
  ox_env_release(env);
}

/* ---- what does not go with it ---- */

static void test_defaults_are_not_overridden(void **state) {
  (void)state;
  static const char *const names[] = {"x", "w"};
  static const int64_t dims[] = {2};
  ox_env *env = make_env();
  ox_session *s;
  ox_session_opts o = options(OX_OPTIMIZE_ALL);
  CHECK_OK(text_session(env, HEAD "(float[2] x, float[2] w = {1, 2}) => (float[2] y) { a = Neg (x) y = Mul (a, w) }",
                        &o, &s));
  ox_value *in[] = {ramp_value(env, 0, 1, 1, dims), ramp_value(env, 0, 1, 1, dims)}, *out[2] = {NULL};
  CHECK_OK(ox_session_run(s, NULL, names, (const ox_value *const *)in, 1, NULL, out, 2));
  for (int i = 0; i < 2; i++) ox_value_release(out[i]), out[i] = NULL;
  CHECK_FAILS(ox_session_run(s, NULL, names, (const ox_value *const *)in, 2, NULL, out, 2), OX_INVALID_ARGUMENT,
              "all_values");
  for (int i = 0; i < 2; i++) ox_value_release(in[i]);
  ox_session_release(s);
  ox_env_release(env);
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  static const char text[] =
      HEAD "(float[2] x) => (float[2] y) { a = Neg (x) b = RandomNormalLike (a) y = Add (a, b) }";
  for (int64_t n = 0;; n++) {
    counting_alloc count = {.fail_at = n};
    ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
    ox_session_opts o = options(OX_OPTIMIZE_ALL);
    ox_env *env = NULL;
    ox_session *s = NULL;
    ox_status *st = ox_env_create(&eo, &env);
    if (!st) st = text_session(env, text, &o, &s);
    ox_session_release(s);
    ox_env_release(env);
    assert_int_equal(atomic_load(&count.live), 0);
    if (!st) break;
    CHECK_FAILS(st, OX_OUT_OF_MEMORY, "");
    assert_true(n < 100000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_that_are_left),
      cmocka_unit_test(test_values_of_providers),
      cmocka_unit_test(test_nodes_and_rules),
      cmocka_unit_test(test_random_outputs),
      cmocka_unit_test(test_defaults_are_not_overridden),
      cmocka_unit_test(test_every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
