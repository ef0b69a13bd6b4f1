/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/onednn_runs_test.c - the oneDNN provider in a process: it starts no thread of its own, its bits do not
 * depend on the number of threads, plans that were forgotten are made again, also while others run, and its options. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/ep_models.h"
#include "support/text_session.h"

#ifndef ONEDNN_PLUGIN /* it was not built */
#define ONEDNN_PLUGIN NULL
#endif

/* Convolutions, a product whose threads wait for each other, a normalization that has barriers. */
static const char net[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,19,18,17] x, float[32,19,3,3] w, float[32,32,3,3] v, "
    "float[32] s, "
    "float[306,700] m) => (float[A,B,C,D] y, float[E,F,G,H] z) <int64[4] r = {0, 0, 1, 306}> "
    "{ a = Conv <pads = [1,1,1,1]> (x, w) q = Mul (s, s) n = BatchNormalization (a, s, s, s, q) e = Relu (n) "
    "c = Conv <pads = [1,1,1,1]> (e, v) y = Add (c, e) t = Reshape (y, r) z = MatMul (t, m) }";

/* Products, convolutions and an LSTM on the library's GEMM, large and small. */
static const char gemms[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,9,5,8] x, float[N,5,130,40] q, float[N,777] a, "
    "float[777,800] w, "
    "float[15,9,3,2] k, float[7,N,8] t, float[1,36,8] u, float[1,36,9] v) => (float[N,9,5,8] y, float[N,5,130,40] z, "
    "float[A,B] o, float[C,D,E,F] c, float[G,H,I] h) "
    "{ xt = Transpose <perm = [0,1,3,2]> (x) xs = MatMul (x, xt) xp = Softmax <axis = -1> (xs) xa = MatMul (xp, x) "
    "y = Add (xa, x) qt = Transpose <perm = [0,1,3,2]> (q) qs = MatMul (q, qt) qp = Softmax <axis = -1> (qs) "
    "qa = MatMul (qp, q) z = Add (qa, q) o = MatMul (a, w) "
    "c = Conv <dilations = [2,3], pads = [2,1,2,2]> (x, k) , h = LSTM <hidden_size = 9> (t, u, v) }";

typedef struct {
  ox_env *env;
  ox_session *s;
} opened;

static ox_status *open_text(const char *text, uint32_t threads, const char *key, const char *value, opened *o) {
  ox_provider_spec spec = {"onednn", {key ? 1 : 0, &key, &value}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1, so.n_threads = threads;
  CHECK_OK(ox_env_create(NULL, &o->env));
  CHECK_OK(ox_env_load_plugin(o->env, ONEDNN_PLUGIN));
  return text_session(o->env, text, &so, &o->s);
}

static ox_status *open_net(uint32_t threads, const char *key, const char *value, opened *o) {
  return open_text(net, threads, key, value, o);
}

static void close_net(opened *o) {
  ox_session_release(o->s);
  ox_env_release(o->env);
}

static int count_threads(void) {
  char line[128];
  int n = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, "Threads:", 8) == 0) n = atoi(line + 8);
  if (f) fclose(f);
  return n;
}

static void run(const opened *o, int64_t batch, ep_outputs *out) {
  ep_inputs in;
  ep_inputs_make(o->env, o->s, batch, &in);
  CHECK_OK(ep_run(o->s, &in, out));
  ep_inputs_free(&in);
}

static void check_threads(const char *text) {
  static const uint32_t threads[] = {1, 2, 4};
  ep_outputs first = {0}, cpu;
  ep_cpu_outputs(text, OX_OPTIMIZE_NONE, 3, &cpu);
  int before = count_threads(); /* the CPU's session has left some to the process */
  for (size_t i = 0; i < OX_COUNT(threads); i++) {
    opened o;
    ep_outputs out;
    CHECK_OK(open_text(text, threads[i], NULL, NULL, &o));
    for (int again = 0; again < 20; again++) {
      run(&o, 3, &out);
      if (!first.n)
        first = out, ep_outputs_compare("beside the CPU", &cpu, &out, 1e-5);
      else
        ep_outputs_compare("bits", &first, &out, 0), ep_outputs_free(&out);
    }
    if (before && count_threads() - before > (int)threads[i] - 1)
      fail_msg("%d threads for %u", count_threads() - before + 1, threads[i]);
    close_net(&o);
  }
  ep_outputs_free(&first);
  ep_outputs_free(&cpu);
}

static void test_threads_are_the_sessions(void **state) {
  (void)state;
  if (!ONEDNN_PLUGIN) skip();
  check_threads(net);
  check_threads(gemms);
}

enum { CLIENTS = 4, TURNS = 12 };

typedef struct {
  const opened *o;
  const ep_inputs *in;
  const ep_outputs *want;
  int first;
  bool failed;
} client;

static void *client_main(void *arg) {
  client *c = arg;
  for (int k = 0; k < TURNS; k++) {
    int at = (c->first + k) % 3;
    ep_outputs out;
    ox_status *st = ep_run(c->o->s, &c->in[at], &out);
    for (size_t i = 0; !st && i < out.n; i++) {
      const ox_tensor *a = ox_value_get(out.value[i]), *b = ox_value_get(c->want[at].value[i]);
      c->failed |= a->bytes != b->bytes || memcmp(a->data, b->data, a->bytes) != 0;
    }
    c->failed |= st != NULL;
    if (!st) ep_outputs_free(&out);
    ox_status_free(st);
  }
  return NULL;
}

/* Three signatures take turns where one has room. */
static void test_plans_that_were_forgotten_come_again(void **state) {
  opened o;
  ep_inputs in[3];
  ep_outputs want[3];
  pthread_t threads[CLIENTS];
  client clients[CLIENTS];
  (void)state;
  if (!ONEDNN_PLUGIN) skip();
  CHECK_OK(open_net(2, "plan_cache", "1", &o));
  for (int b = 0; b < 3; b++) {
    ep_inputs_make(o.env, o.s, b + 1, &in[b]);
    CHECK_OK(ep_run(o.s, &in[b], &want[b]));
  }
  for (int k = 0; k < CLIENTS; k++) {
    clients[k] = (client){&o, in, want, k, false};
    assert_int_equal(pthread_create(&threads[k], NULL, client_main, &clients[k]), 0);
  }
  for (int k = 0; k < CLIENTS; k++) {
    pthread_join(threads[k], NULL);
    assert_false(clients[k].failed);
  }
  for (int b = 0; b < 3; b++) ep_inputs_free(&in[b]), ep_outputs_free(&want[b]);
  close_net(&o);
}

static void test_options(void **state) {
  static const struct {
    const char *key, *value;
    bool fine;
    double tolerance; /* beside float32 */
  } rows[] = {{"num_threads", "1", true, 1e-5},  {"num_threads", "many", false, 0}, {"plan_cache", "0", true, 1e-5},
              {"precision", "bf16", true, 2e-2}, {"precision", "f16", false, 0},    {"speed", "1", false, 0}};
  ep_outputs cpu;
  (void)state;
  if (!ONEDNN_PLUGIN) skip();
  ep_cpu_outputs(net, OX_OPTIMIZE_NONE, 1, &cpu);
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    opened o = {0};
    ep_outputs out;
    ox_status *st = open_net(2, rows[i].key, rows[i].value, &o);
    if ((st == NULL) != rows[i].fine) fail_msg("%s=%s: %s", rows[i].key, rows[i].value, ox_status_message(st));
    if (st) {
      assert_non_null(strstr(ox_status_message(st), rows[i].key));
      ox_status_free(st);
      ox_env_release(o.env);
      continue;
    }
    run(&o, 1, &out);
    ep_outputs_compare(rows[i].value, &cpu, &out, rows[i].tolerance);
    ep_outputs_free(&out);
    close_net(&o);
  }
  ep_outputs_free(&cpu);
}

/* What the library refuses as it runs names the node. */
static void test_errors_name_the_node(void **state) {
  ox_provider_spec spec = {"onednn", {0}};
  ox_session_opts so;
  ox_env *env;
  ox_session *s;
  ep_inputs in;
  ep_outputs out;
  (void)state;
  if (!ONEDNN_PLUGIN) skip();
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_load_plugin(env, ONEDNN_PLUGIN));
  CHECK_OK(text_session(
      env,
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1,3,H,W] x, float[4,3,3,3] w) => (float[A,B,C,D] y) "
      "{ [narrow] y = Conv (x, w) }",
      &so, &s));
  ep_inputs_make(env, s, 1, &in);
  ox_status *st = ep_run(s, &in, &out);
  assert_non_null(st);
  assert_non_null(strstr(ox_status_message(st), "narrow"));
  ox_status_free(st);
  ep_inputs_free(&in);
  ox_session_release(s);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_are_the_sessions),
                                     cmocka_unit_test(test_plans_that_were_forgotten_come_again),
                                     cmocka_unit_test(test_options), cmocka_unit_test(test_errors_name_the_node)};
  return cmocka_run_group_tests_name("plugins.onednn.onednn_runs", tests, NULL, NULL);
}
