/* SPDX-License-Identifier: Apache-2.0
 * I/O bindings and asynchronous runs through the ABI. */
#include <pthread.h>

#include "ort/models.h"

typedef struct fixture {
  OrtEnv *env;
  OrtSession *s;
  OrtIoBinding *b;
  OrtMemoryInfo *cpu;
} fixture;

static fixture open_scale(void) {
  fixture f = {.env = test_env()};
  message m = scale_model();
  f.s = open_model(f.env, &m, NULL);
  OK(ort()->CreateIoBinding(f.s, &f.b));
  OK(ort()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &f.cpu));
  return f;
}

static void close_fixture(fixture *f) {
  ort()->ReleaseMemoryInfo(f->cpu);
  ort()->ReleaseIoBinding(f->b);
  ort()->ReleaseSession(f->s);
  ort()->ReleaseEnv(f->env);
}

static void check_bound(const fixture *f, size_t at, const float *want, size_t n) {
  OrtValue **values;
  size_t count;
  OK(ort()->GetBoundOutputValues(f->b, default_allocator(), &values, &count));
  assert_true(at < count);
  check_floats(values[at], want, n);
  for (size_t i = 0; i < count; i++) ort()->ReleaseValue(values[i]);
  OK(ort()->AllocatorFree(default_allocator(), values));
}

static void bind_input(const fixture *f, const char *name, OrtValue *v) {
  OK(ort()->BindInput(f->b, name, v));
  ort()->ReleaseValue(v); /* the binding has its own */
}

static void test_what_is_bound_runs_again_and_again(void **state) {
  (void)state;
  fixture f = open_scale();
  float x[] = {1, 1}, other[] = {1, -1, 2, -2}, y[4] = {0};
  bind_input(&f, "x", FLOATS(x, 1, 2));
  OK(ort()->BindOutputToDevice(f.b, "y", f.cpu));
  OK(ort()->BindOutputToDevice(f.b, "z", f.cpu));
  OK(ort()->SynchronizeBoundInputs(f.b));
  for (int i = 0; i < 3; i++) {
    x[0] = (float)i;
    OK(ort()->RunWithBinding(f.s, NULL, f.b));
    OK(ort()->SynchronizeBoundOutputs(f.b));
    check_bound(&f, 0, (const float[]){(float)i, 2}, 2);
  }
  bind_input(&f, "x", FLOATS(other, 2, 2)); /* in place of the first */
  if (!ort_is_onyx()) {                     /* Microsoft's wants the outputs of the last run to fit */
    OK(ort()->BindOutputToDevice(f.b, "y", f.cpu));
    OK(ort()->BindOutputToDevice(f.b, "z", f.cpu));
  }
  OK(ort()->RunWithBinding(f.s, NULL, f.b));
  check_bound(&f, 0, (const float[]){1, -2, 2, -4}, 4);
  check_bound(&f, 1, (const float[]){1, 0, 2, 0}, 4);
  OrtValue *given = FLOATS(y, 2, 2);
  OK(ort()->BindOutput(f.b, "y", given));
  ort()->ReleaseValue(given);
  OK(ort()->RunWithBinding(f.s, NULL, f.b));
  assert_true(y[0] == 1 && y[1] == -2 && y[3] == -4);
  check_bound(&f, 0, y, 4);
  close_fixture(&f);
}

static void test_names_come_packed(void **state) {
  (void)state;
  fixture f = open_scale();
  char *names;
  size_t *lengths, n;
  OK(ort()->GetBoundOutputNames(f.b, default_allocator(), &names, &lengths, &n));
  assert_int_equal(n, 0);
  OK(ort()->BindOutputToDevice(f.b, "z", f.cpu));
  OK(ort()->BindOutputToDevice(f.b, "y", f.cpu));
  OK(ort()->GetBoundOutputNames(f.b, default_allocator(), &names, &lengths, &n));
  assert_int_equal(n, 2);
  assert_true(lengths[0] == 1 && lengths[1] == 1);
  assert_memory_equal(names, "zy", 2);
  OK(ort()->AllocatorFree(default_allocator(), names));
  OK(ort()->AllocatorFree(default_allocator(), lengths));
  ort()->ClearBoundOutputs(f.b);
  OK(ort()->GetBoundOutputNames(f.b, default_allocator(), &names, &lengths, &n));
  assert_int_equal(n, 0);
  close_fixture(&f);
}

static void test_a_default_may_be_bound(void **state) {
  (void)state;
  fixture f = open_scale();
  float x[] = {1, 1}, w[] = {7, 9};
  bind_input(&f, "x", FLOATS(x, 1, 2));
  bind_input(&f, "w", FLOATS(w, 2));
  OK(ort()->BindOutputToDevice(f.b, "y", f.cpu));
  OK(ort()->RunWithBinding(f.s, NULL, f.b));
  check_bound(&f, 0, w, 2);
  ort()->ClearBoundInputs(f.b);
  bind_input(&f, "x", FLOATS(x, 1, 2));
  OK(ort()->RunWithBinding(f.s, NULL, f.b));
  check_bound(&f, 0, (const float[]){1, 2}, 2);
  close_fixture(&f);
}

static void test_binding_errors(void **state) {
  (void)state;
  fixture f = open_scale();
  float x[] = {1, 1};
  OrtValue *v = FLOATS(x, 1, 2), **values;
  size_t n;
  FAILS(ort()->RunWithBinding(f.s, NULL, f.b), ORT_INVALID_ARGUMENT, "at least one output");
  OK(ort()->BindInput(f.b, "x", v));
  FAILS(ort()->BindInput(f.b, "q", v), ORT_FAIL, "no input 'q'");
  OK(ort()->BindOutput(f.b, "q", v)); /* found out in the run */
  FAILS(ort()->RunWithBinding(f.s, NULL, f.b), ORT_INVALID_ARGUMENT, "q");
  ort()->ClearBoundOutputs(f.b);
  OK(ort()->BindOutputToDevice(f.b, "q", f.cpu));
  FAILS(ort()->RunWithBinding(f.s, NULL, f.b), ORT_INVALID_ARGUMENT, "q");
  ort()->ClearBoundOutputs(f.b);
  if (ort_is_onyx()) { /* Microsoft's finds these out when it runs, or never */
    OK(ort()->BindOutputToDevice(f.b, "y", f.cpu));
    FAILS(ort()->GetBoundOutputValues(f.b, default_allocator(), &values, &n), ORT_FAIL, "before a run");
    FAILS(ort()->BindInput(NULL, "x", v), ORT_INVALID_ARGUMENT, "'binding' is NULL");
    FAILS(ort()->BindInput(f.b, NULL, v), ORT_INVALID_ARGUMENT, "'name' is NULL");
    FAILS(ort()->BindInput(f.b, "x", NULL), ORT_INVALID_ARGUMENT, "'value' is NULL");
    FAILS(ort()->RunWithBinding(f.s, NULL, NULL), ORT_INVALID_ARGUMENT, "'binding' is NULL");
    FAILS(ort()->RunWithBinding(NULL, NULL, f.b), ORT_INVALID_ARGUMENT, "'session' is NULL");
    FAILS(ort()->CreateIoBinding(NULL, &f.b), ORT_INVALID_ARGUMENT, "'session' is NULL");
  }
  ort()->ReleaseValue(v);
  ort()->ReleaseIoBinding(NULL);
  close_fixture(&f);
}

/* ---- asynchronous runs ---- */

typedef struct waiter {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int n_done, n_failed;
  OrtErrorCode code;
} waiter;

static void on_done(void *user, OrtValue **outputs, size_t n, OrtStatus *st) {
  waiter *w = user;
  (void)outputs, (void)n;
  pthread_mutex_lock(&w->lock);
  w->n_done++;
  if (st != NULL) w->n_failed++, w->code = ort()->GetErrorCode(st);
  ort()->ReleaseStatus(st);
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
}

static void wait_for(waiter *w, int n) {
  pthread_mutex_lock(&w->lock);
  while (w->n_done < n) pthread_cond_wait(&w->changed, &w->lock);
  pthread_mutex_unlock(&w->lock);
}

static OrtSession *open_with_threads(OrtEnv *env, const message *m, int n) {
  OrtSessionOptions *o;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SetIntraOpNumThreads(o, n));
  OrtSession *s = open_model(env, m, o);
  ort()->ReleaseSessionOptions(o);
  return s;
}

static void test_many_runs_at_once(void **state) {
  (void)state;
  enum { N = 32 };
  static const char *const x[] = {"x"}, *const y[] = {"y"};
  waiter w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, ORT_OK};
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtSession *s = open_with_threads(env, &m, 2);
  float data[N][2];
  OrtValue *in[N], *out[N] = {NULL};
  for (int i = 0; i < N; i++) {
    data[i][0] = data[i][1] = (float)i;
    in[i] = FLOATS(data[i], 1, 2);
    OK(ort()->RunAsync(s, NULL, x, (const OrtValue *const *)&in[i], 1, y, 1, &out[i], on_done, &w));
  }
  wait_for(&w, N);
  assert_int_equal(w.n_failed, 0);
  for (int i = 0; i < N; i++) {
    check_floats(out[i], (const float[]){(float)i, 2 * (float)i}, 2);
    ort()->ReleaseValue(in[i]);
    ort()->ReleaseValue(out[i]);
  }
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

static void test_an_asynchronous_run_tells_its_error(void **state) {
  (void)state;
  static const char *const x[] = {"x"}, *const q[] = {"q"};
  waiter w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, ORT_OK};
  OrtEnv *env = test_env();
  message m = scale_model();
  OrtSession *s = open_with_threads(env, &m, 2), *one = open_with_threads(env, &m, 1);
  float data[2] = {0};
  OrtValue *in = FLOATS(data, 1, 2), *out = NULL;
  const OrtValue *const *inputs = (const OrtValue *const *)&in;
  OK(ort()->RunAsync(s, NULL, x, inputs, 1, q, 1, &out, on_done, &w));
  wait_for(&w, 1);
  assert_int_equal(w.n_failed, 1);
  assert_int_equal(w.code, ORT_INVALID_ARGUMENT);
  FAILS(ort()->RunAsync(one, NULL, x, inputs, 1, q, 1, &out, on_done, &w), ORT_INVALID_ARGUMENT, "one thread");
  if (ort_is_onyx()) { /* Microsoft's library calls a NULL */
    FAILS(ort()->RunAsync(s, NULL, x, inputs, 1, q, 1, &out, NULL, &w), ORT_INVALID_ARGUMENT, "'run_async_callback'");
    FAILS(ort()->RunAsync(NULL, NULL, x, inputs, 1, q, 1, &out, on_done, &w), ORT_INVALID_ARGUMENT, "'session'");
  }
  ort()->ReleaseValue(in);
  ort()->ReleaseSession(one);
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_bound_runs_again_and_again),
      cmocka_unit_test(test_names_come_packed),
      cmocka_unit_test(test_a_default_may_be_bound),
      cmocka_unit_test(test_binding_errors),
      cmocka_unit_test(test_many_runs_at_once),
      cmocka_unit_test(test_an_asynchronous_run_tells_its_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
