/* SPDX-License-Identifier: Apache-2.0
 * Initializers that the client has: shared values, values for external data, files of it in memory. And dimensions that
 * are fixed, by name and by denotation. */
#include "ort/models.h"

/* float[N,2] x, with a denotation for N; w as |external| data of "w.bin" at offset 4, or {1, 2} => float[N,2] y. */
static message scale(bool external) {
  static const float ones[] = {1, 2};
  message g = {0}, w = {0}, type = {0}, tensor_type_ = {0}, shape = {0}, n = {0}, two = {0};
  graph_node(&g, "scale", "Mul", "x,w", "y");
  if (external) {
    static const char *const pairs[][2] = {{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}};
    put_int(&w, 1, 2);
    put_int(&w, 2, FLOAT);
    put_text(&w, 8, "w");
    for (size_t i = 0; i < 3; i++) {
      message pair = {0};
      put_text(&pair, 1, pairs[i][0]);
      put_text(&pair, 2, pairs[i][1]);
      put_message(&w, 13, &pair);
    }
    put_int(&w, 14, 1);
  } else {
    w = tensor("w", FLOAT, (const int64_t[]){2}, 1, ones, sizeof ones);
  }
  put_message(&g, 5, &w);
  put_text(&n, 2, "N");
  put_text(&n, 3, "DATA_BATCH");
  put_int(&two, 1, 2);
  put_message(&shape, 1, &n);
  put_message(&shape, 1, &two);
  put_int(&tensor_type_, 1, FLOAT);
  put_message(&tensor_type_, 2, &shape);
  put_message(&type, 1, &tensor_type_);
  put_value(&g, 11, "x", &type);
  graph_output(&g, "y", FLOAT, "N,2");
  return model_of(&g, NULL, 0);
}

static OrtSessionOptions *new_options(void) {
  OrtSessionOptions *o;
  OK(ort()->CreateSessionOptions(&o));
  return o;
}

static void check_run(OrtEnv *env, const message *m, const OrtSessionOptions *o, const float *want) {
  OrtSession *s = open_model(env, m, o);
  float x[] = {1, 1};
  OrtValue *in = FLOATS(x, 1, 2), *out = NULL;
  OK(ort()->Run(s, NULL, (const char *const[]){"x"}, (const OrtValue *const *)&in, 1, (const char *const[]){"y"}, 1,
                &out));
  check_floats(out, want, 2);
  ort()->ReleaseValue(in);
  ort()->ReleaseValue(out);
  ort()->ReleaseSession(s);
}

static void test_a_value_replaces_an_initializer(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o = new_options(), *copy;
  float w[] = {3, 4};
  OrtValue *v = FLOATS(w, 2);
  message m = scale(false);
  OK(ort()->AddInitializer(o, "w", v));
  OK(ort()->AddInitializer(o, "nowhere", v)); /* is skipped */
  FAILS(ort()->AddInitializer(o, "w", v), ORT_INVALID_ARGUMENT, "added already");
  check_run(env, &m, o, w);
  OK(ort()->CloneSessionOptions(o, &copy));
  ort()->ReleaseSessionOptions(o);
  check_run(env, &m, copy, w);
  ort()->ReleaseSessionOptions(copy);
  ort()->ReleaseValue(v);
  ort()->ReleaseEnv(env);
}

static void test_values_take_the_place_of_external_data(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o = new_options();
  OrtSession *s;
  float w[] = {5, 6};
  OrtValue *v = FLOATS(w, 2);
  static const char *const names[] = {"w"}, *const unknown[] = {"nowhere"};
  message m = scale(true);
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "w.bin");
  OK(ort()->AddExternalInitializers(o, names, (const OrtValue *const *)&v, 1));
  FAILS(ort()->AddExternalInitializers(o, names, (const OrtValue *const *)&v, 1), ORT_INVALID_ARGUMENT,
        "added already");
  check_run(env, &m, o, (const float[]){5, 6});
  OK(ort()->AddExternalInitializers(o, unknown, (const OrtValue *const *)&v, 1));
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "no initializer 'nowhere'");
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseValue(v);
  ort()->ReleaseEnv(env);
}

/* What lies in memory is copied: it may go as soon as the session is there. */
static void test_files_in_memory_have_external_data(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  OrtSessionOptions *o = new_options();
  OrtSession *s;
  float *file = malloc(12), x[] = {1, 1};
  static const char *const names[] = {"w.bin"};
  const size_t bytes[] = {12}, less[] = {8};
  message m = scale(true);
  file[0] = 0, file[1] = 7, file[2] = 8;
  OK(ort()->AddExternalInitializersFromFilesInMemory(o, names, (char *const[]){(char *)file}, bytes, 1));
  FAILS(ort()->AddExternalInitializersFromFilesInMemory(o, names, (char *const[]){(char *)file}, bytes, 1),
        ORT_INVALID_ARGUMENT, "'w.bin' has been added already");
  OK(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s));
  ort()->ReleaseSessionOptions(o);
  file[1] = file[2] = 0;
  OrtValue *in = FLOATS(x, 1, 2), *out = NULL;
  OK(ort()->Run(s, NULL, (const char *const[]){"x"}, (const OrtValue *const *)&in, 1, (const char *const[]){"y"}, 1,
                &out));
  check_floats(out, (const float[]){7, 8}, 2);
  ort()->ReleaseValue(in);
  ort()->ReleaseValue(out);
  ort()->ReleaseSession(s);
  o = new_options();
  OK(ort()->AddExternalInitializersFromFilesInMemory(o, names, (char *const[]){(char *)file}, less, 1));
  if (ort_is_onyx()) FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, o, &s), ORT_FAIL, "has 8 bytes");
  ort()->ReleaseSessionOptions(o);
  ort()->ReleaseEnv(env);
  free(file);
}

static void check_first_dim(OrtEnv *env, const OrtSessionOptions *o, int64_t want) {
  message m = scale(false);
  OrtSession *s = open_model(env, &m, o);
  OrtTypeInfo *type;
  const OrtTensorTypeAndShapeInfo *tensor;
  int64_t dims[2];
  OK(ort()->SessionGetInputTypeInfo(s, 0, &type));
  OK(ort()->CastTypeInfoToTensorInfo(type, &tensor));
  OK(ort()->GetDimensions(tensor, dims, 2));
  assert_int_equal(dims[0], want);
  assert_int_equal(dims[1], 2);
  ort()->ReleaseTypeInfo(type);
  ort()->ReleaseSession(s);
}

static void test_dimensions_can_be_fixed(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  static const struct {
    const char *name;
    bool by_denotation;
    int64_t value, want;
  } rows[] = {{"N", false, 3, 3}, {"DATA_BATCH", true, 5, 5}, {"M", false, 3, -1}, {"DATA_BATCH", false, 5, -1},
              {"N", true, 5, -1}, {"", true, 7, -1},          {"N", false, -1, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OrtSessionOptions *o = new_options();
    if (rows[i].by_denotation)
      OK(ort()->AddFreeDimensionOverride(o, rows[i].name, rows[i].value));
    else
      OK(ort()->AddFreeDimensionOverrideByName(o, rows[i].name, rows[i].value));
    check_first_dim(env, o, rows[i].want);
    ort()->ReleaseSessionOptions(o);
  }
  ort()->ReleaseEnv(env);
}

static void test_null_arguments_are_named(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's library dereferences some of them */
  OrtSessionOptions *o = new_options();
  float w[] = {3, 4};
  OrtValue *v = FLOATS(w, 2);
  static const char *const none[] = {NULL};
  const size_t bytes[] = {8};
  FAILS(ort()->AddInitializer(NULL, "w", v), ORT_INVALID_ARGUMENT, "'options' is NULL");
  FAILS(ort()->AddInitializer(o, NULL, v), ORT_INVALID_ARGUMENT, "'name' is NULL");
  FAILS(ort()->AddInitializer(o, "w", NULL), ORT_INVALID_ARGUMENT, "'val' is NULL");
  FAILS(ort()->AddExternalInitializers(o, none, (const OrtValue *const *)&v, 1), ORT_INVALID_ARGUMENT, "0 is NULL");
  FAILS(ort()->AddExternalInitializers(o, NULL, NULL, 1), ORT_INVALID_ARGUMENT, "'names' is NULL");
  FAILS(ort()->AddExternalInitializersFromFilesInMemory(o, none, (char *const[]){(char *)w}, bytes, 1),
        ORT_INVALID_ARGUMENT, "file 0 is NULL");
  FAILS(ort()->AddExternalInitializersFromFilesInMemory(o, NULL, NULL, NULL, 1), ORT_INVALID_ARGUMENT, "'names'");
  ort()->ReleaseValue(v);
  ort()->ReleaseSessionOptions(o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_value_replaces_an_initializer),
      cmocka_unit_test(test_values_take_the_place_of_external_data),
      cmocka_unit_test(test_files_in_memory_have_external_data),
      cmocka_unit_test(test_dimensions_can_be_fixed),
      cmocka_unit_test(test_null_arguments_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
