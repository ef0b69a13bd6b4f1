/* SPDX-License-Identifier: Apache-2.0
 * session/overriding_test.c - inputs with a default: what is listed, errors, options, files, threads. What runs
 * compute is in overriding_results_test.c. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/session.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* ---- what is listed ---- */

static const char listed[] =
    HEAD "g (float[2,N] w, float[N] x, int64 k = {5}) => (float[2,N] y) <float[2,1] w = {1, 2}> { y = Mul (x, w) }";

static void test_defaults_are_listed(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  ox_value_info info;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, listed, NULL, &s));
  assert_int_equal(ox_session_input_count(s), 1);
  CHECK_OK(ox_session_input(s, 0, &info));
  assert_string_equal(info.name, "x");
  assert_int_equal(info.optional, 0);
  assert_int_equal(ox_session_default_count(s), 2);
  CHECK_OK(ox_session_default(s, 0, &info));
  assert_string_equal(info.name, "w");
  assert_int_equal(info.optional, 1);
  assert_int_equal(info.dtype, OX_F32);
  assert_int_equal(info.rank, 2);
  assert_int_equal(info.dims[0], 2);
  assert_int_equal(info.dims[1], -1);
  assert_string_equal(info.dim_names[1], "N");
  CHECK_OK(ox_session_default(s, 1, &info));
  assert_string_equal(info.name, "k");
  assert_int_equal(info.rank, 0);
  CHECK_FAILS(ox_session_default(s, 2, &info), OX_INVALID_ARGUMENT, "there is no default 2: the model has 2");
  ox_session_release(s);
  ox_env_release(env);
}

/* ---- errors ---- */

static void test_errors_name_input_wanted_and_got(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env,
                        HEAD "g (float[4] x, float[2,K] w) => (float[4] y) <float[1] c = {1}, float[2,1] w = {1, 2}>"
                             "{ r = ReduceSum <keepdims = 0> (w) a = Mul (x, r) y = Add (a, c) }",
                        NULL, &s));
  ox_value *x = ramp_value(env, 1, 1, 1, (int64_t[]){4}), *flat = ramp_value(env, 1, 1, 1, (int64_t[]){2}),
           *tall = ramp_value(env, 1, 1, 2, (int64_t[]){3, 2}), *good = ramp_value(env, 1, 1, 2, (int64_t[]){2, 3}),
           *ints, *none;
  CHECK_OK(ox_value_create(env, OX_I32, (int64_t[]){2, 1}, 2, &ints));
  CHECK_OK(ox_value_create_copy(env, &(ox_tensor){.kind = OX_NONE_VALUE}, &none));
  const struct {
    const char *names[2];
    const ox_value *values[2];
    ox_code code;
    const char *part;
  } bad[] = {
      {{"x", "w"}, {x, flat}, OX_SHAPE_MISMATCH, "input 'w': wanted shape [2,K], got [2]"},
      {{"x", "w"}, {x, tall}, OX_SHAPE_MISMATCH, "input 'w': wanted shape [2,K], got [3,2]"},
      {{"w", "x"}, {ints, x}, OX_SHAPE_MISMATCH, "input 'w': wanted float32, got int32"},
      {{"x", "w"}, {x, none}, OX_SHAPE_MISMATCH, "input 'w': wanted a value of kind tensor, got empty optional"},
      {{"x", "c"}, {x, good}, OX_INVALID_ARGUMENT, "'c' is a constant of the model"},
      {{"x", "v"}, {x, good}, OX_INVALID_ARGUMENT, "no input 'v'"},
      {{"w", "v"}, {good, x}, OX_INVALID_ARGUMENT, "input 'x' is missing"},
      {{"w", "x"}, {good, NULL}, OX_INVALID_ARGUMENT, "input 'x' is missing"},
      {{"w", "x"}, {good, good}, OX_SHAPE_MISMATCH, "input 'x': wanted shape [4], got [2,3]"},
  };
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    ox_value *out = NULL;
    ox_status *st = ox_session_run(s, NULL, bad[i].names, bad[i].values, 2, NULL, &out, 1);
    if (ox_status_code(st) != bad[i].code || !strstr(ox_status_message(st), bad[i].part))
      fail_msg("case %zu: got %s \"%s\"", i, ox_code_name(ox_status_code(st)), ox_status_message(st));
    assert_null(out);
    ox_status_free(st);
  }
  ox_value_release(x), ox_value_release(flat), ox_value_release(tall), ox_value_release(good);
  ox_value_release(ints), ox_value_release(none);
  ox_session_release(s);
  ox_env_release(env);
}

/* Before ir_version 4 all initializers had to be inputs: none of them is a default, and nothing is kept. */
static void test_old_models_have_no_defaults(void **state) {
  (void)state;
  static const char *const none[] = {
      "<ir_version: 3, opset_import: [\"\" : 17]> g (float[4] x, float[1] w = {2}) => (float[4] y) { y = Mul (x, w) }",
      HEAD "g (float[4] x) => (float[4] y) <float[1] w = {2}> { y = Mul (x, w) }"};
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(none); i++) {
    ox_session *s;
    CHECK_OK(text_session(env, none[i], NULL, &s));
    assert_int_equal(ox_session_default_count(s), 0);
    assert_null(s->source);
    ox_value *x = ramp_value(env, 1, 1, 1, (int64_t[]){4}), *w = ramp_value(env, 1, 1, 1, (int64_t[]){1}), *out = NULL;
    CHECK_FAILS(ox_session_run(s, NULL, (const char *[]){"x", "w"}, (const ox_value *[]){x, w}, 2, NULL, &out, 1),
                OX_INVALID_ARGUMENT, "'w' is a constant");
    ox_value_release(x), ox_value_release(w);
    ox_session_release(s);
  }
  ox_env_release(env);
}

/* ---- options, which the caller may forget ---- */

static ox_status *run_over(ox_session *s, ox_env *env, float w, double *out_first) {
  ox_value *x = ramp_value(env, 1, 1, 1, (int64_t[]){4}), *over = ramp_value(env, w, 0, 1, (int64_t[]){1}), *out = NULL;
  ox_status *st = ox_session_run(s, NULL, (const char *[]){"x", "w"}, (const ox_value *[]){x, over}, 2, NULL, &out, 1);
  if (!st) *out_first = ox_tensor_element(ox_value_get(out), 0);
  ox_value_release(x), ox_value_release(over), ox_value_release(out);
  return st;
}

static const char scaled[] = HEAD
    "g (float[N] x, float[1] w = {2}) => (float[N] y) <float[1] b = {1}>"
    "{ a = Mul (x, w) y = Add (a, b) }";

static void test_options_are_those_of_the_session(void **state) {
  (void)state;
  char dim[] = "N", provider[] = "cpu", rule[] = "no-such-rule", require[] = "all nodes on cpu", name[] = "b";
  int64_t size = 4;
  ox_provider_spec spec = {.name = provider};
  const char *dims[] = {dim}, *rules[] = {rule}, *requires[] = {require}, *names[] = {name};
  ox_env *env;
  ox_session *s;
  ox_session_opts o;
  double first;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_value *b = ramp_value(env, 100, 0, 1, (int64_t[]){1});
  const ox_value *values[] = {b};
  ox_session_opts_init(&o);
  o.dim_names = dims, o.dim_values = &size, o.n_dims = 1, o.providers = &spec, o.n_providers = 1;
  o.disabled_rules = rules, o.n_disabled_rules = 1, o.require = requires, o.n_require = 1;
  o.initializer_names = names, o.initializers = values, o.n_initializers = 1, o.n_threads = 3, o.profile = 1;
  CHECK_OK(text_session(env, scaled, &o, &s));
  ox_value_release(b);
  memset(dim, '?', 1), memset(provider, '?', 3), memset(rule, '?', 5), memset(require, '?', 3), memset(name, '?', 1);
  spec.name = dims[0] = rules[0] = requires[0] = names[0] = NULL, values[0] = NULL, size = -1;
  CHECK_OK(run_over(s, env, 10, &first));
  assert_true(first == 110);
  const ox_session *sibling = atomic_load(&s->sibling);
  assert_ptr_equal(sibling->pool, s->pool);
  assert_int_equal(sibling->max_threads, 3);
  assert_int_equal(sibling->model->graph->values[sibling->inputs[0]].type.shape.dim[0], 4);
  ox_node_time event;
  assert_int_equal(ox_session_profile_event(s, 0, &event), 1); /* its runs are in the session's profile */
  assert_string_equal(event.provider, "cpu");
  ox_session_release(s);
  ox_env_release(env);
}

/* ---- files ---- */

typedef struct {
  char root[64], path[96], sub[96];
  unsigned char *bytes;
  size_t n;
} folder;

static void put(const char *path, const void *bytes, size_t n) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  fclose(file);
}

static int setup(void **state) {
  folder *f = calloc(1, sizeof *f);
  strcpy(f->root, "/tmp/onyx-over-XXXXXX");
  if (!mkdtemp(f->root)) return 1;
  snprintf(f->path, sizeof f->path, "%s/m.onnx", f->root);
  snprintf(f->sub, sizeof f->sub, "%s/sub", f->root);
  f->bytes = text_model_bytes(scaled, &f->n);
  put(f->path, f->bytes, f->n);
  *state = f;
  return mkdir(f->sub, 0700);
}

static int teardown(void **state) {
  folder *f = *state;
  remove(f->path), remove(f->sub), remove(f->root);
  free(f->bytes), free(f);
  return 0;
}

static void test_a_relative_path_stays_right(void **state) {
  folder *f = *state;
  char *here = realpath(".", NULL);
  ox_env *env;
  ox_session *s;
  double first;
  CHECK_OK(ox_env_create(NULL, &env));
  assert_int_equal(chdir(f->root), 0);
  CHECK_OK(ox_session_create_file(env, "m.onnx", NULL, &s));
  assert_int_equal(chdir(f->sub), 0);
  CHECK_OK(run_over(s, env, 10, &first));
  assert_true(first == 11);
  assert_int_equal(chdir(here), 0);
  free(here);
  ox_session_release(s);
  ox_env_release(env);
}

/* Another file under that name is not taken for the model; once it is back all is well. */
static void test_a_model_that_changed_is_an_error(void **state) {
  folder *f = *state;
  char aside[128];
  ox_env *env;
  ox_session *s;
  double first;
  snprintf(aside, sizeof aside, "%s/sub/aside", f->root);
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_session_create_file(env, f->path, NULL, &s));
  assert_int_equal(rename(f->path, aside), 0);
  CHECK_FAILS(run_over(s, env, 10, &first), OX_NO_SUCH_FILE, "m.onnx");
  put(f->path, f->bytes, f->n);
  CHECK_FAILS(run_over(s, env, 10, &first), OX_FAIL, "files have changed");
  assert_int_equal(rename(aside, f->path), 0);
  CHECK_OK(run_over(s, env, 10, &first));
  assert_true(first == 11);
  ox_session_release(s);
  ox_env_release(env);
}

/* ---- many threads, and no memory ---- */

typedef struct {
  ox_session *s;
  ox_env *env;
  bool overrides;
  int failures;
} client;

static void *client_main(void *arg) {
  client *c = arg;
  ox_value *x = ramp_value(c->env, 1, 1, 1, (int64_t[]){4}), *w = ramp_value(c->env, 10, 0, 1, (int64_t[]){1});
  for (int i = 0; i < 20; i++) {
    ox_value *out = NULL;
    ox_status *st = ox_session_run(c->s, NULL, (const char *[]){"x", "w"}, (const ox_value *[]){x, w},
                                   1u + c->overrides, NULL, &out, 1);
    c->failures += st || ox_tensor_element(ox_value_get(out), 1) != (c->overrides ? 21 : 5);
    ox_status_free(st);
    ox_value_release(out);
  }
  ox_value_release(x), ox_value_release(w);
  return NULL;
}

static void test_many_threads_make_one_sibling(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  pthread_t threads[5];
  client clients[5];
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, scaled, NULL, &s));
  for (int i = 0; i < 5; i++) {
    clients[i] = (client){s, env, i % 2 == 0, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, client_main, &clients[i]), 0);
  }
  for (int i = 0; i < 5; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(clients[i].failures, 0);
  }
  ox_session_release(s);
  ox_env_release(env);
}

static void test_every_failed_allocation_is_an_error(void **state) {
  (void)state;
  size_t n;
  unsigned char *bytes = text_model_bytes(scaled, &n);
  ox_env *plain;
  long at = 0;
  CHECK_OK(ox_env_create(NULL, &plain));
  for (bool ok = false; !ok; at++) {
    counting_alloc count = {.fail_at = at};
    ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
    ox_session_opts so;
    ox_env *env = NULL;
    ox_session *s = NULL;
    double first;
    ox_session_opts_init(&so);
    so.n_threads = 1, so.copy_bytes = 1;
    ox_status *st = ox_env_create(&eo, &env);
    if (!st) st = ox_session_create(env, bytes, n, &so, &s);
    if (!st) st = run_over(s, plain, 10, &first);
    ok = !st;
    if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", at, ox_status_message(st));
    ox_status_free(st);
    ox_session_release(s);
    ox_env_release(env);
    assert_int_equal(atomic_load(&count.live), 0);
  }
  assert_true(at > 20);
  ox_env_release(plain);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults_are_listed),
      cmocka_unit_test(test_errors_name_input_wanted_and_got),
      cmocka_unit_test(test_old_models_have_no_defaults),
      cmocka_unit_test(test_options_are_those_of_the_session),
      cmocka_unit_test_setup_teardown(test_a_relative_path_stays_right, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_model_that_changed_is_an_error, setup, teardown),
      cmocka_unit_test(test_many_threads_make_one_sibling),
      cmocka_unit_test(test_every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
