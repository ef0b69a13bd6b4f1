/* SPDX-License-Identifier: Apache-2.0
 * session/shapes_memory_test.c - however many shapes a session has run, it holds the workspace of the largest, once for
 * each run at the same time; results are those of a session that has run nothing else. */
#include <math.h>
#include <pthread.h>

#include "base/macros.h"
#include "session/session.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

/* y = (2x)^2 - 2x; a and b lie in the slab. */
static const char model[] = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] x) => (float[N] y) {"
                            " a = Add (x, x) b = Mul (a, a) c = Neg (a) y = Add (b, c) }";

enum { LARGEST = 100000, SLAB = 2 * LARGEST * (int)sizeof(float), BESIDE = 512 << 10 /* 18 contexts without slabs */ };

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  long before; /* bytes live with the session, and no run */
} opened;

static void open_session(opened *o) {
  o->count = (counting_alloc){.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.n_threads = 1;
  CHECK_OK(ox_env_create(&eo, &o->env));
  CHECK_OK(text_session(o->env, model, &so, &o->s));
  o->before = atomic_load(&o->count.live_bytes);
}

static void close_session(opened *o) {
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

/* One run of |n| elements, into memory of the caller's. */
static ox_status *run(ox_session *s, int64_t n, const ox_value *x, ox_value *y) {
  const char *name = "x";
  ox_status *st = ox_session_run(s, NULL, &name, &x, 1, NULL, &y, 1);
  if (st) return st;
  const float *in = ox_value_get(x)->data, *out = ox_value_get(y)->data;
  for (int64_t i = 0; i < n; i++) {
    double a = 2 * (double)in[i], want = a * a - a;
    if (fabs(out[i] - want) > 1e-6 * (a * a + fabs(a)))
      fail_msg("%ld elements: y[%ld] is %g, wanted %g", (long)n, (long)i, (double)out[i], want);
  }
  return NULL;
}

static ox_status *run_new(ox_env *env, ox_session *s, int64_t n) {
  ox_value *x = ramp_value(env, -3, 0.001f, 1, &n), *y = ramp_value(env, 0, 0, 1, &n);
  ox_status *st = run(s, n, x, y);
  ox_value_release(x), ox_value_release(y);
  return st;
}

static int64_t first_largest(int i) { return i ? 1 + (int64_t)i * 7919 % LARGEST : LARGEST; }
static int64_t growing(int i) { return LARGEST / 64 * (i + 1); }
static int64_t shrinking(int i) { return LARGEST - LARGEST / 64 * i; }
static int64_t two_in_turns(int i) { return i % 2 ? LARGEST : 10; }
static int64_t any(int i) { return 1 + (int64_t)i * 104729 % LARGEST; }

static void test_many_shapes_take_no_more_than_the_largest(void **state) {
  static const struct {
    const char *name;
    int64_t (*shape)(int i);
  } cases[] = {{"the largest first", first_largest}, {"growing", growing}, {"shrinking", shrinking},
               {"two in turns", two_in_turns},       {"any", any}};
  (void)state;
  for (size_t c = 0; c < OX_COUNT(cases); c++) {
    opened o;
    open_session(&o);
    ox_env *apart;
    CHECK_OK(ox_env_create(NULL, &apart));
    for (int i = 0; i < 60; i++) CHECK_OK(run_new(apart, o.s, cases[c].shape(i)));
    long most = o.before + SLAB + SLAB / 8 + BESIDE, peak = atomic_load(&o.count.peak_bytes);
    if (peak > most) fail_msg("%s: %ld bytes, wanted at most %ld", cases[c].name, peak, most);
    ox_session_shrink(o.s);
    if (atomic_load(&o.count.live_bytes) > o.before + BESIDE) fail_msg("%s: the slab stays", cases[c].name);
    CHECK_OK(run_new(apart, o.s, 1000));
    ox_env_release(apart);
    close_session(&o);
  }
}

/* Contexts of two shapes take turns with one slab: neither asks for memory again. */
static void test_known_shapes_allocate_nothing(void **state) {
  (void)state;
  opened o;
  open_session(&o);
  ox_value *x[2], *y[2];
  const int64_t n[2] = {1000, LARGEST};
  for (int i = 0; i < 2; i++) x[i] = ramp_value(o.env, 1, 0.01f, 1, &n[i]), y[i] = ramp_value(o.env, 0, 0, 1, &n[i]);
  for (int i = 0; i < 4; i++) CHECK_OK(run(o.s, n[i % 2], x[i % 2], y[i % 2]));
  long calls = atomic_load(&o.count.calls);
  for (int i = 0; i < 10; i++) CHECK_OK(run(o.s, n[i % 2], x[i % 2], y[i % 2]));
  assert_int_equal(atomic_load(&o.count.calls), calls);
  for (int i = 0; i < 2; i++) ox_value_release(x[i]), ox_value_release(y[i]);
  close_session(&o);
}

/* After the slab is lost to trimming, a context that was made before asks for one, and finds none. */
static void test_a_run_that_gets_no_slab(void **state) {
  (void)state;
  opened o;
  open_session(&o);
  ox_env *apart;
  CHECK_OK(ox_env_create(NULL, &apart));
  int failures = 0;
  for (long fail = 0; fail < 100; fail++) {
    CHECK_OK(run_new(apart, o.s, 500));
    o.count.fail_at = atomic_load(&o.count.calls) + fail;
    ox_status *large = run_new(apart, o.s, LARGEST), *small = run_new(apart, o.s, 500);
    o.count.fail_at = -1;
    if (large) assert_int_equal(ox_status_code(large), OX_OUT_OF_MEMORY), failures++;
    if (small) assert_int_equal(ox_status_code(small), OX_OUT_OF_MEMORY), failures++;
    bool done = !large && !small && fail > 0;
    ox_status_free(large), ox_status_free(small);
    CHECK_OK(run_new(apart, o.s, LARGEST));
    ox_session_shrink(o.s);
    if (done) break;
  }
  assert_true(failures > 2);
  ox_env_release(apart);
  close_session(&o);
}

static void trims_nothing(void *ctx) { (void)ctx; }

/* Another run has the slab, and there is no memory for a second one. */
static void test_the_only_slab_is_in_use(void **state) {
  (void)state;
  opened o;
  ox_slab theirs;
  ox_workspace account = {.trim = trims_nothing};
  const ox_shape shape = {.rank = 1, .dim = {500}};
  size_t bytes;
  open_session(&o);
  ox_env *apart;
  CHECK_OK(ox_env_create(NULL, &apart));
  CHECK_OK(run_new(apart, o.s, 500));
  assert_true(ox_slabs_take(&o.s->slabs, &account, 1, NULL, &theirs));
  o.count.fail_at = atomic_load(&o.count.calls);
  for (int i = 0; i < 3; i++) {
    ox_status *st = i == 1 ? ox_session_plan(o.s, &shape, 1, &bytes) : run_new(apart, o.s, 500);
    assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
  }
  o.count.fail_at = -1;
  CHECK_OK(run_new(apart, o.s, 500));
  ox_slabs_give(&o.s->slabs, theirs);
  CHECK_OK(run_new(apart, o.s, 500));
  ox_env_release(apart);
  close_session(&o);
}

typedef struct {
  ox_env *env;
  ox_session *s;
  int first;
} client;

static void *runs_of(void *arg) {
  const client *c = arg;
  ox_status *st = NULL;
  for (int i = 0; i < 200 && !st; i++) st = run_new(c->env, c->s, any(c->first + i));
  return st;
}

static void test_two_clients(void **state) {
  (void)state;
  opened o;
  open_session(&o);
  ox_env *apart;
  CHECK_OK(ox_env_create(NULL, &apart));
  client clients[2] = {{apart, o.s, 0}, {apart, o.s, 5}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, runs_of, &clients[i]), 0);
  for (int i = 0; i < 2; i++) {
    void *st;
    pthread_join(threads[i], &st);
    CHECK_OK((ox_status *)st);
  }
  long most = o.before + 2 * (SLAB + SLAB / 8) + BESIDE, peak = atomic_load(&o.count.peak_bytes);
  if (peak > most) fail_msg("%ld bytes, wanted at most %ld", peak, most);
  ox_env_release(apart);
  close_session(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_shapes_take_no_more_than_the_largest),
      cmocka_unit_test(test_known_shapes_allocate_nothing),
      cmocka_unit_test(test_a_run_that_gets_no_slab),
      cmocka_unit_test(test_the_only_slab_is_in_use),
      cmocka_unit_test(test_two_clients),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
