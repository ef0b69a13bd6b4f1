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

/* Which CreateValue cannot make: it takes the type from the first item. */
static void test_an_empty_sequence_can_be_adopted(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  ox_status *(*copy)(ox_env *, const ox_tensor *, ox_value **) =
      (ox_status * (*)(ox_env *, const ox_tensor *, ox_value **)) ort()->GetExperimentalFunction(
          "ox_value_create_copy");
  OrtStatus *(*adopt)(ox_value *, OrtValue **) =
      (OrtStatus * (*)(ox_value *, OrtValue **)) ort()->GetExperimentalFunction("ort_value_adopt");
  ox_value *empty;
  OrtValue *value;
  ONNXType kind;
  size_t n = 9;
  const ox_tensor t = {.kind = OX_SEQUENCE, .dtype = OX_F32, .shape = {1, {0}}};
  assert_null(copy(NULL, &t, &empty));
  OK(adopt(empty, &value));
  OK(ort()->GetValueType(value, &kind));
  assert_int_equal(kind, ONNX_TYPE_SEQUENCE);
  OK(ort()->GetValueCount(value, &n));
  assert_int_equal(n, 0);
  ort()->ReleaseValue(value);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_public_function_has_its_name),
      cmocka_unit_test(test_other_names_give_nothing),
      cmocka_unit_test(test_the_engines_session_can_be_asked),
      cmocka_unit_test(test_an_empty_sequence_can_be_adopted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
