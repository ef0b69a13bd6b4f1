/* SPDX-License-Identifier: Apache-2.0
 * Functions by name: every one of onyx.h is handed out. */
#include <ctype.h>

#include "onyx/onyx.h"
#include "ort/models.h"

static void test_every_public_function_has_its_name(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  static char text[65536];
  FILE *f = fopen("include/onyx/onyx.h", "rb");
  if (f == NULL) skip(); /* run from elsewhere */
  assert_true(fread(text, 1, sizeof text - 1, f) > 0);
  fclose(f);
  int n = 0;
  for (char *at = text; (at = strstr(at, "\nOX_API ")) != NULL; n++) {
    char *end = strchr(at, '('), name[128];
    assert_non_null(end);
    at = end;
    while (isalnum((unsigned char)at[-1]) || at[-1] == '_') at--;
    snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
    if (ort()->GetExperimentalFunction(name) == NULL) fail_msg("there is no %s", name);
  }
  assert_true(n > 40);
}

static void test_other_names_give_nothing(void **state) {
  (void)state;
  assert_true(ort()->GetExperimentalFunction("ox_nothing") == NULL);
  assert_true(ort()->GetExperimentalFunction("") == NULL);
  if (ort_is_onyx()) assert_true(ort()->GetExperimentalFunction(NULL) == NULL);
}

static void test_the_engines_session_can_be_asked(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  ox_session *(*get)(const OrtSession *) =
      (ox_session * (*)(const OrtSession *)) ort()->GetExperimentalFunction("ort_session_onyx");
  size_t (*count)(const ox_session *) =
      (size_t(*)(const ox_session *))ort()->GetExperimentalFunction("ox_session_input_count");
  assert_non_null(get(s));
  assert_int_equal(count(get(s)), 1);
  assert_null(get(NULL));
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_public_function_has_its_name),
      cmocka_unit_test(test_other_names_give_nothing),
      cmocka_unit_test(test_the_engines_session_can_be_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
