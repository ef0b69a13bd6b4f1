/* SPDX-License-Identifier: Apache-2.0
 * session/overriding_test.c - inputs with a default: constants until a run names one, and again when none does. */
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

/* ---- results: x is float[4] {1, 2, 3, 4}; what overrides is float or, for "s", int64 ---- */

enum { MOST = 9 };

typedef struct {
  const char *name; /* NULL: the default */
  size_t n;
  double v[4];
} given;

static const struct {
  const char *name, *text;
  given w, s;
  size_t n;
  double plain[MOST]; /* without overriding */
  size_t n_over;
  double over[MOST];
} cases[] = {
    {"a sum",
     HEAD "g (float[4] x, float[4] w = {1, 1, 1, 1}) => (float[4] y) { y = Add (x, w) }",
     {"w", 4, {10, 20, 30, 40}},
     {0},
     4,
     {2, 3, 4, 5},
     4,
     {11, 22, 33, 44}},
    {"a symbolic dimension",
     HEAD "g (float[4] x, float[K] w) => (float[M] y) <float[1] w = {7}> { y = Concat <axis = 0> (x, w) }",
     {"w", 3, {5, 6, 7}},
     {0},
     5,
     {1, 2, 3, 4, 7},
     7,
     {1, 2, 3, 4, 5, 6, 7}},
    {"nothing",
     HEAD "g (float[4] x, float[K] w) => (float[M] y) <float[1] w = {7}> { y = Concat <axis = 0> (x, w) }",
     {"w", 0, {0}},
     {0},
     5,
     {1, 2, 3, 4, 7},
     4,
     {1, 2, 3, 4}},
    {"one of two",
     HEAD "g (float[4] x, float[1] w = {2}, float[1] v = {3}) => (float[4] y) { a = Mul (x, w) y = Add (a, v) }",
     {"w", 1, {10}},
     {0},
     4,
     {5, 7, 9, 11},
     4,
     {13, 23, 33, 43}},
    {"before the input",
     HEAD "g (float[1] w = {2}, float[4] x) => (float[4] y) { y = Mul (x, w) }",
     {"w", 1, {10}},
     {0},
     4,
     {2, 4, 6, 8},
     4,
     {10, 20, 30, 40}},
    {"a shape",
     HEAD "g (float[4] x, int64[R] s) => (float y) <int64[1] s = {4}> { o = Expand (x, s) y = ReduceSum <keepdims = 0> "
          "(o) }",
     {0},
     {"s", 2, {2, 4}},
     1,
     {10},
     1,
     {20}},
    {"axes of a reduction",
     HEAD "g (float[4] x, int64[1] s = {0}) => (float[A] y) <int64[2] t = {2, 2}>"
          "{ r = Reshape (x, t) y = ReduceSum <keepdims = 0> (r, s) }",
     {0},
     {"s", 1, {1}},
     2,
     {4, 6},
     2,
     {3, 7}},
    {"in a branch",
     HEAD "g (float[4] x, float[1] w = {2}) => (float[4] y) <bool yes = {1}>"
          "{ y = If (yes) <then_branch = t () => (p) { p = Mul (x, w) }, else_branch = e () => (q) { q = Neg (x) }> }",
     {"w", 1, {10}},
     {0},
     4,
     {2, 4, 6, 8},
     4,
     {10, 20, 30, 40}},
    {"an output as it is",
     HEAD "g (float[4] x, float[2] w = {5, 6}) => (float[2] w) { y = Neg (x) }",
     {"w", 2, {7, 8}},
     {0},
     2,
     {5, 6},
     2,
     {7, 8}},
    {"read by nobody",
     HEAD "g (float[4] x, float[2] w = {5, 6}) => (float[4] y) { y = Neg (x) }",
     {"w", 2, {7, 8}},
     {0},
     4,
     {-1, -2, -3, -4},
     4,
     {-1, -2, -3, -4}},
    {"both",
     HEAD "g (float[4] x, float[1] w = {2}, int64[1] s = {0}) => (float[M] y)"
          "{ g = Gather (x, s) y = Mul (g, w) }",
     {"w", 1, {10}},
     {"s", 1, {3}},
     1,
     {2},
     1,
     {40}},
};

static ox_value *value_of(ox_env *env, const given *g, bool ints) {
  ox_value *v;
  const int64_t dims[] = {(int64_t)g->n};
  CHECK_OK(ox_value_create(env, ints ? OX_I64 : OX_F32, dims, 1, &v));
  for (size_t i = 0; i < g->n; i++) {
    if (ints)
      ((int64_t *)ox_value_data(v))[i] = (int64_t)g->v[i];
    else
      ((float *)ox_value_data(v))[i] = (float)g->v[i];
  }
  return v;
}

static void check(const char *name, const ox_value *out, size_t n, const double *want) {
  const ox_tensor *t = ox_value_get(out);
  if (ox_tensor_count(t) != (int64_t)n) fail_msg("%s: %lld elements", name, (long long)ox_tensor_count(t));
  for (size_t i = 0; i < n; i++)
    if (ox_tensor_element(t, (int64_t)i) != want[i])
      fail_msg("%s, element %zu: %g, wanted %g", name, i, ox_tensor_element(t, (int64_t)i), want[i]);
}

/* Turns without, with and without overriding; the last of each kind allocates nothing. */
static void check_case(size_t i, uint32_t level) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_session_opts so;
  ox_env *env;
  ox_session *s;
  ox_session_opts_init(&so);
  so.optimize = level;
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(text_session(env, cases[i].text, &so, &s));
  assert_int_equal(ox_session_input_count(s), 1);
  ox_value *x = ramp_value(env, 1, 1, 1, (int64_t[]){4}), *over[2] = {NULL};
  const char *names[3];
  size_t n = 0;
  for (int k = 0; k < 2; k++) {
    const given *g = k ? &cases[i].s : &cases[i].w;
    if (!g->name) continue;
    over[n] = value_of(env, g, k == 1);
    names[n++] = g->name;
  }
  names[n] = "x"; /* in an order that is not the model's */
  for (int turn = 0; turn < 7; turn++) {
    bool overrides = turn / 2 % 2, again = turn > 4 || turn % 2;
    const ox_value *in[3] = {NULL}; /* NULL stands for the default */
    for (size_t k = 0; k < n && overrides; k++) in[k] = over[k];
    in[n] = x;
    ox_value *out = NULL;
    long before = atomic_load(&count.calls);
    if (!overrides && !again)
      CHECK_OK(ox_session_run(s, NULL, names + n, in + n, 1, NULL, &out, 1));
    else
      CHECK_OK(ox_session_run(s, NULL, names, in, n + 1, NULL, &out, 1));
    if (again && atomic_load(&count.calls) != before) fail_msg("%s: a repeated run allocates", cases[i].name);
    check(cases[i].name, out, overrides ? cases[i].n_over : cases[i].n, overrides ? cases[i].over : cases[i].plain);
    ox_value_release(out);
    assert_true((atomic_load(&s->sibling) != NULL) == (turn >= 2));
  }
  ox_value_release(x), ox_value_release(over[0]), ox_value_release(over[1]);
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
}

static void test_results_and_repeated_runs(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (uint32_t level = 0; level <= 3; level += 3) check_case(i, level);
}

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
  CHECK_FAILS(ox_session_default(s, 2, &info), OX_INVALID_ARGUMENT, "default 2 of 2");
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
      {{"x", "w"}, {x, flat}, OX_SHAPE_MISMATCH, "input 'w': wanted shape [2,s0], got [2]"},
      {{"x", "w"}, {x, tall}, OX_SHAPE_MISMATCH, "input 'w': wanted shape [2,s0], got [3,2]"},
      {{"w", "x"}, {ints, x}, OX_SHAPE_MISMATCH, "input 'w': wanted float32, got int32"},
      {{"x", "w"}, {x, none}, OX_SHAPE_MISMATCH, "input 'w': wanted kind"},
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
      cmocka_unit_test(test_results_and_repeated_runs),
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
