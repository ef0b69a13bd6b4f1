/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_model_test.c - a model of the editor, compiled by a library's provider: what the CPU keeps has its
 * large initializers in the result. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <limits.h>

#include "fake_ep.h"
#include "ort/models.h"

enum { N = 64 };
static float weights[N];

static fake_state *open_library(char *whole) {
  const char *path = getenv("ORT_FAKE_EP");
  assert_non_null(realpath(path != NULL ? path : "build/tests/libort_fake_ep.so", whole));
  void *lib = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) fail_msg("%s", dlerror());
  return ((fake_state * (*)(void))(uintptr_t)dlsym(lib, "fake_ep_state"))();
}

static OrtSessionOptions *options_with(OrtEnv *env, const char *name) {
  OrtSessionOptions *o;
  const OrtEpDevice *const *devices;
  size_t n, i = 0;
  OK(ort()->GetEpDevices(env, &devices, &n));
  while (i < n && strcmp(ort()->EpDevice_EpName(devices[i]), name) != 0) i++;
  assert_true(i < n);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SessionOptionsAppendExecutionProvider_V2(o, env, &devices[i], 1, NULL, NULL, 0));
  return o;
}

static OrtValueInfo *value_info(const char *name) {
  const OrtModelEditorApi *e = ort()->GetModelEditorApi();
  OrtTensorTypeAndShapeInfo *shape;
  OrtTypeInfo *type;
  OrtValueInfo *v;
  OK(ort()->CreateTensorTypeAndShapeInfo(&shape));
  OK(ort()->SetTensorElementType(shape, FLOAT));
  OK(ort()->SetDimensions(shape, (const int64_t[]){N}, 1));
  OK(e->CreateTensorTypeInfo(shape, &type));
  OK(e->CreateValueInfo(name, type, &v));
  ort()->ReleaseTensorTypeAndShapeInfo(shape);
  ort()->ReleaseTypeInfo(type);
  return v;
}

/* y = Relu (Sub (x, w)): Sub is the CPU's. */
static OrtModel *the_model(void) {
  const OrtModelEditorApi *e = ort()->GetModelEditorApi();
  const char *in[] = {"x", "w"}, *m = "m", *y = "y", *domain = "";
  const int version = 18;
  OrtGraph *g;
  OrtNode *n;
  OrtModel *model;
  OrtValueInfo *input = value_info("x"), *output = value_info("y");
  OK(e->CreateGraph(&g));
  OK(e->CreateNode("Sub", "", "sub", in, 2, &m, 1, NULL, 0, &n));
  OK(e->AddNodeToGraph(g, n));
  OK(e->CreateNode("Relu", "", "relu", &m, 1, &y, 1, NULL, 0, &n));
  OK(e->AddNodeToGraph(g, n));
  OK(e->AddInitializerToGraph(g, "w", FLOATS(weights, N), true));
  OK(e->SetGraphInputs(g, &input, 1));
  OK(e->SetGraphOutputs(g, &output, 1));
  OK(e->CreateModel(&domain, &version, 1, &model));
  OK(e->AddGraphToModel(model, g));
  return model;
}

static void check_run(OrtSession *s) {
  float x[N], want[N];
  const char *in = "x", *out = "y";
  OrtValue *y = NULL, *value = FLOATS(x, N);
  for (int i = 0; i < N; i++) x[i] = 10, want[i] = i < 10 ? 10 - weights[i] : 0;
  OK(ort()->Run(s, NULL, &in, (const OrtValue *const *)&value, 1, &out, 1, &y));
  check_floats(y, want, N);
  ort()->ReleaseValue(y);
  ort()->ReleaseValue(value);
}

static void test_a_model_of_the_editor_is_compiled(void **state) {
  (void)state;
  char path[PATH_MAX];
  fake_state *fake = open_library(path);
  const OrtCompileApi *compile = ort()->GetCompileApi();
  OrtModelCompilationOptions *c;
  OrtSession *s;
  void *bytes = NULL;
  size_t n = 0;
  for (int i = 0; i < N; i++) weights[i] = (float)i;
  *fake = (fake_state){.context = true};
  OrtEnv *env = test_env();
  OK(ort()->RegisterExecutionProviderLibrary(env, "fake", path));
  OrtSessionOptions *o = options_with(env, "FakeCompile");
  OrtModel *m = the_model();
  OK(compile->CreateModelCompilationOptionsFromSessionOptions(env, o, &c));
  OK(compile->ModelCompilationOptions_SetInputModel(c, m));
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(c, default_allocator(), &bytes, &n));
  OK(compile->ModelCompilationOptions_SetEpContextEmbedMode(c, true));
  OK(compile->CompileModel(env, c));
  compile->ReleaseModelCompilationOptions(c);
  ort()->ReleaseModel(m);
  fake->context = false;
  OK(ort()->CreateSessionFromArray(env, bytes, n, o, &s));
  check_run(s);
  ort()->ReleaseSession(s);
  OK(ort()->AllocatorFree(default_allocator(), bytes));
  ort()->ReleaseSessionOptions(o);
  OK(ort()->UnregisterExecutionProviderLibrary(env, "fake"));
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_model_of_the_editor_is_compiled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
