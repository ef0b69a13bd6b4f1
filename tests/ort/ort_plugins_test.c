/* SPDX-License-Identifier: Apache-2.0
 * ONYX_PLUGINS: Onyx's own plug-ins for clients of the ABI, which have no call to load one. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "ort/models.h"

/* uint8[N] file => uint8[H,W,3] image, by an operator that only the image plug-in has. */
static message decoder_model(void) {
  message g = {0};
  graph_node(&g, "decode", "ImageDecoder", "file", "image");
  graph_input(&g, "file", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, "N");
  graph_output(&g, "image", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, "H,W,3");
  message m = {0};
  put_text(&g, 2, "g");
  put_int(&m, 1, 10);
  put_opset(&m, "", 20); /* the first that has it */
  put_message(&m, 7, &g);
  return m;
}

static void test_plugins_that_the_variable_names_are_loaded(void **state) {
  (void)state;
  if (!ort_is_onyx()) skip();
  message m = decoder_model();
  OrtEnv *env;
  OrtSessionOptions *options;
  OrtSession *s = NULL;
  OK(ort()->CreateSessionOptions(&options));
  unsetenv("ONYX_PLUGINS");
  env = test_env();
  FAILS(ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &s), ORT_INVALID_GRAPH, "ImageDecoder");
  ort()->ReleaseEnv(env);
  setenv("ONYX_PLUGINS", "/no/such/plugin.so", 1);
  FAILS(ort()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &env), ORT_NO_SUCHFILE, "/no/such/plugin.so");
  setenv("ONYX_PLUGINS", "::" IMAGE_PLUGIN ":", 1);
  env = test_env();
  OK(ort()->CreateSessionFromArray(env, m.bytes, m.n, options, &s));
  ort()->ReleaseSession(s);
  ort()->ReleaseEnv(env);
  ort()->ReleaseSessionOptions(options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plugins_that_the_variable_names_are_loaded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
