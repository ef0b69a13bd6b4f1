/* SPDX-License-Identifier: Apache-2.0
 * Models of the editor that are compiled, and models that are opened and added to. */
#include <unistd.h>

#include "ort/editor.h"

/* The compile API takes a model of the editor, as often as one likes. */
static void test_a_model_is_compiled(void **state) {
  (void)state;
  static float weights[64], x[64];
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  OrtModelCompilationOptions *compile;
  const OrtCompileApi *compiler = ort()->GetCompileApi();
  OrtGraph *g = new_graph();
  float want[64];
  for (int i = 0; i < 64; i++) weights[i] = (float)i, x[i] = 3, want[i] = (float)(3 * i);
  add_node(g, "Mul", "mul", "x", "w", "y");
  OK(editor()->AddInitializerToGraph(g, "w", FLOATS(weights, 1, 64), true));
  set_inputs(g, value_info("x", FLOAT, 1, 64), NULL);
  set_output(g, value_info("y", FLOAT, 1, 64));
  OrtModel *m = new_model(g, "", 18);
  OK(compiler->CreateModelCompilationOptionsFromSessionOptions(env, options, &compile));
  OK(compiler->ModelCompilationOptions_SetInputModel(compile, m));
  for (int turn = 0; turn < 2; turn++) {
    void *bytes = NULL;
    size_t n = 0;
    OrtSession *s;
    OK(compiler->ModelCompilationOptions_SetOutputModelBuffer(compile, default_allocator(), &bytes, &n));
    OK(compiler->CompileModel(env, compile));
    OK(ort()->CreateSessionFromArray(env, bytes, n, options, &s));
    OrtValue *in = FLOATS(x, 1, 64);
    check_run(s, "x", in, "y", want, 64);
    ort()->ReleaseValue(in);
    ort()->ReleaseSession(s);
    OK(ort()->AllocatorFree(default_allocator(), bytes));
  }
  compiler->ReleaseModelCompilationOptions(compile);
  ort()->ReleaseModel(m);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

/* { z = Add (x, y) } gets Neg behind it and Mul with a large initializer in front. */
static void test_a_model_is_opened_and_added_to(void **state) {
  (void)state;
  static float x[] = {1, 2, 3, 4};
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  message base = add_model();
  OrtSession *s;
  OrtGraph *g = new_graph();
  OrtTypeInfo *type = tensor_type_info(FLOAT, (const int64_t[]){4}, 1);
  OrtValueInfo *v;
  OrtValue *in = FLOATS(x, 4), *values[] = {in, in}, *y = NULL;
  const char *names[] = {"x", "y"}, *before = "z", *after = "negated";
  size_t n;
  int opset;
  OK(editor()->CreateModelEditorSessionFromArray(env, base.bytes, base.n, options, &s));
  OK(editor()->SessionGetOpsetForDomain(s, "", &opset));
  assert_int_equal(opset, 17);
  FAILS(editor()->SessionGetOpsetForDomain(s, "nobody's", &opset), ORT_FAIL, "nobody's");
  OK(ort()->SessionGetInputCount(s, &n));
  assert_int_equal(n, 2);
  FAILS(ort()->Run(s, NULL, names, (const OrtValue *const *)values, 2, &before, 1, &y), ORT_FAIL, "not initialized");
  add_node(g, "Neg", "neg", "z", NULL, "negated");
  OK(editor()->CreateValueInfo("negated", type, &v));
  ort()->ReleaseTypeInfo(type);
  set_output(g, v);
  OrtModel *m = new_model(g, "", 17);
  OK(editor()->ApplyModelToModelEditorSession(s, m));
  ort()->ReleaseModel(m);
  OK(editor()->FinalizeModelEditorSession(s, options, NULL));
  OK(ort()->Run(s, NULL, names, (const OrtValue *const *)values, 2, &after, 1, &y));
  check_floats(y, (const float[]){-2, -4, -6, -8}, 4);
  ort()->ReleaseValue(y);
  y = NULL;
  FAILS(ort()->Run(s, NULL, names, (const OrtValue *const *)values, 2, &before, 1, &y), ORT_INVALID_ARGUMENT, "z");
  OK(editor()->FinalizeModelEditorSession(s, options, NULL)); /* is done: nothing happens */
  m = new_model(new_graph(), "", 17);
  FAILS(editor()->ApplyModelToModelEditorSession(s, m), ORT_MODEL_LOADED, "already been initialized");
  ort()->ReleaseModel(m);
  ort()->ReleaseSession(s);
  ort()->ReleaseValue(in);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

static void test_what_is_in_front_takes_an_input_s_place(void **state) {
  (void)state;
  static float weights[64], x[64];
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  message graph = {0};
  graph_node(&graph, "neg", "Neg", "middle", "out");
  graph_input(&graph, "middle", FLOAT, "1,64");
  graph_output(&graph, "out", FLOAT, "1,64");
  message base = model_of(&graph, NULL, 0);
  char path[] = "/tmp/onyx_model_editor_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, base.bytes, base.n), base.n);
  close(fd);
  OrtSession *s;
  OrtGraph *g = new_graph();
  for (int i = 0; i < 64; i++) weights[i] = (float)i, x[i] = 2;
  OK(editor()->CreateModelEditorSession(env, path, options, &s));
  add_node(g, "Mul", "mul", "raw", "weights", "middle");
  OK(editor()->AddInitializerToGraph(g, "weights", FLOATS(weights, 1, 64), true));
  set_inputs(g, value_info("raw", FLOAT, 1, 64), NULL);
  OrtModel *m = new_model(g, "", 17);
  OK(editor()->ApplyModelToModelEditorSession(s, m));
  ort()->ReleaseModel(m);
  OK(editor()->FinalizeModelEditorSession(s, options, NULL));
  OrtValue *in = FLOATS(x, 1, 64);
  float want[64];
  for (int i = 0; i < 64; i++) want[i] = (float)(-2 * i);
  check_run(s, "raw", in, "out", want, 64);
  ort()->ReleaseValue(in);
  ort()->ReleaseSession(s);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
  remove(path);
}

/* An edit that is refused leaves the session as it was. */
static void test_edits_that_make_no_model(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *options = new_options();
  message base = add_model();
  OrtSession *s, *other = open_model(env, &base, NULL);
  OrtGraph *g = new_graph();
  size_t n;
  int opset;
  OK(editor()->CreateModelEditorSessionFromArray(env, base.bytes, base.n, options, &s));
  add_node(g, "Neg", "neg", "z", NULL, "negated");
  OrtModel *newer = new_model(g, "", 18);
  FAILS(editor()->ApplyModelToModelEditorSession(s, newer), ORT_INVALID_ARGUMENT, "can not be changed");
  FAILS(editor()->ApplyModelToModelEditorSession(other, newer), ORT_MODEL_LOADED, "");
  OK(editor()->FinalizeModelEditorSession(other, options, NULL)); /* is a session already */
  OK(editor()->SessionGetOpsetForDomain(other, "", &opset));
  assert_int_equal(opset, 17);
  if (ort_is_onyx()) { /* Microsoft's: undefined */
    OrtModel *empty = new_model(NULL, "", 17);
    FAILS(editor()->ApplyModelToModelEditorSession(s, empty), ORT_INVALID_ARGUMENT, "no graph");
    FAILS(editor()->ApplyModelToModelEditorSession(s, NULL), ORT_INVALID_ARGUMENT, "model");
    OrtSession *none;
    FAILS(editor()->CreateSessionFromModel(env, empty, options, &none), ORT_INVALID_ARGUMENT, "no graph");
    ort()->ReleaseModel(empty);
  }
  OK(ort()->SessionGetOutputCount(s, &n));
  assert_int_equal(n, 1);
  OK(editor()->FinalizeModelEditorSession(s, options, NULL));
  ort()->ReleaseModel(newer);
  ort()->ReleaseSession(s);
  ort()->ReleaseSession(other);
  s = NULL;
  FAILS(editor()->CreateModelEditorSession(env, "/no/such/model", options, &s), ORT_NO_SUCHFILE, "/no/such/model");
  FAILS(editor()->CreateModelEditorSession(env, NULL, options, &s), ORT_INVALID_ARGUMENT, "");
  FAILS(editor()->CreateModelEditorSessionFromArray(env, NULL, 0, options, &s), ORT_INVALID_ARGUMENT, "");
  FAILS(editor()->CreateModelEditorSessionFromArray(env, "xxxxxxxxx", 9, options, &s), ORT_INVALID_PROTOBUF, "");
  assert_null(s);
  ort()->ReleaseSessionOptions(options);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_model_is_compiled),
      cmocka_unit_test(test_a_model_is_opened_and_added_to),
      cmocka_unit_test(test_what_is_in_front_takes_an_input_s_place),
      cmocka_unit_test(test_edits_that_make_no_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
