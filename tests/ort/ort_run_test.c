/* SPDX-License-Identifier: Apache-2.0
 * Sessions and runs through the ABI: names, values, given outputs, errors. */
#include <pthread.h>

#include "ort/models.h"

static const char *const xy[] = {"x", "y"}, *const z[] = {"z"};

typedef struct fixture {
  OrtEnv *env;
  OrtSession *s;
  float a[4], b[4];
  OrtValue *in[2];
} fixture;

static fixture open_add(void) {
  fixture f = {.env = test_env(), .a = {1, 2, 3, 4}, .b = {10, 20, 30, 40}};
  message m = add_model();
  f.s = open_model(f.env, &m, NULL);
  return f;
}

static void make_inputs(fixture *f) {
  f->in[0] = FLOATS(f->a, 4);
  f->in[1] = FLOATS(f->b, 4);
}

static void close_fixture(fixture *f) {
  ort()->ReleaseValue(f->in[0]);
  ort()->ReleaseValue(f->in[1]);
  ort()->ReleaseSession(f->s);
  ort()->ReleaseEnv(f->env);
}

/* ---- what works ---- */

static void test_a_run_makes_its_outputs(void **state) {
  (void)state;
  fixture f = open_add();
  make_inputs(&f);
  for (int i = 0; i < 3; i++) {
    OrtValue *out = NULL;
    f.a[0] = (float)i;
    OK(ort()->Run(f.s, NULL, xy, (const OrtValue *const *)f.in, 2, z, 1, &out));
    check_floats(out, (const float[]){10 + (float)i, 22, 33, 44}, 4);
    ort()->ReleaseValue(out);
  }
  close_fixture(&f);
}

static void test_a_run_writes_where_it_is_told(void **state) {
  (void)state;
  fixture f = open_add();
  make_inputs(&f);
  float sum[4] = {0};
  OrtValue *out = FLOATS(sum, 4), *same = out;
  OK(ort()->Run(f.s, NULL, xy, (const OrtValue *const *)f.in, 2, z, 1, &out));
  assert_ptr_equal(out, same);
  assert_true(sum[0] == 11 && sum[3] == 44);
  ort()->ReleaseValue(out);
  close_fixture(&f);
}

/* A small tensor is one input, several outputs, in any order and more than once over. */
static void test_outputs_come_in_the_order_asked_for(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  float x[] = {-1, 1, 2, -2};
  OrtValue *in = FLOATS(x, 2, 2), *out[2] = {NULL, NULL};
  static const char *const names[] = {"z", "y"};
  OK(ort()->Run(s, NULL, (const char *const[]){"x"}, (const OrtValue *const[]){in}, 1, names, 2, out));
  check_floats(out[0], (const float[]){0, 2, 2, 0}, 4);
  check_floats(out[1], (const float[]){-1, 2, 2, -4}, 4);
  ort()->ReleaseValue(out[0]);
  ort()->ReleaseValue(out[1]);
  out[0] = NULL;
  OK(ort()->Run(s, NULL, (const char *const[]){"x"}, (const OrtValue *const[]){in}, 1, names, 1, out));
  ort()->ReleaseValue(out[0]);
  ort()->ReleaseValue(in);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

static void test_an_initializer_can_be_overridden(void **state) {
  (void)state;
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  float x[] = {1, 1}, w[] = {3, 5};
  OrtValue *in[] = {FLOATS(x, 1, 2), FLOATS(w, 2)}, *out = NULL;
  static const char *const names[] = {"x", "w"}, *const y[] = {"y"};
  OK(ort()->Run(s, NULL, names, (const OrtValue *const *)in, 2, y, 1, &out));
  check_floats(out, (const float[]){3, 5}, 2);
  ort()->ReleaseValue(out);
  out = NULL;
  OK(ort()->Run(s, NULL, names, (const OrtValue *const *)in, 1, y, 1, &out));
  check_floats(out, (const float[]){1, 2}, 2);
  ort()->ReleaseValue(out);
  ort()->ReleaseValue(in[0]);
  ort()->ReleaseValue(in[1]);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

/* More inputs and outputs than most models have. */
static void test_a_model_may_have_many_inputs_and_outputs(void **state) {
  (void)state;
  enum { N = 40 };
  static char names[2 * N][8];
  const char *in_names[N], *out_names[N];
  float data[N];
  OrtValue *in[N], *out[N] = {NULL};
  message g = {0};
  for (int i = 0; i < N; i++) {
    snprintf(names[i], sizeof *names, "x%d", i);
    snprintf(names[N + i], sizeof *names, "y%d", i);
    in_names[i] = names[i], out_names[i] = names[N + i];
    graph_node(&g, names[N + i], "Neg", names[i], names[N + i]);
    data[i] = (float)i;
    in[i] = FLOATS(&data[i], 1);
  }
  for (int i = 0; i < N; i++) graph_input(&g, in_names[i], FLOAT, "1");
  for (int i = 0; i < N; i++) graph_output(&g, out_names[i], FLOAT, "1");
  message m = model_of(&g, NULL, 0);
  OrtEnv *env = test_env();
  OrtSession *s = open_model(env, &m, NULL);
  OK(ort()->Run(s, NULL, in_names, (const OrtValue *const *)in, N, out_names, N, out));
  for (int i = 0; i < N; i++) {
    check_floats(out[i], (const float[]){-(float)i}, 1);
    ort()->ReleaseValue(out[i]);
    ort()->ReleaseValue(in[i]);
  }
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

/* ---- from many threads ---- */

static void *run_often(void *session) {
  float x[] = {1, -1}, w[] = {3, 5};
  OrtValue *in[] = {FLOATS(x, 1, 2), FLOATS(w, 2)};
  static const char *const names[] = {"x", "w"}, *const yz[] = {"y", "z"};
  OrtRunOptions *options;
  OK(ort()->CreateRunOptions(&options));
  for (int i = 0; i < 200; i++) {
    OrtValue *out[2] = {NULL, NULL};
    bool over = i % 8 == 7; /* now and then with another w */
    OK(ort()->Run(session, i % 2 ? options : NULL, names, (const OrtValue *const *)in, over ? 2 : 1, yz, 2, out));
    check_floats(out[0], over ? (const float[]){3, -5} : (const float[]){1, -2}, 2);
    check_floats(out[1], over ? (const float[]){3, 0} : (const float[]){1, 0}, 2);
    ort()->ReleaseValue(out[0]);
    ort()->ReleaseValue(out[1]);
  }
  ort()->ReleaseRunOptions(options);
  ort()->ReleaseValue(in[0]);
  ort()->ReleaseValue(in[1]);
  return NULL;
}

static void test_threads_run_one_session(void **state) {
  (void)state;
  enum { N = 4 };
  pthread_t threads[N];
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtSession *s = open_model(env, &m, NULL);
  for (int i = 0; i < N; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_often, s), 0);
  for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

/* ---- errors ---- */

static void test_null_arguments_are_named(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip(); /* Microsoft's library looks at some of them only by using them */
  fixture f = open_add();
  make_inputs(&f);
  const OrtValue *const *in = (const OrtValue *const *)f.in;
  OrtValue *out = NULL;
  FAILS(ort()->Run(NULL, NULL, xy, in, 2, z, 1, &out), ORT_INVALID_ARGUMENT, "'session' is NULL");
  FAILS(ort()->Run(f.s, NULL, NULL, in, 2, z, 1, &out), ORT_INVALID_ARGUMENT, "'input_names' is NULL");
  FAILS(ort()->Run(f.s, NULL, xy, NULL, 2, z, 1, &out), ORT_INVALID_ARGUMENT, "'inputs' is NULL");
  FAILS(ort()->Run(f.s, NULL, xy, in, 2, NULL, 1, &out), ORT_INVALID_ARGUMENT, "'output_names' is NULL");
  FAILS(ort()->Run(f.s, NULL, xy, in, 2, z, 1, NULL), ORT_INVALID_ARGUMENT, "'outputs' is NULL");
  FAILS(ort()->Run((OrtSession *)f.env, NULL, xy, in, 2, z, 1, &out), ORT_INVALID_ARGUMENT, "another kind");
  FAILS(ort()->Run(f.s, (OrtRunOptions *)f.env, xy, in, 2, z, 1, &out), ORT_INVALID_ARGUMENT, "another kind");
  FAILS(ort()->Run(f.s, NULL, xy, (const OrtValue *const[]){f.in[0], NULL}, 2, z, 1, &out), ORT_INVALID_ARGUMENT,
        "input 'y' is NULL");
  close_fixture(&f);
}

static void test_names_are_checked(void **state) {
  (void)state;
  fixture f = open_add();
  make_inputs(&f);
  const OrtValue *const *in = (const OrtValue *const *)f.in;
  OrtValue *out = NULL;
  static const struct {
    const char *x, *y, *z, *part;
    OrtErrorCode code;
  } rows[] = {{"x", "q", "z", "Invalid input name: q", ORT_INVALID_ARGUMENT},
              {"x", "y", "q", "Invalid output name: q", ORT_INVALID_ARGUMENT},
              {"x", "z", "z", "Invalid input name: z", ORT_INVALID_ARGUMENT},
              {"x", "y", "x", "Invalid output name: x", ORT_INVALID_ARGUMENT},
              {"x", "", "z", "input 1 is empty", ORT_INVALID_ARGUMENT},
              {NULL, "y", "z", "input 0 is NULL", ORT_INVALID_ARGUMENT},
              {"x", "y", "", "output 0 is empty", ORT_INVALID_ARGUMENT},
              {"x", "y", NULL, "output 0 is NULL", ORT_INVALID_ARGUMENT}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    FAILS(ort()->Run(f.s, NULL, (const char *const[]){rows[i].x, rows[i].y}, in, 2, &rows[i].z, 1, &out), rows[i].code,
          rows[i].part);
    assert_null(out);
  }
  FAILS(ort()->Run(f.s, NULL, xy, in, 2, z, 0, &out), ORT_INVALID_ARGUMENT, "at least one output");
  FAILS(ort()->Run(f.s, NULL, xy, in, 1, z, 1, &out), ORT_FAIL, "Missing Input: y");
  FAILS(ort()->Run(f.s, NULL, NULL, NULL, 0, z, 1, &out), ORT_FAIL, "Missing Input: x");
  close_fixture(&f);
}

static void test_values_are_checked(void **state) {
  (void)state;
  fixture f = open_add();
  make_inputs(&f);
  float data[8] = {0};
  OrtValue *out = NULL, *bad[4] = {FLOATS(data, 3), FLOATS(data, 4, 1), NULL, NULL};
  OrtMemoryInfo *cpu;
  OK(ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
  OK(ort()->CreateTensorWithDataAsOrtValue(cpu, data, 32, (const int64_t[]){4}, 1, INT64, &bad[2]));
  ort()->ReleaseMemoryInfo(cpu);
  OK(ort()->CreateValue((const OrtValue *const[]){f.in[0], f.in[1]}, 2, ONNX_TYPE_SEQUENCE, &bad[3]));
  static const char *const parts[] = {
      "Got invalid dimensions for input: y for the following indices\n index: 0 Got: 3 "
      "Expected: 4",
      "Invalid rank for input: y Got: 2 Expected: 1", "Actual: (tensor(int64)) , expected: (tensor(float",
      "Actual: (seq("};
  for (size_t i = 0; i < 4; i++) {
    FAILS(ort()->Run(f.s, NULL, xy, (const OrtValue *const[]){f.in[0], bad[i]}, 2, z, 1, &out), ORT_INVALID_ARGUMENT,
          parts[i]);
    ort()->ReleaseValue(bad[i]);
  }
  close_fixture(&f);
}

static void test_given_outputs_have_to_fit(void **state) {
  (void)state;
  fixture f = open_add();
  make_inputs(&f);
  float data[8] = {0};
  OrtValue *out = FLOATS(data, 3);
  FAILS(ort()->Run(f.s, NULL, xy, (const OrtValue *const *)f.in, 2, z, 1, &out), ORT_INVALID_ARGUMENT, "output 'z'");
  ort()->ReleaseValue(out);
  close_fixture(&f);
}

static void test_release_takes_null(void **state) {
  (void)state;
  ort()->ReleaseSession(NULL);
  ort()->ReleaseRunOptions(NULL);
  ort()->ReleaseSessionOptions(NULL);
  ort()->ReleaseEnv(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_run_makes_its_outputs),
      cmocka_unit_test(test_a_run_writes_where_it_is_told),
      cmocka_unit_test(test_outputs_come_in_the_order_asked_for),
      cmocka_unit_test(test_an_initializer_can_be_overridden),
      cmocka_unit_test(test_a_model_may_have_many_inputs_and_outputs),
      cmocka_unit_test(test_threads_run_one_session),
      cmocka_unit_test(test_null_arguments_are_named),
      cmocka_unit_test(test_names_are_checked),
      cmocka_unit_test(test_values_are_checked),
      cmocka_unit_test(test_given_outputs_have_to_fit),
      cmocka_unit_test(test_release_takes_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
