/* SPDX-License-Identifier: Apache-2.0
 * plugins/xnnpack/xnnpack_pieces_test.c - products with more weights than stay in a core's cache, which the provider
 * goes through in pieces: beside the CPU's, and the same bits for any number of threads. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/ep_models.h"
#include "support/text_session.h"

typedef struct {
  const char *what;
  const char *io;
  int n; /* weights */
  const char *shape;
  const char *node; /* of x and the weights w */
  double tolerance;
} row;

#define F 1e-5
#define BYTES 0.02 /* one step of those that reach at least 50 */
#define QLINEAR "q = QLinearConv <pads = [1,1,1,1]> (x, xs, xz, v, ws, wz, ys, yz) y = Cast <to = 1> (q)"

static const row rows[] = {
    {"less than a piece", "float[N,64,5,5] x", 64 * 113 * 9, "113,64,3,3", "y = Conv <pads = [1,1,1,1]> (x, w)", F},
    {"one column more", "float[N,64,5,5] x", 64 * 114 * 9, "114,64,3,3", "y = Conv <pads = [1,1,1,1]> (x, w)", F},
    {"pieces that are not whole panels", "float[N,96,6,7] x", 96 * 131 * 9, "131,96,3,3",
     "y = Conv <strides = [1,2]> (x, w)", F},
    {"a column alone is a piece", "float[N,3700,3,3] x", 3700 * 19 * 9, "19,3700,3,3",
     "y = Conv <pads = [1,1,1,1]> (x, w)", F},
    {"single pixels", "float[N,700,5,5] x", 700 * 200, "200,700,1,1", "y = Conv (x, w)", F},
    {"one row", "float[N,700,1,1] x", 700 * 200, "200,700,1,1", "y = Conv (x, w)", F},
    {"groups", "float[N,128,5,5] x", 64 * 240 * 9, "240,64,3,3", "y = Conv <group = 2, pads = [1,1,1,1]> (x, w)", F},
    {"ConvTranspose", "float[N,96,4,5] x", 96 * 131 * 9, "96,131,3,3", "y = ConvTranspose (x, w)", F},
    {"ConvTranspose with strides", "float[N,96,4,5] x", 96 * 131 * 9, "96,131,3,3",
     "y = ConvTranspose <strides = [2,2]> (x, w)", F},
    {"a matrix", "float[N,17,1000] x", 1000 * 77, "1000,77", "y = MatMul (x, w)", F},
    {"a matrix of odd depth", "float[N,17,1001] x", 1001 * 77, "1001,77", "y = MatMul (x, w)", F},
    {"one row of odd depth", "float[N,1,1001] x", 1001 * 77, "1001,77", "y = MatMul (x, w)", F},
    {"bytes", "uint8[N,128,5,5] x", 128 * 250 * 9, "250,128,3,3",
     "t = Mul (w, k) u = Cast <to = 3> (t) v = Identity (u) " QLINEAR, BYTES},
};

/* The weights are folded before a provider is asked. */
static void make(const row *r, char *text, size_t size) {
  int n = snprintf(text, size,
                   "<ir_version: 8, opset_import: [\"\" : 17]> g (%s) => (float[A,B,C%s] y) "
                   "<float first = {0}, float n = {%d}, float one = {1}, int64[%d] to = {%s}, float k = {100}, "
                   "float xs = {0.02}, uint8 xz = {120}, float ws = {0.01}, int8 wz = {0}, float ys = {0.4}, "
                   "uint8 yz = {128}> { a = Range (first, n, one) b = Sin (a) w = Reshape (b, to) %s }",
                   r->io, strstr(r->node, "MatMul") ? "" : ",D", r->n, strstr(r->node, "MatMul") ? 2 : 4, r->shape,
                   r->node);
  assert_true(n > 0 && (size_t)n < size);
}

static bool is_theirs(const ox_session *s) {
  ox_placement p;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++)
    if (strcmp(p.op, "Cast") != 0 && strcmp(p.owner, "xnnpack") != 0) return false;
  return true;
}

static void check(const row *r, uint32_t threads, int64_t batch, ep_outputs *got) {
  const ox_provider_spec spec = {"xnnpack", {0}};
  char text[2048];
  ep_outputs want;
  ep_inputs in;
  ox_session_opts so;
  ox_session *s;
  ox_env *env;
  make(r, text, sizeof text);
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1, so.n_threads = threads;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_load_plugin(env, XNNPACK_PLUGIN));
  CHECK_OK(text_session(env, text, &so, &s));
  if (!is_theirs(s)) fail_msg("%s: not xnnpack's", r->what);
  ep_inputs_make(env, s, batch, &in);
  CHECK_OK(ep_run(s, &in, got));
  ep_cpu_outputs(text, OX_OPTIMIZE_BASIC, batch, &want);
  ep_outputs_compare(r->what, &want, got, r->tolerance);
  ep_outputs_free(&want);
  ep_inputs_free(&in);
  ox_session_release(s);
  ox_env_release(env);
}

static void test_pieces_of_weights(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int64_t batch = 1; batch <= 2; batch++) {
      ep_outputs one, more;
      check(&rows[i], 1, batch, &one);
      for (uint32_t threads = 2; threads <= 3; threads++) {
        check(&rows[i], threads, batch, &more);
        ep_outputs_compare(rows[i].what, &one, &more, 0);
        ep_outputs_free(&more);
      }
      ep_outputs_free(&one);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces_of_weights)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
