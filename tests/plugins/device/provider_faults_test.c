/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/provider_faults_test.c - a session on a device where everything fails once: allocations of the host,
 * calls of the API, the device itself. It ends in a status, nothing is left, and what fails in a run only fails that
 * run. On the stand-in for a GPU: GPU_PLUGIN is the provider, CUDA_STANDIN the library in the place of NVIDIA's. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/use_standin.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/ep_models.h"
#include "support/text_session.h"

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,2,6,6] x, float[2,2,3,3] w, float[72,4] m) => "
    "(float[N,4] y, float[N,2,6,6] z, float[N,2,6,6] u, float[N,2,6,6] d, int64[4] a) <int64 two = {2}, float[2] b = "
    "{1, 2}, float[4] k = {1, -2, 3, 4}, "
    "float s = {0.1}, uint8 o = {100}, int8[2,2,1,1] v = {1, -2, 3, 4}, float[2] t = {0.5, 0.25}, int8 e = {0}> "
    "{ c = Conv <pads = [1,1,1,1]> (x, w, b) r = Relu (c) z = Add (r, x) f = Flatten (z) p = MatMul (f, m) "
    "q = Mul (p, k) h = Softmax (q) y = Neg (h) i = QuantizeLinear (z, s, o) "
    "j = QLinearConv (i, s, o, v, t, e, s, o) u = DequantizeLinear (j, s, o) "
    "a = Shape (r) l = Gather (a, two) n = Cast <to = 1> (l) d = Div (r, n) }";

/* What libraries do while they store: a bias, a residual, Relu; 1 x 1 is timed as a product, too. */
static const char fused[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1,128,16,16] x, float[128,128,3,3] w, float[128] b, "
    "float[128,128,1,1] v, float[128,128] p) => (float[1,128,16,16] y, float[1,128,16,16] z, float[1,128,16,16] u, "
    "float[128,128] m) { c = Conv <pads = [1,1,1,1]> (x, w, b) y = Relu (c) d = Conv <pads = [1,1,1,1]> (x, w, b) "
    "s = Add (d, x) z = Relu (s) u = Conv (x, v) g = MatMul (p, p) h = Add (g, b) m = Add (h, p) }";

static struct {
  void (*fail_at)(long call, int code);
  void (*fail_once)(long call, int code);
  long (*calls)(void);
  void (*idle)(int idle);
  long (*live)(void);
  void (*limit)(size_t bytes);
  void (*lose)(int code);
} standin;

static const int codes[] = {2, 702, 999}; /* out of memory, launch timeout, unknown */
enum { LOST = 700 };

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ep_inputs in;
} opened;

static ox_status *start_model(opened *o, const char *model, long host_fails, const char *key, const char *value) {
  const ox_provider_spec spec = {"cuda", {key ? 1 : 0, &key, &value}};
  ox_session_opts so;
  *o = (opened){.count.fail_at = host_fails};
  const ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts_init(&so);
  so.n_threads = 1, so.providers = &spec, so.n_providers = 1;
  ox_status *st = ox_env_create(&eo, &o->env);
  if (!st) st = ox_env_load_plugin(o->env, GPU_PLUGIN);
  if (!st) st = text_session(o->env, model, &so, &o->s);
  return st;
}

static ox_status *start(opened *o, long host_fails, const char *key, const char *value) {
  return start_model(o, text, host_fails, key, value);
}

static void finish(opened *o) {
  o->count.fail_at = -1;
  ep_inputs_free(&o->in);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
  assert_int_equal(standin.live(), 0);
}

/* Runs of two shapes, the first three times, so that it is recorded. |*out_right|: the outputs of the last one. */
static ox_status *run_some(opened *o, bool *out_right) {
  ox_status *st = NULL;
  *out_right = false;
  for (int i = 0; i < 4 && !st; i++) {
    ep_outputs want, got = {0};
    ep_inputs in;
    ep_inputs_make(o->env, o->s, i == 3 ? 2 : 3, &in);
    st = ep_run(o->s, &in, &got);
    if (!st && i == 3) {
      ep_cpu_outputs(text, OX_OPTIMIZE_ALL, 2, &want);
      ep_outputs_compare("the last run", &want, &got, 1e-5);
      ep_outputs_free(&want);
      *out_right = true;
    }
    if (!st) ep_outputs_free(&got);
    ep_inputs_free(&in);
  }
  return st;
}

static void expect_text(ox_status *st, const char *what, long n) {
  if (st && !*ox_status_message(st)) fail_msg("%s %ld: no text", what, n);
  ox_status_free(st);
}

/* Each call from the session's creation on. */
static void test_calls_fail(void **state) {
  (void)state;
  for (size_t c = 0; c < OX_COUNT(codes); c++)
    for (long n = 0;; n++) {
      opened o;
      bool right;
      standin.fail_at(n, codes[c]);
      ox_status *st = start(&o, -1, NULL, NULL);
      if (!st) st = run_some(&o, &right);
      standin.fail_at(-1, 0);
      bool done = !st;
      expect_text(st, "call", n);
      finish(&o);
      if (done) break;
      assert_true(n < 10000);
    }
}

/* Each call of the runs; afterwards the session works. Failures inside the part name the node. */
static void test_a_run_fails_and_the_next_does_not(void **state) {
  long named = 0;
  (void)state;
  for (size_t c = 0; c < OX_COUNT(codes); c++)
    for (long n = 0;; n++) {
      opened o;
      bool right;
      CHECK_OK(start(&o, -1, NULL, NULL));
      standin.fail_at(n, codes[c]);
      ox_status *st = run_some(&o, &right);
      standin.fail_at(-1, 0);
      bool done = !st;
      named += st && strstr(ox_status_message(st), "node '");
      if (st && !strstr(ox_status_message(st), "provider 'cuda'")) fail_msg("call %ld: %s", n, ox_status_message(st));
      ox_status_free(st);
      CHECK_OK(run_some(&o, &right));
      assert_true(right);
      finish(&o);
      if (done) break;
      assert_true(n < 10000);
    }
  assert_true(named > 100);
}

static ox_status *run_fused(opened *o, ep_outputs *out) {
  ep_inputs in;
  ep_inputs_make(o->env, o->s, 1, &in);
  ox_status *st = ep_run(o->s, &in, out);
  ep_inputs_free(&in);
  return st;
}

/* One call of the first run fails, and no other: what a library cannot prepare the kernels do, what fails later names
 * the node; either way the next runs are right. */
static void test_a_fused_call_fails(void **state) {
  long named = 0, without = 0, n = 0;
  ep_outputs want, got;
  (void)state;
  ep_cpu_outputs(fused, OX_OPTIMIZE_ALL, 1, &want);
  for (bool done = false; !done; n++) {
    opened o;
    CHECK_OK(start_model(&o, fused, -1, NULL, NULL));
    standin.idle(1);
    standin.fail_once(n, codes[n % 3]);
    ox_status *st = run_fused(&o, &got);
    done = standin.calls() <= n;
    standin.fail_at(-1, 0);
    standin.idle(0);
    if (!st) ep_outputs_free(&got);
    without += !st && !done;
    named += st && strstr(ox_status_message(st), "node '");
    if (st && !strstr(ox_status_message(st), "provider 'cuda'")) fail_msg("call %ld: %s", n, ox_status_message(st));
    ox_status_free(st);
    CHECK_OK(run_fused(&o, &got));
    ep_outputs_compare("after a failure", &want, &got, 1e-5);
    ep_outputs_free(&got);
    finish(&o);
  }
  ep_outputs_free(&want);
  if (named < 40 || without < 40) fail_msg("of %ld calls %ld named a node, %ld were done without", n, named, without);
}

static void test_memory_of_the_host_fails(void **state) {
  (void)state;
  long n = 0;
  for (bool done = false; !done; n++) {
    opened o;
    ox_status *st = start(&o, n, NULL, NULL);
    done = !st;
    if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", n, ox_status_message(st));
    ox_status_free(st);
    finish(&o);
  }
  assert_true(n > 20);
}

static void test_memory_of_the_host_fails_in_a_run(void **state) {
  (void)state;
  for (long n = 0; n < 200; n++) {
    opened o;
    ep_inputs in;
    ep_outputs got = {0};
    CHECK_OK(start(&o, -1, NULL, NULL));
    ep_inputs_make(o.env, o.s, 3, &in);
    o.count.fail_at = atomic_load(&o.count.calls) + n;
    ox_status *st = ep_run(o.s, &in, &got);
    o.count.fail_at = -1;
    if (!st)
      ep_outputs_free(&got);
    else if (ox_status_code(st) != OX_OUT_OF_MEMORY)
      fail_msg("allocation %ld: %s", n, ox_status_message(st));
    ep_inputs_free(&in);
    bool done = !st, right;
    ox_status_free(st);
    CHECK_OK(run_some(&o, &right));
    finish(&o);
    if (done) return;
  }
  fail_msg("a run allocates without an end");
}

/* The device is gone in the middle: every call fails, also releases do nothing, and the session ends all the same. */
static void test_the_device_is_lost(void **state) {
  (void)state;
  opened o;
  bool right;
  CHECK_OK(start(&o, -1, NULL, NULL));
  CHECK_OK(run_some(&o, &right));
  standin.lose(LOST);
  ox_status *st = run_some(&o, &right);
  assert_non_null(st);
  expect_text(st, "lost", 0);
  expect_text(run_some(&o, &right), "lost", 1);
  standin.lose(0);
  finish(&o);
}

/* ---- falling back ---- */

static char last_warning[1024];

static void keep_warning(void *ctx, int level, const char *line) {
  (void)ctx;
  if (level == OX_LOG_LEVEL_WARNING) snprintf(last_warning, sizeof last_warning, "%s", line);
}

static void start_with_cpu(opened *o, const char *model) {
  const ox_provider_spec spec = {"cuda", {0}};
  ox_session_opts so;
  *o = (opened){.count.fail_at = -1};
  const ox_env_opts eo = {.struct_size = sizeof eo,
                          .alloc = counting_alloc_of(&o->count),
                          .log = keep_warning,
                          .log_level = OX_LOG_LEVEL_WARNING};
  ox_session_opts_init(&so);
  so.n_threads = 1, so.providers = &spec, so.n_providers = 1, so.fall_back = 1, so.copy_bytes = 1;
  CHECK_OK(ox_env_create(&eo, &o->env));
  CHECK_OK(ox_env_load_plugin(o->env, GPU_PLUGIN));
  CHECK_OK(text_session(o->env, model, &so, &o->s));
}

/* Each call fails, from creating the session on, and all runs come to their end all the same. */
static void test_the_cpu_steps_in(void **state) {
  (void)state;
  for (size_t c = 0; c < OX_COUNT(codes); c++)
    for (long n = 0, step = 1; n < 3000; n += step) {
      opened o;
      bool right;
      standin.fail_at(n, codes[c]);
      *last_warning = 0;
      start_with_cpu(&o, text);
      CHECK_OK(run_some(&o, &right));
      assert_true(right);
      bool done = standin.calls() <= n;
      standin.fail_at(-1, 0);
      if (!done && !strstr(last_warning, "CPU: ")) fail_msg("call %ld: no warning", n);
      CHECK_OK(run_some(&o, &right));
      assert_true(right);
      finish(&o);
      if (done) break;
      step = n < 40 ? 1 : 7;
    }
}

/* A device without memory for one run is asked again, a lost one is not. */
static void test_which_runs_fall_back(void **state) {
  opened o;
  bool right;
  (void)state;
  start_with_cpu(&o, text);
  CHECK_OK(run_some(&o, &right));
  standin.lose(LOST);
  CHECK_OK(run_some(&o, &right));
  assert_true(right && strstr(last_warning, "this and later runs are on the CPU"));
  standin.lose(0);
  standin.fail_at(-1, 0);
  CHECK_OK(run_some(&o, &right));
  assert_int_equal(standin.calls(), 0); /* it is not asked any more */
  finish(&o);
  start_with_cpu(&o, text);
  standin.limit(1);
  CHECK_OK(run_some(&o, &right));
  assert_true(right && strstr(last_warning, "a run was made on the CPU"));
  standin.limit((size_t)4 << 30);
  standin.fail_at(-1, 0);
  CHECK_OK(run_some(&o, &right));
  assert_true(right && standin.calls() > 0);
  finish(&o);
}

static void test_limits_name_what_did_not_fit(void **state) {
  static const struct {
    const char *key, *value, *part; /* of the text */
  } rows[] = {{"gpu_mem_limit", "1024", "1024"},
              {"arena_extend_strategy", "kTwice", "arena_extend_strategy"},
              {"gpu_memory", "1", "gpu_memory"}};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    opened o;
    bool right;
    ox_status *st = start(&o, -1, rows[i].key, rows[i].value);
    if (!st) st = run_some(&o, &right);
    assert_non_null(st);
    if (!strstr(ox_status_message(st), rows[i].part)) fail_msg("%s: %s", rows[i].key, ox_status_message(st));
    ox_status_free(st);
    finish(&o);
  }
}

static void *control(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (!found) fail_msg("%s", dlerror());
  return found;
}

static int find_standin(void **state) {
  (void)state;
  use_standin();
  void *library = dlopen(CUDA_STANDIN, RTLD_NOW | RTLD_LOCAL);
  if (!library) return 1;
  *(void **)(void *)&standin.fail_at = control(library, "standin_fail_at");
  *(void **)(void *)&standin.fail_once = control(library, "standin_fail_once");
  *(void **)(void *)&standin.calls = control(library, "standin_calls");
  *(void **)(void *)&standin.idle = control(library, "standin_idle");
  *(void **)(void *)&standin.live = control(library, "standin_live");
  *(void **)(void *)&standin.limit = control(library, "standin_limit");
  *(void **)(void *)&standin.lose = control(library, "standin_lose");
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls_fail),
                                     cmocka_unit_test(test_a_run_fails_and_the_next_does_not),
                                     cmocka_unit_test(test_a_fused_call_fails),
                                     cmocka_unit_test(test_memory_of_the_host_fails),
                                     cmocka_unit_test(test_memory_of_the_host_fails_in_a_run),
                                     cmocka_unit_test(test_the_device_is_lost),
                                     cmocka_unit_test(test_the_cpu_steps_in),
                                     cmocka_unit_test(test_which_runs_fall_back),
                                     cmocka_unit_test(test_limits_name_what_did_not_fit)};
  return cmocka_run_group_tests(tests, find_standin, NULL);
}
