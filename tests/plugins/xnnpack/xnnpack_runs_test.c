/* SPDX-License-Identifier: Apache-2.0
 * plugins/xnnpack/xnnpack_runs_test.c - the provider "xnnpack" in a process: threads, runs at the same time, shapes
 * that change, inputs at the end of a page, options, and a program that has brought a libpthreadpool of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "support/census.h"
#include "support/counting_alloc.h"
#include "support/ep_models.h"
#include "support/text_session.h"

/* Weights from ramps: w in [-1, 1], of 16 x 8 x 3 x 3 and 8 x 16 x 1 x 1. */
static char model[1 << 16];

static void add_ramp(const char *shape, const char *name, int n) {
  char *at = model + strlen(model);
  at += sprintf(at, "float[%s] %s = {", shape, name);
  for (int i = 0; i < n; i++) at += sprintf(at, "%s%.4f", i ? "," : "", (i * 37 % 200 - 100) * 0.01);
  sprintf(at, "}");
}

static void make_model(void) {
  strcpy(model, "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,8,H,W] x) => (float[A,B,C,D] y) <");
  add_ramp("16,8,3,3", "w", 16 * 8 * 9), strcat(model, ", ");
  add_ramp("8,16,1,1", "v", 128), strcat(model, ", "), add_ramp("8,1,3,3", "d", 72);
  strcat(model,
         "> { a = Conv <pads = [1,1,1,1]> (x, w) b = Relu (a) c = Conv (b, v) e = Add (c, x) f = Sigmoid (e)"
         " h = Mul (e, f) i = Conv <pads = [1,1,1,1], group = 8> (h, d) y = Add (i, x) }");
}

typedef struct {
  char text[512];
  int warnings;
} heard;

static void hear(void *ctx, int level, const char *text) {
  heard *h = ctx;
  if (level < 2) return;
  h->warnings++;
  snprintf(h->text, sizeof h->text, "%s", text);
}

static ox_env *open_env(heard *h) {
  ox_env_opts eo = {.struct_size = sizeof eo, .log = h ? hear : NULL, .log_ctx = h};
  ox_env *env;
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(ox_env_load_plugin(env, XNNPACK_PLUGIN));
  return env;
}

static ox_status *open_text(ox_env *env, const char *text, uint32_t threads, const char *key, const char *value,
                            ox_session **out) {
  const ox_provider_spec spec = {"xnnpack", {key ? 1 : 0, &key, &value}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1, so.n_threads = threads;
  return text_session(env, text, &so, out);
}

static ox_status *open_with(ox_env *env, uint32_t threads, const char *key, const char *value, ox_session **out) {
  return open_text(env, model, threads, key, value, out);
}

static ox_value *image(ox_env *env, int64_t n, int64_t side) {
  const int64_t dims[] = {n, 8, side, side};
  return ramp_value(env, -1, 2.0f / (float)(n * 8 * side * side), 4, dims);
}

/* The sum of all elements with weights: other bits, another sum. */
static double run_sum(ox_session *s, const ox_value *x) {
  const char *name = "x";
  ox_value *y = NULL;
  double sum = 0;
  CHECK_OK(ox_session_run(s, NULL, &name, &x, 1, NULL, &y, 1));
  const ox_tensor *t = ox_value_get(y);
  for (size_t i = 0; i < t->bytes / 4; i++) sum += ((const float *)t->data)[i] * (double)(1 + i % 7);
  ox_value_release(y);
  return sum;
}

static void test_runs_give_the_same(void **state) {
  (void)state;
  ox_env *env = open_env(NULL);
  ox_value *x = image(env, 2, 40);
  double first = 0;
  for (uint32_t threads = 1; threads <= 3; threads++) {
    ox_session *s;
    CHECK_OK(open_with(env, threads, NULL, NULL, &s));
    for (int i = 0; i < 20; i++) {
      double sum = run_sum(s, x);
      if (!first) first = sum;
      assert_true(sum == first);
    }
    ox_session_release(s);
  }
  ox_value_release(x);
  ox_env_release(env);
}

/* ---- threads ---- */

/* Not all that the plug-in computes is a loop of the library's: products of activations, sums, Softmax, bytes. */
static const char products[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,8,H,W] x) => (float[A,B,C,D] y)"
    "{ t = Transpose <perm = [0,1,3,2]> (x) a = MatMul (x, t) b = Softmax (a) c = MatMul (b, x) y = Add (c, x) }";
static const char bytes[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,8,H,W] x) => (float[A,B,C,D] y)"
    "<float s = {0.01}, uint8 z = {128}, float r = {0.00390625}, uint8 zero = {0}> {"
    "  q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z)"
    "  a = Add (d, d) b = QuantizeLinear (a, s, z) e = DequantizeLinear (b, s, z)"
    "  f = Sigmoid (e) g = QuantizeLinear (f, r, zero) h = DequantizeLinear (g, r, zero)"
    "  p = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> (h) y = Mul (p, e) }";

typedef struct {
  const char *name, *text;
  uint32_t threads;
} work;

static int run_often(const void *arg) {
  const work *w = arg;
  ox_env *env = open_env(NULL);
  ox_value *x = image(env, 2, 40);
  ox_session *s;
  CHECK_OK(open_text(env, w->text, w->threads, NULL, NULL, &s));
  for (int i = 0; i < 50; i++) run_sum(s, x);
  return 0;
}

static void test_threads_are_the_sessions(void **state) {
  (void)state;
  if (!CAN_COUNT_THREADS) skip();
  int alone = dlsym(RTLD_DEFAULT, "pthreadpool_create") == NULL; /* else the library has one thread */
  work works[] = {{"convolutions", model, 0}, {"products", products, 0}, {"bytes", bytes, 0}};
  for (size_t i = 0; i < OX_COUNT(works); i++) {
    for (uint32_t n = 1; n <= 4; n++) {
      works[i].threads = n;
      census c = census_take(run_often, &works[i]);
      if (c.most > (int)n || c.most < (n > 1 && alone ? 2 : 1))
        fail_msg("%s, a session of %u: %d threads", works[i].name, n, c.most);
    }
  }
}

/* ---- runs at the same time ---- */

typedef struct {
  ox_env *env;
  ox_session *s;
  const double *want; /* of each side */
} client;
enum { SIDES = 4, CLIENTS = 6 };

static void *be_client(void *arg) {
  const client *c = arg;
  for (int i = 0; i < 40; i++) {
    int k = i % SIDES;
    ox_value *x = image(c->env, 1 + k % 2, 5 + 6 * k);
    assert_true(run_sum(c->s, x) == c->want[k]);
    ox_value_release(x);
  }
  return NULL;
}

static void test_runs_at_the_same_time(void **state) {
  (void)state;
  ox_env *env = open_env(NULL);
  ox_session *s[2];
  double want[SIDES];
  CHECK_OK(open_with(env, 2, NULL, NULL, &s[0]));
  CHECK_OK(open_with(env, 1, "intra_op_num_threads", "1", &s[1])); /* shares the weights of the first */
  for (int k = 0; k < SIDES; k++) {
    ox_value *x = image(env, 1 + k % 2, 5 + 6 * k);
    want[k] = run_sum(s[0], x);
    ox_value_release(x);
  }
  pthread_t threads[CLIENTS];
  client clients[CLIENTS];
  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = (client){env, s[i % 2], want};
    assert_int_equal(pthread_create(&threads[i], NULL, be_client, &clients[i]), 0);
  }
  for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
  ox_session_release(s[0]);
  ox_value *x = image(env, 1, 5);
  assert_true(run_sum(s[1], x) == want[0]); /* the weights are still there */
  ox_value_release(x);
  ox_session_release(s[1]);
  ox_env_release(env);
}

/* ---- inputs ---- */

/* The library reads beyond the end of what it is given; behind this image there is nothing. */
static void test_an_input_at_the_end_of_a_page(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N] x) => (float[A] y)"
      "{ a = Abs (x) b = Sigmoid (a) y = Mul (b, x) }";
  const ox_provider_spec spec = {"xnnpack", {0}};
  ox_session_opts so;
  ox_session *s;
  ox_env *env = open_env(NULL);
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1;
  CHECK_OK(text_session(env, text, &so, &s));
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
  for (int64_t n = 1; n < 70; n++) {
    ox_value *x;
    float *data = (float *)(void *)(pages + page) - n;
    for (int64_t i = 0; i < n; i++) data[i] = 1;
    CHECK_OK(ox_value_wrap(env, OX_F32, &n, 1, data, (size_t)n * 4, NULL, NULL, &x));
    double sum = run_sum(s, x), want = 0;
    for (int64_t i = 0; i < n; i++) want += 0.7310585786 * (double)(1 + i % 7);
    assert_true(sum > want * (1 - 1e-5) && sum < want * (1 + 1e-5));
    ox_value_release(x);
  }
  munmap(pages, 2 * page);
  ox_session_release(s);
  ox_env_release(env);
}

static void test_what_does_not_fit_is_an_error(void **state) {
  (void)state;
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,M] x) => (float[A,B] y)"
      "<float[2,2] w = {1,2,3,4}> { y = MatMul (x, w) }";
  const ox_provider_spec spec = {"xnnpack", {0}};
  const char *name = "x";
  const int64_t dims[] = {1, 3};
  ox_session_opts so;
  ox_session *s;
  ox_env *env = open_env(NULL);
  ox_value *x = ramp_value(env, 0, 1, 2, dims), *y = NULL;
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1;
  CHECK_OK(text_session(env, text, &so, &s));
  ox_status *st = ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, &y, 1);
  CHECK_FAILS(st, OX_SHAPE_MISMATCH, "MatMul");
  ox_value_release(x);
  ox_session_release(s);
  ox_env_release(env);
}

enum { MANY = 20000, SMALL_STACK = 256 << 10 };

static void *run_many(void *arg) {
  char *text = malloc(256 + 2 * MANY);
  ox_env *env = open_env(NULL);
  const ox_provider_spec spec = {"xnnpack", {0}};
  ox_session_opts so;
  ox_session *s;
  (void)arg;
  assert_non_null(text);
  strcpy(text,
         "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1,8,1,1] x) => (float[A,B,C,D] y) { r = Relu (x) "
         "c = Concat <axis = 0> (r");
  char *at = text + strlen(text);
  for (int i = 1; i < MANY; i++) *at++ = ',', *at++ = 'r';
  strcpy(at, ") y = Relu (c) }");
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1, so.n_threads = 1;
  CHECK_OK(text_session(env, text, &so, &s));
  ox_value *x = image(env, 1, 1), *y = NULL;
  const char *name = "x";
  CHECK_OK(ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, &y, 1));
  assert_int_equal(ox_value_get(y)->shape.dim[0], MANY);
  ox_value_release(x), ox_value_release(y);
  ox_session_release(s);
  ox_env_release(env);
  free(text);
  return NULL;
}

/* A step of many inputs takes no stack for them. */
static void test_a_node_of_many_inputs(void **state) {
  (void)state;
  pthread_t thread;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  assert_int_equal(pthread_attr_setstacksize(&attr, SMALL_STACK), 0);
  assert_int_equal(pthread_create(&thread, &attr, run_many, NULL), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
}

static void test_options(void **state) {
  (void)state;
  ox_env *env = open_env(NULL);
  ox_session *s;
  CHECK_FAILS(open_with(env, 2, "threads", "2", &s), OX_INVALID_ARGUMENT, "threads");
  CHECK_FAILS(open_with(env, 2, "intra_op_num_threads", "two", &s), OX_INVALID_ARGUMENT, "intra_op_num_threads");
  CHECK_FAILS(open_with(env, 2, "intra_op_num_threads", "-1", &s), OX_INVALID_ARGUMENT, "intra_op_num_threads");
  CHECK_OK(open_with(env, 2, "intra_op_num_threads", "99", &s));
  ox_session_release(s);
  ox_env_release(env);
}

/* ---- memory ---- */

/* Loads and runs with the allocation |fail_at| failing; true: it was not reached. */
static bool load_and_run(long fail_at) {
  counting_alloc count = {.fail_at = fail_at};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_env *env = NULL;
  ox_session *s = NULL;
  ox_value *x = image(NULL, 1, 9), *y = NULL;
  const char *name = "x";
  ox_status *st = ox_env_create(&eo, &env);
  if (!st) st = ox_env_load_plugin(env, XNNPACK_PLUGIN);
  if (!st) st = open_with(env, 1, NULL, NULL, &s);
  if (!st) st = ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, &y, 1);
  bool done = !st;
  if (st) assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
  ox_status_free(st);
  ox_value_release(y);
  ox_value_release(x);
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
  return done;
}

static void test_each_allocation_may_fail(void **state) {
  (void)state;
  long n = 0;
  while (!load_and_run(n)) n++;
  assert_true(n > 10);
}

/* ---- another libpthreadpool ---- */

static const char *self;

static void test_another_libpthreadpool(void **state) {
  (void)state;
  bool loaded = dlsym(RTLD_DEFAULT, "pthreadpool_create") != NULL; /* before ours, which is not global */
  heard h = {{0}, 0};
  ox_env *env = open_env(&h);
  ox_value *x = image(env, 1, 20);
  ox_session *s;
  CHECK_OK(open_with(env, 2, NULL, NULL, &s));
  run_sum(s, x);
  bool theirs = loaded && !XNNPACK_IS_STATIC; /* a library inside the plug-in is bound to it */
  assert_int_equal(h.warnings, theirs ? 1 : 0);
  if (theirs) assert_non_null(strstr(h.text, "libpthreadpool"));
  ox_session_release(s);
  ox_value_release(x);
  ox_env_release(env);
  if (loaded || getenv("XNNPACK_AGAIN")) return;
  char command[1024];
  snprintf(command, sizeof command,
           "XNNPACK_AGAIN=1 ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD=libpthreadpool.so.0 '%s' "
           ">/dev/null 2>&1",
           self);
  assert_int_equal(system(command), 0); /* all of these tests, there */
}

int main(int argc, char **argv) {
  (void)argc;
  self = argv[0];
  make_model();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_threads_are_the_sessions), /* first: the child has no threads of another test's */
      cmocka_unit_test(test_runs_give_the_same),
      cmocka_unit_test(test_runs_at_the_same_time),
      cmocka_unit_test(test_an_input_at_the_end_of_a_page),
      cmocka_unit_test(test_what_does_not_fit_is_an_error),
      cmocka_unit_test(test_a_node_of_many_inputs),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_each_allocation_may_fail),
      cmocka_unit_test(test_another_libpthreadpool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
