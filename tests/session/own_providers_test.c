/* SPDX-License-Identifier: Apache-2.0
 * session/own_providers_test.c - providers that one session brings, with what their create is given. */
#include <string.h>

#include "onyx/onyx.h"
#include "support/check.h"
#include "support/echo_ep.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

static const char model[] = HEAD "g (float[2] x, float[1] w) => (float[2] y) <float[1] w = {2}> { y = Mul (x, w) }";

/* What create of the providers below found. */
static void *users[4];
static size_t n_users;

static ox_status *create_noting(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  users[n_users++] = host->user;
  return echo_ep()->create(host, opts, out_ep);
}

static ox_ep_api noting(const char *name) {
  ox_ep_api api = *echo_ep();
  api.name = name, api.create = create_noting;
  n_users = 0;
  return api;
}

static ox_status *open_with(ox_env *env, const ox_own_provider *own, size_t n, const char *name, ox_session **out) {
  ox_provider_spec spec = {name, {0, NULL, NULL}};
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.providers = &spec, o.n_providers = 1, o.own_providers = own, o.n_own_providers = n;
  return text_session(env, model, &o, out);
}

static void test_each_session_hands_its_own_on(void **state) {
  (void)state;
  int mine[2];
  ox_env *env;
  ox_session *s[2];
  ox_placement p;
  ox_ep_api api = noting("mine");
  CHECK_OK(ox_env_create(NULL, &env));
  for (int i = 0; i < 2; i++) {
    const ox_own_provider own = {&api, &mine[i]};
    CHECK_OK(open_with(env, &own, 1, "mine", &s[i]));
    assert_ptr_equal(users[i], &mine[i]);
    assert_int_equal(ox_session_placement(s[i], 0, &p), 1);
    assert_string_equal(p.owner, "mine");
  }
  assert_int_equal(n_users, 2);
  ox_session *none;
  CHECK_FAILS(open_with(env, NULL, 0, "mine", &none), OX_INVALID_ARGUMENT, "there is no provider 'mine'");
  ox_session_release(s[0]), ox_session_release(s[1]);
  ox_env_release(env);
}

static void test_own_ones_come_before_the_envs(void **state) {
  (void)state;
  int mine;
  ox_env *env;
  ox_session *s;
  ox_ep_api api = noting("echo");
  const ox_own_provider own = {&api, &mine};
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_add_provider(env, echo_ep()));
  CHECK_OK(open_with(env, NULL, 0, "echo", &s));
  ox_session_release(s);
  assert_int_equal(n_users, 0);
  CHECK_OK(open_with(env, &own, 1, "echo", &s));
  ox_session_release(s);
  assert_int_equal(n_users, 1);
  ox_env_release(env);
}

static void test_a_second_load_gets_the_same(void **state) {
  (void)state;
  int mine;
  ox_env *env;
  ox_session *s;
  ox_ep_api api = noting("mine");
  ox_own_provider own = {&api, &mine};
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(open_with(env, &own, 1, "mine", &s));
  own = (ox_own_provider){0};
  ox_value *x = ramp_value(env, 1, 1, 1, (int64_t[]){2}), *w = ramp_value(env, 10, 0, 1, (int64_t[]){1}), *y = NULL;
  const ox_value *in[] = {x, w};
  CHECK_OK(ox_session_run(s, NULL, (const char *[]){"x", "w"}, in, 2, NULL, &y, 1));
  assert_true(ox_tensor_element(ox_value_get(y), 1) == 20);
  assert_int_equal(n_users, 2);
  assert_ptr_equal(users[1], &mine);
  ox_value_release(x), ox_value_release(w), ox_value_release(y);
  ox_session_release(s);
  ox_env_release(env);
}

static void test_broken_tables(void **state) {
  (void)state;
  ox_ep_api old = noting("mine"), host = noting("host"), custom = noting("custom");
  old.abi_major = 7;
  const struct {
    ox_own_provider own;
    const char *name;
    ox_code code;
    const char *part;
  } rows[] = {{{NULL, NULL}, "mine", OX_INVALID_ARGUMENT, "own provider 0 has no table"},
              {{&old, NULL}, "mine", OX_INCOMPATIBLE, "ABI 7"},
              {{&host, NULL}, "host", OX_INVALID_ARGUMENT, "cannot be called 'host'"},
              {{&custom, NULL}, "custom", OX_INVALID_ARGUMENT, "cannot be called 'custom'"}};
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK_FAILS(open_with(env, &rows[i].own, 1, rows[i].name, &s), rows[i].code, rows[i].part);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_session_hands_its_own_on),
      cmocka_unit_test(test_own_ones_come_before_the_envs),
      cmocka_unit_test(test_a_second_load_gets_the_same),
      cmocka_unit_test(test_broken_tables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
