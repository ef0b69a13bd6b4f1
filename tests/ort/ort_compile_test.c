/* SPDX-License-Identifier: Apache-2.0
 * The compile API and optimized models: what comes out is a model again, with its data inside or beside it. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <sys/stat.h>
#include <unistd.h>

#include "ort/models.h"

static char folder[64];

static const OrtCompileApi *compiler(void) { return ort()->GetCompileApi(); }

static OrtModelCompilationOptions *options_for(OrtEnv *env, const message *m) {
  OrtSessionOptions *o;
  OrtModelCompilationOptions *c;
  OK(ort()->CreateSessionOptions(&o));
  OK(compiler()->CreateModelCompilationOptionsFromSessionOptions(env, o, &c));
  ort()->ReleaseSessionOptions(o);
  OK(compiler()->ModelCompilationOptions_SetInputModelFromBuffer(c, m->bytes, m->n));
  return c;
}

/* The session computes x * {1, 2}; releases it. */
static void check_session(OrtSession *s) {
  float x[] = {3, 4};
  OrtValue *in = FLOATS(x, 1, 2), *out = NULL;
  OK(ort()->Run(s, NULL, (const char *const[]){"x"}, (const OrtValue *const *)&in, 1, (const char *const[]){"y"}, 1,
                &out));
  check_floats(out, (const float[]){3, 8}, 2);
  ort()->ReleaseValue(in);
  ort()->ReleaseValue(out);
  ort()->ReleaseSession(s);
}

static void check_file(OrtEnv *env, const char *path) {
  OrtSessionOptions *o;
  OrtSession *s;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->CreateSession(env, path, o, &s));
  ort()->ReleaseSessionOptions(o);
  check_session(s);
}

static void path_of(char *out, const char *name) { snprintf(out, 128, "%s/%s", folder, name); }

static long size_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static OrtStatus *collect(void *state, const void *bytes, size_t n) {
  message *m = state;
  if (m->n + n > sizeof m->bytes) return ort()->CreateStatus(ORT_FAIL, "too large");
  memcpy(m->bytes + m->n, bytes, n);
  m->n += n;
  return NULL;
}

static OrtStatus *refuse(void *state, const void *bytes, size_t n) {
  (void)state, (void)bytes, (void)n;
  return ort()->CreateStatus(ORT_EP_FAIL, "no room");
}

static void test_the_output_goes_where_it_is_told(void **state) {
  (void)state;
  char path[128];
  OrtEnv *env = test_env();
  message m = scale_model(), out = {0};
  OrtModelCompilationOptions *c = options_for(env, &m);
  path_of(path, "out.onnx");
  OK(compiler()->ModelCompilationOptions_SetOutputModelPath(c, path));
  OK(compiler()->CompileModel(env, c));
  check_file(env, path);
  OK(compiler()->ModelCompilationOptions_SetFlags(c, OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS));
  FAILS(compiler()->CompileModel(env, c), ORT_FAIL, "exists already");
  remove(path);
  OK(compiler()->CompileModel(env, c));
  remove(path);
  compiler()->ReleaseModelCompilationOptions(c);

  c = options_for(env, &m);
  void *buffer;
  size_t n;
  OK(compiler()->ModelCompilationOptions_SetOutputModelBuffer(c, default_allocator(), &buffer, &n));
  OK(compiler()->CompileModel(env, c));
  assert_true(buffer != NULL && n > 0 && n < sizeof out.bytes);
  memcpy(out.bytes, buffer, n);
  out.n = n;
  check_session(open_model(env, &out, NULL));
  OK(ort()->AllocatorFree(default_allocator(), buffer));
  compiler()->ReleaseModelCompilationOptions(c);

  c = options_for(env, &m);
  out.n = 0;
  OK(compiler()->ModelCompilationOptions_SetOutputModelWriteFunc(c, collect, &out));
  OK(compiler()->CompileModel(env, c));
  check_session(open_model(env, &out, NULL));
  OK(compiler()->ModelCompilationOptions_SetOutputModelWriteFunc(c, refuse, NULL));
  FAILS(compiler()->CompileModel(env, c), ORT_EP_FAIL, "no room");
  compiler()->ReleaseModelCompilationOptions(c);
  ort()->ReleaseEnv(env);
}

static void test_a_file_is_written_beside_its_input(void **state) {
  (void)state;
  char in[128], out[128];
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtModelCompilationOptions *c = options_for(env, &m);
  path_of(in, "model.onnx");
  path_of(out, "model_ctx.onnx");
  FILE *f = fopen(in, "wb");
  assert_int_equal(fwrite(m.bytes, 1, m.n, f), m.n);
  fclose(f);
  OK(compiler()->ModelCompilationOptions_SetInputModelPath(c, in));
  OK(compiler()->CompileModel(env, c));
  check_file(env, out);
  remove(in);
  remove(out);
  FAILS(compiler()->CompileModel(env, c), ORT_INVALID_ARGUMENT, "does not exist");
  compiler()->ReleaseModelCompilationOptions(c);
  ort()->ReleaseEnv(env);
}

static void test_data_can_lie_beside_the_model(void **state) {
  (void)state;
  char path[128], data[128];
  OrtEnv *env = test_env();
  message m = scale_model();
  path_of(path, "out.onnx");
  path_of(data, "out.data");
  for (size_t threshold = 8; threshold <= 9; threshold++) { /* w has 8 bytes */
    OrtModelCompilationOptions *c = options_for(env, &m);
    OK(compiler()->ModelCompilationOptions_SetOutputModelPath(c, path));
    OK(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersFile(c, "out.data", threshold));
    OK(compiler()->CompileModel(env, c));
    check_file(env, path);
    if (threshold == 8) assert_int_equal(size_of(data), 8);
    if (threshold == 9) assert_true(size_of(data) <= 0);
    remove(path);
    remove(data);
    compiler()->ReleaseModelCompilationOptions(c);
  }
  ort()->ReleaseEnv(env);
}

/* Tells a place for w, and puts it there. */
static OrtStatus *locate(void *state, const char *name, const OrtValue *value, const OrtExternalInitializerInfo *info,
                         OrtExternalInitializerInfo **out) {
  void *data;
  (void)info;
  *out = NULL;
  if (strcmp(name, "w") != 0) return NULL;
  OK(ort()->GetTensorMutableData((OrtValue *)(uintptr_t)value, &data));
  FILE *f = fopen(state, "wb");
  assert_int_equal(fwrite("....", 1, 4, f), 4);
  assert_int_equal(fwrite(data, 1, 8, f), 8);
  fclose(f);
  return ort()->CreateExternalInitializerInfo("mine.data", 4, 8, out);
}

static void test_the_client_can_place_the_data(void **state) {
  (void)state;
  char path[128], data[128];
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtModelCompilationOptions *c = options_for(env, &m);
  path_of(path, "out.onnx");
  path_of(data, "mine.data");
  OK(compiler()->ModelCompilationOptions_SetOutputModelPath(c, path));
  OK(compiler()->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(c, locate, data));
  OK(compiler()->CompileModel(env, c));
  assert_int_equal(size_of(data), 12);
  check_file(env, path);
  remove(path);
  remove(data);
  compiler()->ReleaseModelCompilationOptions(c);
  ort()->ReleaseEnv(env);
}

/* The model and its data in two buffers, which a session takes again. */
static void test_data_can_go_to_a_buffer(void **state) {
  (void)state;
  static const ORTCHAR_T *const name[] = {"data/w.bin"};
  OrtEnv *env = test_env();
  message m = scale_model(), out = {0};
  for (size_t threshold = 8; threshold <= 9; threshold++) { /* w has 8 bytes */
    char nothing[1];
    void *model, *data = nothing;
    size_t n, data_n = 99;
    OrtSessionOptions *o;
    OrtModelCompilationOptions *c = options_for(env, &m);
    OK(compiler()->ModelCompilationOptions_SetOutputModelBuffer(c, default_allocator(), &model, &n));
    OK(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersFile(c, "not this.data", 1));
    OK(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
        c, name[0], threshold, default_allocator(), &data, &data_n));
    OK(compiler()->CompileModel(env, c));
    compiler()->ReleaseModelCompilationOptions(c);
    assert_int_equal(data_n, threshold == 8 ? 8 : 0);
    assert_int_equal(data == NULL, threshold == 9);
    memcpy(out.bytes, model, n);
    out.n = n;
    OK(ort()->AllocatorFree(default_allocator(), model));
    OK(ort()->CreateSessionOptions(&o));
    if (data != NULL) OK(ort()->AddExternalInitializersFromFilesInMemory(o, name, (char *const *)&data, &data_n, 1));
    check_session(open_model(env, &out, o));
    ort()->ReleaseSessionOptions(o);
    OK(ort()->AllocatorFree(default_allocator(), data));
  }
  ort()->ReleaseEnv(env);
}

/* Data that does not arrive leaves the client's variables alone. */
static void test_a_failure_leaves_the_buffer_alone(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  message m = scale_model();
  char nothing[1];
  void *data = nothing;
  size_t n = 99;
  OrtModelCompilationOptions *c = options_for(env, &m);
  OK(compiler()->ModelCompilationOptions_SetOutputModelWriteFunc(c, refuse, NULL));
  OK(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(c, "w", 1, default_allocator(), &data,
                                                                                  &n));
  FAILS(compiler()->CompileModel(env, c), ORT_EP_FAIL, "no room");
  assert_ptr_equal(data, nothing);
  assert_int_equal(n, 99);
  OK(compiler()->ModelCompilationOptions_SetOutputModelBuffer(c, default_allocator(), &data, &n));
  FAILS(compiler()->CompileModel(env, c), ORT_INVALID_ARGUMENT, "the same variable");
  FAILS(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(c, "", 1, default_allocator(),
                                                                                     &data, &n),
        ORT_INVALID_ARGUMENT, "is empty");
  FAILS(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(c, "/w", 1, default_allocator(),
                                                                                     &data, &n),
        ORT_INVALID_ARGUMENT, "no relative path");
  compiler()->ReleaseModelCompilationOptions(c);
  ort()->ReleaseEnv(env);
}

/* float[2,3] x, v, w => float[2,3] y { y = Sum(x, v, w) }; v and w have values and may be overridden. */
static message two_weights_model(void) {
  static const float zeros[6], ones[] = {1, 1, 1, 1, 1, 1};
  message g = {0}, v = tensor("v", FLOAT, (const int64_t[]){2, 3}, 2, zeros, sizeof zeros);
  message w = tensor("w", FLOAT, (const int64_t[]){2, 3}, 2, ones, sizeof ones);
  graph_node(&g, "sum", "Sum", "x,v,w", "y");
  put_message(&g, 5, &v);
  put_message(&g, 5, &w);
  graph_input(&g, "x", FLOAT, "2,3");
  graph_input(&g, "v", FLOAT, "2,3");
  graph_input(&g, "w", FLOAT, "2,3");
  graph_output(&g, "y", FLOAT, "2,3");
  return model_of(&g, NULL, 0);
}

static void test_data_is_aligned_as_asked(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  message m = scale_model(), out = {0};
  static const size_t bad[] = {3, 6, (size_t)1 << 63, SIZE_MAX};
  OrtModelCompilationOptions *c = options_for(env, &m);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    FAILS(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(c, bad[i], 0),
          ORT_INVALID_ARGUMENT, "an alignment of");
  FAILS(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(c, 1, (size_t)1 << 63),
        ORT_INVALID_ARGUMENT, "a threshold of");
  /* two tensors of 24 bytes follow each other */
  static const struct {
    size_t align, from, bytes;
  } rows[] = {{0, 0, 64 + 24},       {1, 0, 64 + 24},     {64, 0, 64 + 24},
              {4096, 24, 4096 + 24}, {4096, 25, 64 + 24}, {16384, 0, 16384 + 24}};
  message two = two_weights_model();
  OK(compiler()->ModelCompilationOptions_SetInputModelFromBuffer(c, two.bytes, two.n));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    void *data;
    size_t n;
    out.n = 0;
    OK(compiler()->ModelCompilationOptions_SetOutputModelWriteFunc(c, collect, &out));
    OK(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(c, rows[i].align, rows[i].from));
    OK(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(c, "w", 1, default_allocator(),
                                                                                    &data, &n));
    OK(compiler()->CompileModel(env, c));
    if (ort_is_onyx() || rows[i].bytes > 64 + 24) /* Microsoft's does not align by itself */
      if (n != rows[i].bytes) fail_msg("row %zu: %zu bytes, wanted %zu", i, n, rows[i].bytes);
    OK(ort()->AllocatorFree(default_allocator(), data));
  }
  compiler()->ReleaseModelCompilationOptions(c);
  ort()->ReleaseEnv(env);
}

static void test_errors(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtModelCompilationOptions *c;
  message m = scale_model();
  OK(ort()->CreateSessionOptions(&o));
  OK(compiler()->CreateModelCompilationOptionsFromSessionOptions(env, o, &c));
  FAILS(compiler()->CompileModel(env, c), ORT_INVALID_ARGUMENT, "no input model");
  FAILS(compiler()->ModelCompilationOptions_SetInputModelPath(c, ""), ORT_INVALID_ARGUMENT, "input model is empty");
  FAILS(compiler()->ModelCompilationOptions_SetInputModelFromBuffer(c, m.bytes, 0), ORT_INVALID_ARGUMENT, "0 bytes");
  FAILS(compiler()->ModelCompilationOptions_SetOutputModelPath(c, ""), ORT_INVALID_ARGUMENT, "output model is empty");
  FAILS(compiler()->ModelCompilationOptions_SetOutputModelExternalInitializersFile(c, "", 1), ORT_INVALID_ARGUMENT,
        "is empty");
  FAILS(compiler()->ModelCompilationOptions_SetGraphOptimizationLevel(c, (GraphOptimizationLevel)7),
        ORT_INVALID_ARGUMENT, "is 7");
  OK(compiler()->ModelCompilationOptions_SetInputModelFromBuffer(c, m.bytes, m.n));
  FAILS(compiler()->CompileModel(env, c), ORT_FAIL, "neither a path nor a buffer");
  message out = {0};
  OK(compiler()->ModelCompilationOptions_SetOutputModelWriteFunc(c, collect, &out));
  OK(compiler()->ModelCompilationOptions_SetFlags(c, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED));
  FAILS(compiler()->CompileModel(env, c), ORT_FAIL, "unable to compile any nodes");
  if (ort_is_onyx()) {
    FAILS(compiler()->CompileModel(NULL, c), ORT_INVALID_ARGUMENT, "'env' is NULL");
    FAILS(compiler()->CompileModel(env, NULL), ORT_INVALID_ARGUMENT, "'model_options' is NULL");
    FAILS(compiler()->ModelCompilationOptions_SetInputModelPath(NULL, "x"), ORT_INVALID_ARGUMENT, "'options' is NULL");
    FAILS(compiler()->ModelCompilationOptions_SetInputModelPath(c, NULL), ORT_INVALID_ARGUMENT, "'path' is NULL");
  }
  compiler()->ReleaseModelCompilationOptions(c);
  compiler()->ReleaseModelCompilationOptions(NULL);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

static void test_a_session_saves_its_optimized_model(void **state) {
  (void)state;
  char path[128], data[128];
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s;
  message m = scale_model();
  path_of(path, "optimized.onnx");
  path_of(data, "optimized.data");
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SetOptimizedModelFilePath(o, path));
  check_session(open_model(env, &m, o));
  check_file(env, path);
  OK(ort()->AddSessionConfigEntry(o, "session.optimized_model_external_initializers_file_name", "optimized.data"));
  OK(ort()->AddSessionConfigEntry(o, "session.optimized_model_external_initializers_min_size_in_bytes", "8"));
  check_session(open_model(env, &m, o));
  if (ort_is_onyx()) assert_int_equal(size_of(data), 8); /* Microsoft's pads its file */
  check_file(env, path);
  remove(path);
  remove(data);
  OK(ort()->SetOptimizedModelFilePath(o, "/nonexistent/folder/m.onnx"));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_INVALID_ARGUMENT, "/nonexistent/folder/");
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

/* A session maps what it writes over: who has the old file open must go on seeing it. */
static void test_a_session_saves_over_its_own_files(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  char path[128], data[128], was[sizeof(message)];
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OrtSession *s;
  message m = scale_model();
  path_of(path, "own.onnx");
  path_of(data, "own.data");
  FILE *f = fopen(path, "wb");
  assert_int_equal(fwrite(m.bytes, 1, m.n, f), m.n);
  fclose(f);
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SetOptimizedModelFilePath(o, path));
  OK(ort()->AddSessionConfigEntry(o, "session.optimized_model_external_initializers_file_name", "own.data"));
  OK(ort()->AddSessionConfigEntry(o, "session.optimized_model_external_initializers_min_size_in_bytes", "8"));
  for (int i = 0; i < 2; i++) { /* the second time the data is in own.data, too */
    FILE *old[] = {fopen(path, "rb"), i ? fopen(data, "rb") : NULL};
    long sizes[] = {size_of(path), size_of(data)};
    OK(ort()->CreateSession(env, path, o, &s));
    check_session(s);
    check_file(env, path);
    for (int k = 0; k <= i; k++) {
      assert_int_equal(fread(was, 1, sizeof was, old[k]), sizes[k]);
      if (i == 0) assert_memory_equal(was, m.bytes, m.n);
      fclose(old[k]);
    }
  }
  remove(path);
  remove(data);
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/onyx-compile-XXXXXX", tmp != NULL && strlen(tmp) < 32 ? tmp : "/tmp");
  if (mkdtemp(folder) == NULL) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_output_goes_where_it_is_told),
      cmocka_unit_test(test_a_file_is_written_beside_its_input),
      cmocka_unit_test(test_data_can_lie_beside_the_model),
      cmocka_unit_test(test_the_client_can_place_the_data),
      cmocka_unit_test(test_data_can_go_to_a_buffer),
      cmocka_unit_test(test_a_failure_leaves_the_buffer_alone),
      cmocka_unit_test(test_data_is_aligned_as_asked),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_a_session_saves_its_optimized_model),
      cmocka_unit_test(test_a_session_saves_over_its_own_files),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failed;
}
