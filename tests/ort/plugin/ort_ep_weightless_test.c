/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_weightless_test.c - weightless modes: what a session asks for, what devices and providers say, and
 * what a compiled model tells of itself. */
#define _XOPEN_SOURCE 700 /* for fake_client.h */
#include "fake_client.h"

static const char mode_key[] = "ep.enable_weightless_mode", old_key[] = "ep.enable_weightless";

typedef struct weightless_case {
  const char *mode, *old;     /* the session's entries */
  const char *modes, *before; /* the device's metadata, in the new and the old entry */
  unsigned version;           /* of the provider */
  int support;                /* its answer; -1: it cannot be asked */
  OrtErrorCode code;
  const char *asked; /* what CreateEp sees of the entries, "" if it is not called */
} weightless_case;

static const weightless_case cases[] = {
    /* no mode, or none wanted: nobody is asked, and older libraries see so */
    {NULL, NULL, NULL, NULL, 32, -1, ORT_OK, "- -"},
    {"0", NULL, NULL, NULL, 32, -1, ORT_OK, "0 0"},
    {"0", "1", NULL, NULL, 32, 0, ORT_OK, "0 0"},
    /* values that there are not */
    {"3", NULL, "all_or_external_only", NULL, 32, 3, ORT_INVALID_ARGUMENT, ""},
    {"", NULL, "all_or_external_only", NULL, 32, 3, ORT_INVALID_ARGUMENT, ""},
    {"0x2", NULL, "all_or_external_only", NULL, 32, 3, ORT_INVALID_ARGUMENT, ""},
    {"22", NULL, "all_or_external_only", NULL, 32, 3, ORT_INVALID_ARGUMENT, ""},
    /* the device has to have it: the new entry counts, the old one where there is no other */
    {"1", NULL, NULL, NULL, 27, 0, ORT_EP_FAIL, ""},
    {"2", NULL, NULL, "none", 27, 0, ORT_EP_FAIL, ""},
    {"2", NULL, NULL, "all", 27, 0, ORT_OK, "2 1"},
    {"1", NULL, NULL, "all", 27, 0, ORT_EP_FAIL, ""},
    {"1", NULL, "external_only", "all", 27, 0, ORT_OK, "1 1"},
    {"2", NULL, "external_only", "all", 27, 0, ORT_EP_FAIL, ""},
    {"2", "0", "all_or_external_only", NULL, 27, 0, ORT_OK, "2 1"},
    {"2", NULL, "strange", "all", 27, 0, ORT_EP_FAIL, ""},
    {"2", NULL, NULL, "all_or_external_only", 27, 0, ORT_EP_FAIL, ""},
    /* and so does the provider, from version 29 on */
    {"2", NULL, "all", NULL, 28, -1, ORT_OK, "2 1"},
    {"2", NULL, "all", NULL, 29, -1, ORT_NOT_IMPLEMENTED, "2 1"},
    {"2", NULL, "all", NULL, 29, 0, ORT_EP_FAIL, "2 1"},
    {"2", NULL, "all", NULL, 29, 1, ORT_EP_FAIL, "2 1"},
    {"2", NULL, "all", NULL, 29, 2, ORT_OK, "2 1"},
    {"2", NULL, "all", NULL, 32, 3, ORT_OK, "2 1"},
    {"1", NULL, "all_or_external_only", NULL, 32, 2, ORT_EP_FAIL, "1 1"},
    {"1", NULL, "all_or_external_only", NULL, 32, 3, ORT_OK, "1 1"},
    {"2", NULL, "all", NULL, 32, 4, ORT_EP_FAIL, "2 1"},
    /* the old entry takes any mode that the provider has */
    {NULL, "1", NULL, NULL, 27, 0, ORT_OK, "- 1"},
    {NULL, "1", NULL, NULL, 29, -1, ORT_NOT_IMPLEMENTED, "- 1"},
    {NULL, "1", NULL, NULL, 29, 0, ORT_EP_FAIL, "- 1"},
    {NULL, "1", NULL, NULL, 29, 1, ORT_OK, "- 1"},
    {NULL, "true", NULL, NULL, 32, 0, ORT_EP_FAIL, "- true"},
    {NULL, "True", NULL, NULL, 32, 0, ORT_EP_FAIL, "- True"},
    {NULL, "0", NULL, NULL, 32, 0, ORT_OK, "- 0"},
    {NULL, "false", NULL, NULL, 32, 0, ORT_OK, "- false"},
    {NULL, "", NULL, NULL, 32, 0, ORT_OK, "- "},
    {NULL, "10", NULL, NULL, 32, 0, ORT_OK, "- 10"},
};

static OrtEnv *begin_with(const weightless_case *c) {
  OrtEnv *env = begin();
  fake_state *f = fake();
  f->version = c->version, f->weightless = c->support, f->no_weightless = c->support < 0;
  f->weightless_modes[0] = c->modes, f->weightless_modes[1] = c->before;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  return env;
}

static void test_sessions_get_a_mode_that_all_have(void **state) {
  (void)state;
  message m = the_model();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const weightless_case *c = &cases[i];
    OrtEnv *env = begin_with(c);
    OrtSession *s = NULL;
    OrtSessionOptions *o = options_with(env, "FakeCompile");
    if (c->mode != NULL) OK(ort()->AddSessionConfigEntry(o, mode_key, c->mode));
    if (c->old != NULL) OK(ort()->AddSessionConfigEntry(o, old_key, c->old));
    OrtStatus *st = ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s);
    OrtErrorCode code = st != NULL ? ort()->GetErrorCode(st) : ORT_OK;
    if (code != c->code || strcmp(fake()->asked, c->asked) != 0)
      fail_msg("case %zu: code %d, wanted %d; CreateEp saw '%s', wanted '%s': %s", i, (int)code, (int)c->code,
               fake()->asked, c->asked, st != NULL ? ort()->GetErrorMessage(st) : "");
    ort()->ReleaseStatus(st);
    if (s != NULL) check_run(s, 2);
    ort()->ReleaseSession(s);
    ort()->ReleaseSessionOptions(o);
    end(env);
  }
}

/* Providers with kernels compile nothing: they are not asked, their devices are. */
static void test_kernels_are_not_asked(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin_with(&(weightless_case){.modes = "all", .version = 32, .support = -1});
  OrtSession *s;
  OrtSessionOptions *o = options_with(env, "FakeKernels");
  OK(ort()->AddSessionConfigEntry(o, mode_key, "1"));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_EP_FAIL, "external_only");
  OK(ort()->AddSessionConfigEntry(o, mode_key, "2"));
  s = open_model(env, &m, o);
  check_run(s, 2);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  end(env);
}

static void test_a_mode_without_providers(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = test_env();
  OrtSession *s;
  OrtSessionOptions *o;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->AddSessionConfigEntry(o, mode_key, "-1"));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_INVALID_ARGUMENT, mode_key);
  OK(ort()->AddSessionConfigEntry(o, mode_key, "2"));
  s = open_model(env, &m, o);
  check_run(s, 1);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

typedef struct log_lines {
  size_t n;
} log_lines;

static void count_lines(void *lines, OrtLoggingLevel level, const char *category, const char *id, const char *where,
                        const char *text) {
  (void)category, (void)id, (void)where;
  if (level == ORT_LOGGING_LEVEL_WARNING && strstr(text, "GetWeightlessSupport") != NULL) ((log_lines *)lines)->n++;
}

static void test_a_device_that_says_something_else_is_in_the_log(void **state) {
  (void)state;
  message m = the_model();
  for (int support = 2; support <= 3; support++) {
    OrtEnv *env = begin_with(&(weightless_case){.modes = "all", .version = 32, .support = support});
    log_lines lines = {0};
    OrtSessionOptions *o = options_with(env, "FakeCompile");
    OK(ort()->SetUserLoggingFunction(o, count_lines, &lines));
    OK(ort()->SetSessionLogSeverityLevel(o, ORT_LOGGING_LEVEL_WARNING));
    OK(ort()->AddSessionConfigEntry(o, mode_key, "2"));
    ort()->ReleaseSession(open_model(env, &m, o));
    assert_int_equal(lines.n, support == 3); /* once, for all parts */
    ort()->ReleaseSessionOptions(o);
    end(env);
  }
}

/* ---- compiled models ---- */

static char *mode_of_model(OrtSession *s) {
  OrtModelMetadata *metadata;
  char *value = NULL;
  OK(ort()->SessionGetModelMetadata(s, &metadata));
  OK(ort()->ModelMetadataLookupCustomMetadataMap(metadata, default_allocator(), "weightless_mode", &value));
  ort()->ReleaseModelMetadata(metadata);
  return value;
}

static void check_compiled(OrtEnv *env, OrtSessionOptions *o, int mode) {
  const OrtCompileApi *compile = ort()->GetCompileApi();
  message m = the_model();
  OrtModelCompilationOptions *c;
  OrtSession *s;
  void *bytes = NULL;
  size_t n = 0;
  fake()->context = true;
  OK(compile->CreateModelCompilationOptionsFromSessionOptions(env, o, &c));
  OK(compile->ModelCompilationOptions_SetInputModelFromBuffer(c, m.bytes, m.n));
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(c, default_allocator(), &bytes, &n));
  OK(compile->ModelCompilationOptions_SetEpContextEmbedMode(c, true));
  for (int bad = -1; bad <= 4; bad += bad == -1 ? 4 : 1) /* -1, 3, 4: they change nothing */
    FAILS(compile->ModelCompilationOptions_SetWeightlessMode(c, (OrtWeightlessSupport)bad), ORT_INVALID_ARGUMENT,
          "mode");
  OK(compile->ModelCompilationOptions_SetWeightlessMode(c, (OrtWeightlessSupport)mode));
  OK(compile->ModelCompilationOptions_SetWeightlessEnabled(c, false)); /* the mode counts */
  OK(compile->CompileModel(env, c));
  assert_string_equal(fake()->asked, mode == 0 ? "0 0" : mode == 1 ? "1 1" : "2 1");
  compile->ReleaseModelCompilationOptions(c);
  fake()->context = false;
  OK(ort()->CreateSessionFromArray(env, bytes, n, o, &s)); /* it does not ask for a mode again */
  assert_string_equal(fake()->asked, "- -");
  check_run(s, 2);
  char *kept = mode_of_model(s);
  if (mode == 0)
    assert_null(kept);
  else
    assert_string_equal(kept, mode == 1 ? "1" : "2");
  if (kept != NULL) OK(ort()->AllocatorFree(default_allocator(), kept));
  ort()->ReleaseSession(s);
  OK(ort()->AllocatorFree(default_allocator(), bytes));
}

static void test_compiled_models_tell_their_mode(void **state) {
  (void)state;
  OrtEnv *env = begin_with(&(weightless_case){.modes = "all_or_external_only", .version = 32, .support = 3});
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  for (int mode = 0; mode <= 2; mode++) check_compiled(env, o, mode);
  ort()->ReleaseSessionOptions(o);
  end(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sessions_get_a_mode_that_all_have),
      cmocka_unit_test(test_kernels_are_not_asked),
      cmocka_unit_test(test_a_mode_without_providers),
      cmocka_unit_test(test_a_device_that_says_something_else_is_in_the_log),
      cmocka_unit_test(test_compiled_models_tell_their_mode),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
