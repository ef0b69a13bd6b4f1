/* SPDX-License-Identifier: Apache-2.0
 * install/ort_client.c - a program for ONNX Runtime's C ABI; runs the model of its first argument, also with the
 * providers of its other arguments, which lie beside the library. */
#include <stdio.h>

#include <onyx/ort_abi.h>

static int failed(const OrtApi *api, OrtStatus *st) {
  if (st == NULL) return 0;
  fprintf(stderr, "%s\n", api->GetErrorMessage(st));
  api->ReleaseStatus(st);
  return 1;
}

int main(int argc, char **argv) {
  const OrtApi *api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  OrtEnv *env;
  if (argc < 2 || failed(api, api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "stranger", &env))) return 2;
  for (int i = 1; i < argc; i++) {
    OrtSessionOptions *options;
    OrtSession *session;
    size_t n = 0;
    if (failed(api, api->CreateSessionOptions(&options))) return 1;
    if (i > 1 && failed(api, api->SessionOptionsAppendExecutionProvider(options, argv[i], NULL, NULL, 0))) return 1;
    if (failed(api, api->CreateSession(env, argv[1], options, &session))) return 1;
    if (failed(api, api->SessionGetInputCount(session, &n)) || n == 0) return 1;
    api->ReleaseSession(session);
    api->ReleaseSessionOptions(options);
  }
  api->ReleaseEnv(env);
  return 0;
}
