/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_context_test.c - models with compiled parts: written by sessions and by the compile API, and read.
 */
#define _XOPEN_SOURCE 700 /* for fake_client.h */
#include "fake_client.h"

/* ---- models with compiled parts ---- */

static OrtSessionOptions *context_options(OrtEnv *env, const char *path) {
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  OK(ort()->AddSessionConfigEntry(o, "ep.context_enable", "1"));
  OK(ort()->AddSessionConfigEntry(o, "ep.context_embed_mode", "1"));
  if (path != NULL) OK(ort()->AddSessionConfigEntry(o, "ep.context_file_path", path));
  return o;
}

static void test_compiled_parts_are_written_and_read(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin();
  OrtSession *s;
  char folder[] = "/tmp/fake_ctx_XXXXXX", path[64], *info = NULL;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  fake()->context = true;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m_ctx.onnx", folder);
  fclose(fopen(path, "w"));
  OrtSessionOptions *o = context_options(env, path);
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "exist already");
  unlink(path);
  s = open_model(env, &m, o);
  check_run(s, 3);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  OK(ort()->GetCompatibilityInfoFromModel(path, "FakeCompile", default_allocator(), &info));
  check_text(info, "good");
  fake()->context = false;
  OK(ort()->CreateSessionOptions(&o));
  FAILS(ort()->CreateSession(env, path, o, &s), ort_is_onyx() ? ORT_INVALID_GRAPH : ORT_NOT_IMPLEMENTED, "EPContext");
  ort()->ReleaseSessionOptions(o);
  o = options_with(env, "FakeCompile");
  fake()->fused[0] = 0;
  OK(ort()->CreateSession(env, path, o, &s));
  assert_string_equal(fake()->fused, "FakeCompile 2 1 2 1;FakeCompile 3 1 3 1;");
  check_run(s, 3);
  check_run(s, 1);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(o);
  unlink(path), rmdir(folder);
  end(env);
}

static void test_compiled_parts_need_a_place(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin();
  OrtSession *s;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  fake()->context = true;
  OrtSessionOptions *o = context_options(env, NULL);
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ort_is_onyx() ? ORT_INVALID_ARGUMENT : ORT_FAIL,
        "ep.context_file_path");
  ort()->ReleaseSessionOptions(o);
  end(env);
}

/* The same through the compile API, into a buffer. */
static void test_compiling_makes_compiled_parts(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin();
  OrtSession *s;
  OrtModelCompilationOptions *c;
  const OrtCompileApi *compile = ort()->GetCompileApi();
  void *bytes = NULL;
  size_t n = 0;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  fake()->context = true;
  OK(compile->CreateModelCompilationOptionsFromSessionOptions(env, o, &c));
  OK(compile->ModelCompilationOptions_SetInputModelFromBuffer(c, m.bytes, m.n));
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(c, default_allocator(), &bytes, &n));
  OK(compile->ModelCompilationOptions_SetEpContextEmbedMode(c, true));
  OK(compile->CompileModel(env, c));
  compile->ReleaseModelCompilationOptions(c);
  fake()->context = false;
  OK(ort()->CreateSessionFromArray(env, bytes, n, o, &s));
  check_run(s, 4);
  ort()->ReleaseSession(s);
  OK(ort()->AddSessionConfigEntry(o, "session.disable_model_compile", "1"));
  OK(ort()->CreateSessionFromArray(env, bytes, n, o, &s));
  ort()->ReleaseSession(s);
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_MODEL_REQUIRES_COMPILATION,
        "session.disable_model_compile");
  OK(ort()->AllocatorFree(default_allocator(), bytes));
  ort()->ReleaseSessionOptions(o);
  end(env);
}

/* Where providers put what lies beside the model: they see it as the path of a model. */
static void test_a_place_for_data_beside_the_model(void **state) {
  (void)state;
  message m = the_model();
  OrtEnv *env = begin();
  OrtModelCompilationOptions *c;
  const OrtCompileApi *compile = ort()->GetCompileApi();
  void *bytes = NULL;
  size_t n = 0;
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", fake_path()));
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  OK(compile->CreateModelCompilationOptionsFromSessionOptions(env, o, &c));
  OK(compile->ModelCompilationOptions_SetInputModelFromBuffer(c, m.bytes, m.n));
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(c, default_allocator(), &bytes, &n));
  for (int folder_without_slash = 0; folder_without_slash <= ort_is_onyx(); folder_without_slash++) {
    fake()->context = true;
    OK(compile->ModelCompilationOptions_SetEpContextBinaryInformation(
        c, folder_without_slash ? "/tmp/a b" : "/tmp/a b/", "m"));
    FAILS(compile->ModelCompilationOptions_SetEpContextBinaryInformation(c, "", "m"), ORT_INVALID_ARGUMENT, "empty");
    FAILS(compile->ModelCompilationOptions_SetEpContextBinaryInformation(c, "/tmp/", ""), ORT_INVALID_ARGUMENT,
          "empty");
    OK(compile->CompileModel(env, c));
    assert_string_equal(fake()->place, "/tmp/a b/m");
    OK(ort()->AllocatorFree(default_allocator(), bytes));
  }
  compile->ReleaseModelCompilationOptions(c);
  ort()->ReleaseSessionOptions(o);
  end(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compiled_parts_are_written_and_read),
      cmocka_unit_test(test_compiled_parts_need_a_place),
      cmocka_unit_test(test_compiling_makes_compiled_parts),
      cmocka_unit_test(test_a_place_for_data_beside_the_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
