/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/onednn_bits_test.c - networks of 8-bit integers have the bits of the CPU provider's integer operators.
 * Scales are powers of two where that makes every second or fourth result a tie, and zeros are odd, so that a tie that
 * is rounded after the zero was added goes the other way. */
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "onednn_numbers.h"
#include "support/ep_models.h"
#include "support/text_session.h"

#ifndef ONEDNN_PLUGIN /* it was not built */
#define ONEDNN_PLUGIN NULL
#endif
#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* |xz|, |yz| of |type|; the sums' scale is 2^-2 / |ys|. |after| closes the Conv and makes r of its output c. */
#define CONV(type, channels, weights, xz, ys, yz, bias, attrs, after)                                         \
  HEAD "g (" type "[N," channels ",9,8] x) => (" type "[A,B,C,D] y) <float s = {0.25}, " type " z = {" xz     \
       "}, int8[" weights ", float ws = {1}, int8 wz = {0}, float ys = {" ys "}, " type " yz = {" yz "}" bias \
       ">"                                                                                                    \
       " { d = DequantizeLinear (x, s, z) e = DequantizeLinear (w, ws, wz) c = Conv <" attrs "> (d, e" after  \
       " y = QuantizeLinear (r, ys, yz) }"
#define PLAIN ") r = Identity (c)"
#define RELU ") r = Relu (c)"

typedef struct {
  const char *name, *text;
} row;

static const row rows[] = {
#include "onednn_bits.inc"
};

static void check(void **state) {
  const row *r = *state;
  if (!ONEDNN_PLUGIN) skip();
  char *text = onednn_numbers(r->text);
  ox_provider_spec spec = {"onednn", {0}};
  ox_session_opts so;
  ox_env *env;
  ox_session *s;
  ox_session_opts_init(&so);
  so.providers = &spec, so.n_providers = 1, so.n_threads = 2;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_load_plugin(env, ONEDNN_PLUGIN));
  CHECK_OK(text_session(env, text, &so, &s));
  for (int64_t batch = 3; batch > 0; batch -= 2) {
    ep_inputs in;
    ep_outputs want, got;
    ep_cpu_outputs(text, OX_OPTIMIZE_ALL, batch, &want);
    ep_inputs_make(env, s, batch, &in);
    CHECK_OK(ep_run(s, &in, &got));
    ep_outputs_compare(r->name, &want, &got, 0);
    ep_outputs_free(&got);
    ep_outputs_free(&want);
    ep_inputs_free(&in);
  }
  ox_session_release(s);
  ox_env_release(env);
  free(text);
}

int main(void) {
  struct CMUnitTest tests[OX_COUNT(rows)];
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    tests[i] = (struct CMUnitTest){rows[i].name, check, NULL, NULL, (void *)&rows[i]};
  return _cmocka_run_group_tests("plugins.onednn.onednn_bits", tests, OX_COUNT(tests), NULL, NULL);
}
