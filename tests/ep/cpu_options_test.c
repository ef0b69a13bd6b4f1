/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_options_test.c - what the options of the CPU provider change. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/text_session.h"

static const char model[] =
    "<ir_version: 9, opset_import: [\"\" : 18, \"ai.onyx\" : 1]>\n"
    "g (float[1,2,30,30,16] x) => (float[1,2,30,30,16] y) {\n"
    "  shape = Constant<value_ints=[32, 32, 3, 3]>()\n"
    "  w = ConstantOfShape<value=float[1] {0.25}>(shape)\n"
    "  y = ai.onyx.BlockConv<pads=[1, 1, 1, 1]>(x, w)\n"
    "}\n";

/* How the convolution is computed. */
static void form_with(const char *key, const char *value, char *form, size_t n) {
  ox_env *env;
  ox_session *s;
  ox_session_opts o;
  const int64_t dims[] = {1, 2, 30, 30, 16};
  CHECK_OK(ox_env_create(NULL, &env));
  ox_session_opts_init(&o);
  const ox_provider_spec cpu = {"cpu", {key != NULL, &key, &value}};
  o.providers = &cpu, o.n_providers = 1, o.profile = 1;
  CHECK_OK(text_session(env, model, &o, &s));
  ox_value *x = ramp_value(env, -1, 0.125f, 5, dims), *y = NULL;
  const char *name = "x";
  CHECK_OK(ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, &y, 1));
  const char *told = ox_session_profile_form(s, 0);
  snprintf(form, n, "%s", told ? told : "");
  ox_value_release(x), ox_value_release(y), ox_session_release(s), ox_env_release(env);
}

static void test_winograd_can_be_turned_off(void **state) {
  (void)state;
  static const struct {
    const char *key, *value;
    bool winograd;
  } rows[] = {{NULL, NULL, true},       {"winograd", "true", true},   {"winograd", "1", true},
              {"winograd", "0", false}, {"winograd", "false", false}, {"isa", "scalar", true}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    char form[64];
    form_with(rows[i].key, rows[i].value, form, sizeof form);
    if ((strstr(form, "winograd") != NULL) != rows[i].winograd) fail_msg("row %zu: %s", i, form);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_winograd_can_be_turned_off)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
