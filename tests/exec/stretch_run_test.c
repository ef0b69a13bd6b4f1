/* SPDX-License-Identifier: Apache-2.0
 * exec/stretch_run_test.c - runs of small steps apart when something else comes in: errors, bodies, dynamic steps, many
 * threads. */
#include <pthread.h>
#include <string.h>

#include "exec/stretch.h"
#include "support/small_nets.h"

/* ---- errors ---- */

/* Two of six branches may fail; the context is as good as new afterwards. */
static void test_an_error_names_its_node(void **state) {
  static writer w;
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  w.n = 0;
  say(&w, NET_HEAD "(float[4000] x) => (float[4000] y) {");
  for (int b = 0; b < 6; b++)
    say(&w, " [cast%d] i%d = Cast <to = 7> (x) [gather%d] g%d = Gather (x, i%d) [s%d] s%d = Softmax (g%d)", b, b, b, b,
        b, b, b, b);
  say(&w, " y = Sum (s0, s1, s2, s3, s4, s5) }");
  open_text(&o, w.text, 2, 0);
  float *x = ox_value_data(o.x);
  for (int turn = 0; turn < 12; turn++) {
    bool bad = turn % 3 == 2;
    x[17] = bad ? 4000 : 0;
    if (turn) set_pause(&o, true);
    ox_status *st = run_opened(&o, NULL, out);
    assert_true((st != NULL) == bad);
    if (turn) assert_true(context_of(&o)->stretches && context_of(&o)->stretches->apart);
    if (st && !strstr(ox_status_message(st), "node 'gather")) fail_msg("%s", ox_status_message(st));
    ox_status_free(st);
    release_outputs(out);
  }
  close_text(&o);
}

static void test_every_failed_allocation_is_an_error(void **state) {
  static writer w;
  (void)state;
  net_text(net_named("strings: kernels that take memory"), &w);
  long at = 0;
  for (bool ok = false; !ok; at++) {
    opened o;
    ox_value *out[MOST_OUT];
    open_text(&o, w.text, 2, 0);
    o.count.fail_at = atomic_load(&o.count.calls) + at;
    ox_status *st = run_opened(&o, NULL, out);
    release_outputs(out);
    if (!st) {
      set_pause(&o, true);
      st = run_opened(&o, NULL, out);
      release_outputs(out);
    }
    ok = !st;
    if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", at, ox_status_message(st));
    ox_status_free(st);
    close_text(&o);
  }
  assert_true(at > 20);
}

/* ---- bodies, dynamic steps, many threads ---- */

static void test_bodies_have_stretches_of_their_own(void **state) {
  static writer w;
  (void)state;
  opened o, list;
  ox_value *got[MOST_OUT], *want[MOST_OUT];
  w.n = 0;
  say(&w, NET_HEAD
      "(float[16,128] x) => (float[16,128] y) <int64 m = {9}, bool go = {1}> { y = Loop <body = b (int64 i, bool c,"
      " float[16,128] v) => (bool d, float[16,128] z) { d = Identity (c)");
  for (int b = 0; b < 8; b++)
    say(&w, " l%d = LeakyRelu <alpha = %g> (v) s%d = Softmax (l%d) e%d = Exp (s%d)", b, 0.1 * (b + 1), b, b, b, b);
  say(&w, " z = Sum (e0, e1, e2, e3, e4, e5, e6, e7) }> (m, go, x) }");
  open_text(&list, w.text, 1, 0);
  open_text(&o, w.text, 3, 0);
  CHECK_OK(run_opened(&list, NULL, want));
  for (int turn = 0; turn < 5; turn++) {
    CHECK_OK(run_opened(&o, NULL, got));
    assert_true(same_tensor(ox_value_get(got[0]), ox_value_get(want[0])));
    release_outputs(got);
  }
  release_outputs(want);
  close_text(&o), close_text(&list);
}

/* Dynamic steps before and after, and buffers of theirs that die while the stretch runs. */
static void test_dynamic_steps_around(void **state) {
  static writer w;
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  w.n = 0;
  say(&w, NET_HEAD
      "(float[16,128] x) => (float[16,128] y, float[16,128] z) { nz = NonZero (x) t = Cast <to = 1> (nz)"
      " r = ReduceMax <keepdims = 0> (t)");
  for (int b = 0; b < 8; b++)
    say(&w, " l%d = LeakyRelu <alpha = %g> (x) s%d = Softmax (l%d) e%d = Exp (s%d)", b, 0.1 * (b + 1), b, b, b, b);
  say(&w, " y = Sum (e0, e1, e2, e3, e4, e5, e6, e7) z = Mul (y, r) }");
  open_text(&o, w.text, 2, 0);
  for (int turn = 0; turn < 6; turn++) {
    if (turn) set_pause(&o, turn % 2);
    CHECK_OK(run_opened(&o, NULL, out));
    assert_non_null(context_of(&o)->stretches);
    for (int64_t i = 0; i < 16 * 128; i += 77) {
      float want = (float)ox_tensor_element(ox_value_get(out[0]), i) * 127;
      assert_true((float)ox_tensor_element(ox_value_get(out[1]), i) == want);
    }
    release_outputs(out);
  }
  close_text(&o);
}

typedef struct {
  opened *o;
  ox_value **want;
  int failures;
} client;

static void *client_main(void *arg) {
  client *c = arg;
  ox_value *got[MOST_OUT];
  for (int i = 0; i < 50; i++) {
    ox_status *st = run_opened(c->o, NULL, got);
    for (size_t k = 0; !st && k < ox_session_output_count(c->o->s); k++)
      c->failures += !same_tensor(ox_value_get(got[k]), ox_value_get(c->want[k]));
    c->failures += st != NULL;
    ox_status_free(st);
    release_outputs(got);
  }
  return NULL;
}

static void test_many_threads_on_one_session(void **state) {
  static writer w;
  (void)state;
  opened o;
  pthread_t threads[4];
  client clients[4];
  ox_value *want[MOST_OUT];
  open_text(&o, net_text(net_named("in place"), &w), 3, 0);
  CHECK_OK(run_opened(&o, NULL, want));
  for (int i = 0; i < 4; i++) {
    clients[i] = (client){&o, want, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, client_main, &clients[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(clients[i].failures, 0);
  }
  release_outputs(want);
  close_text(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_error_names_its_node),
      cmocka_unit_test(test_every_failed_allocation_is_an_error),
      cmocka_unit_test(test_bodies_have_stretches_of_their_own),
      cmocka_unit_test(test_dynamic_steps_around),
      cmocka_unit_test(test_many_threads_on_one_session),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
