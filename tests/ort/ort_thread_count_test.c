/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_thread_count_test.c - a process whose session has intra_op_num_threads n has no other threads. */
#define _GNU_SOURCE
#include "ort/models.h"
#include "support/census.h"

enum { SIDE = 256 };

/* float[256,256] x => y { a = MatMul(x, x), b = Relu(a), y = MatMul(b, x) } */
static message product_model(void) {
  message g = {0};
  graph_node(&g, "first", "MatMul", "x,x", "a");
  graph_node(&g, "clip", "Relu", "a", "b");
  graph_node(&g, "second", "MatMul", "b,x", "y");
  graph_input(&g, "x", FLOAT, "256,256");
  graph_output(&g, "y", FLOAT, "256,256");
  return model_of(&g, NULL, 0);
}

static int use(const void *arg) {
  static float x[SIDE * SIDE];
  const int64_t dims[] = {SIDE, SIDE};
  const char *in = "x", *out = "y";
  const int *n = arg;
  message m = product_model();
  OrtEnv *env = test_env();
  OrtSessionOptions *o;
  OK(ort()->CreateSessionOptions(&o));
  OK(ort()->SetIntraOpNumThreads(o, *n));
  OrtSession *s = open_model(env, &m, o);
  OrtValue *v = floats(x, dims, 2), *y = NULL;
  for (int i = 0; i < 200; i++) {
    OK(ort()->Run(s, NULL, &in, (const OrtValue *const *)&v, 1, &out, 1, &y));
    ort()->ReleaseValue(y), y = NULL;
  }
  return 0;
}

static void test_threads(void **state) {
  (void)state;
  if (!CAN_COUNT_THREADS) skip();
  for (int n = 1; n <= 4; n *= 2) {
    census c = census_take(use, &n);
    if (c.most > n || c.most < (n > 1 ? 2 : 1)) fail_msg("intra_op_num_threads %d: %d threads", n, c.most);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
