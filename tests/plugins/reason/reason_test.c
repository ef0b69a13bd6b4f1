/* SPDX-License-Identifier: Apache-2.0
 * plugins/reason/reason_test.c - why providers decline nodes, as the plan shows it: what they want and what the node
 * has, in one form, with the node's own names, types and attributes filled in. */
#include <string.h>

#include "base/macros.h"
#ifdef CUDA_STANDIN
#include "plugins/device/use_standin.h"
#endif
#include "support/check.h"
#include "support/text_session.h"

#ifndef XNNPACK_PLUGIN
#define XNNPACK_PLUGIN NULL
#endif
#ifndef ONEDNN_PLUGIN
#define ONEDNN_PLUGIN NULL
#endif
#ifndef CUDA_PLUGIN
#define CUDA_PLUGIN NULL
#endif

#define MODEL_OF(type, in, body) "<ir_version: 8, opset_import: [\"\" : 17]> g (" in ") => (" type "[] y) " body
#define MODEL(in, body) MODEL_OF("float", in, body)
#define IMAGE "float[1,3,8,8] x"

typedef struct row {
  const char *text, *why;
} row;

/* ---- the parts of a reason ---- */

static const row on_onednn[] = {
    {MODEL_OF("double", "double[2,3] x", "{ y = Relu (x) }"), "wants float32 or bfloat16; has 'x' float64[2,3]"},
    {MODEL("float[2,3] x", "{ y = Log (x) }"), "wants an operator of the library; has Log of opset 17"},
    {MODEL(IMAGE, "{ v, i = MaxPool <kernel_shape = [2,2]> (x) y = Cast <to = 1> (i) }"),
     "wants no indices; has 'i' int64[1,3,7,7]"},
    {MODEL(IMAGE, "{ y = LRN <size = 2> (x) }"), "wants an odd size; has size 2"},
    {MODEL(IMAGE ", float[4] s", "{ y = Resize <mode = \"cubic\"> (x, , s) }"),
     "wants constant scales of float32 for all axes; has 'x' float32[1,3,8,8], no input 1, 's' float32[4]"},
    {MODEL(IMAGE, "<float[4] s = {1,1,2,2}> { y = Resize <mode = \"linear\"> (x, , s) }"),
     "wants the nearest pixel; has mode 'linear'"},
    {MODEL(IMAGE, "<float[4] s = {1,1,1.5,2}> { y = Resize <mode = \"nearest\"> (x, , s) }"),
     "wants whole scales from 1 to 64 of the image alone; has constant 's' float32[4] of 1,1,1.5,2"},
    {MODEL("float[2,3] x, float[3,2] w, float[2,2] c", "{ y = Gemm <beta = 0.5> (x, w, c) }"),
     "wants a constant row of float32 as C, or a beta of 1; has 'c' float32[2,2], beta 0.5"},
};

static const row on_xnnpack[] = {
    {MODEL("float[1,3,8,8] x, float[4,3,3,3] w", "{ y = Conv (x, w) }"),
     "wants constant weights; has 'w' float32[4,3,3,3]"},
    {MODEL(IMAGE, "{ y = MaxPool <kernel_shape = [2,2], ceil_mode = 1> (x) }"),
     "wants an output size that is rounded down; has ceil_mode 1"},
    {MODEL("float[1,3,8] x", "{ y = MaxPool <kernel_shape = [2]> (x) }"), "wants 4 axes; has 'x' float32[1,3,8]"},
    {MODEL(IMAGE, "{ y = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1], dilations = [2,2]> (x) }"),
     "wants no pads with dilations (the library's results are wrong then); has pads [1,1,1,1], dilations [2,2]"},
    {MODEL("float[2,3] x, float[3,2] w", "<float[2] c = {1,2}> { y = Gemm <transA = 0, alpha = 2.0> (x, w, c) }"),
     "wants constant weights; has 'w' float32[3,2]"},
    {MODEL("float[2,3] x", "<float[3,2] w = {1,2,3,4,5,6}> { y = Gemm <alpha = 2.0> (x, w) }"),
     "wants an alpha and a beta of 1; has alpha 2, beta 1 (the default)"},
    {MODEL(IMAGE, "<float[4] s = {1,1,2,2}> { y = Resize (x, , s) }"),
     "wants linear interpolation; has mode nearest (the default)"},
    {MODEL_OF("int64", "int64[2,3] x", "{ y = Abs (x) }"),
     "wants float32, or float16 on a CPU that converts it; has 'x' int64[2,3]"},
    {MODEL("uint8[4] x",
           "<float[4] s = {1,2,3,4}, uint8[4] z = {0,0,0,0}> { y = DequantizeLinear <axis = 0> (x, s, z) }"),
     "wants 8-bit integers with one constant scale and zero point; has 'x' uint8[4], constant 's' float32[4] of "
     "1,2,3,4, "
     "constant 'z' uint8[4]"},
};

static const row on_cuda[] = {
    {MODEL_OF("double", "double[2,3] x", "{ y = Relu (x) }"),
     "wants float32, float16 or integers; has 'x' float64[2,3]"},
    {MODEL_OF("int64", "float[2,3] x", "{ y = NonZero (x) }"),
     "wants an operator of the device's; has NonZero of opset 17"},
    {MODEL("float[1,1,1,1,2] x", "<int64[5] r = {1,1,1,1,2}> { y = Tile (x, r) }"),
     "wants at most 4 axes; has 'x' float32[1,1,1,1,2], constant 'r' int64[5] of 1,1,1,1,2"},
    {MODEL("float[2,N] x, int64[1] k", "{ y, i = TopK (x, k) }"),
     "wants a constant k, as of opset 10; has 'k' int64[1], TopK of opset 17"},
    {MODEL("float[] x, float[] w", "{ y = MatMul (x, w) }"),
     "wants float32 or float16 of known ranks, and one type of floats; has 'x' float32 of unknown rank, 'w' float32 of "
     "unknown rank"},
};

static const char *reason_in(const ox_session *s, const char *provider) {
  ox_placement p;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++)
    for (size_t k = 0; k < p.n_refusals; k++)
      if (strcmp(p.refused_by[k], provider) == 0) return p.refused_why[k];
  return "it was taken";
}

static void check_rows(const char *plugin, const char *provider, const row *rows, size_t n) {
  const ox_provider_spec spec = {provider, {0}};
  ox_session_opts so;
  ox_env *env;
  if (!plugin) skip();
  ox_session_opts_init(&so);
  so.n_threads = 1, so.providers = &spec, so.n_providers = 1, so.optimize = OX_OPTIMIZE_NONE;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_load_plugin(env, plugin));
  for (size_t i = 0; i < n; i++) {
    ox_session *s;
    ox_status *st = text_session(env, rows[i].text, &so, &s);
    if (st) fail_msg("%s: %s", rows[i].text, ox_status_message(st));
    if (strcmp(reason_in(s, provider), rows[i].why) != 0)
      fail_msg("%s\n  it says: %s\n  instead of: %s", rows[i].text, reason_in(s, provider), rows[i].why);
    ox_session_release(s);
  }
  ox_env_release(env);
}

static void test_onednn(void **state) {
  (void)state;
  check_rows(ONEDNN_PLUGIN, "onednn", on_onednn, OX_COUNT(on_onednn));
}

static void test_xnnpack(void **state) {
  (void)state;
  check_rows(XNNPACK_PLUGIN, "xnnpack", on_xnnpack, OX_COUNT(on_xnnpack));
}

static void test_cuda(void **state) {
  (void)state;
#ifdef CUDA_STANDIN
  use_standin();
#endif
  check_rows(CUDA_PLUGIN, "cuda", on_cuda, OX_COUNT(on_cuda));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_onednn), cmocka_unit_test(test_xnnpack),
                                     cmocka_unit_test(test_cuda)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
