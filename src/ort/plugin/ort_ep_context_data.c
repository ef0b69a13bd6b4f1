/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_context_data.c - functions of the client that read and write what providers keep beside a compiled
 * model (nodes EPContext that do not contain their data). Providers ask for them when they are made. */
#include <stdlib.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_compile_options.h"

/* A copy: the options may be gone when the provider uses it. */
struct OrtEpContextConfig {
  OrtReadNamedBufferFunc read;
  void *read_state;
  OrtWriteNamedBufferFunc write;
  void *write_state;
};

OrtStatus *ort_SessionOptionsSetEpContextDataReadFunc(OrtSessionOptions *options, OrtReadNamedBufferFunc read,
                                                      void *state) {
  ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS);
  options->read_context = read, options->read_context_state = read != NULL ? state : NULL;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetEpContextDataWriteFunc(OrtModelCompilationOptions *options,
                                                                         OrtWriteNamedBufferFunc write, void *state) {
  if (options == NULL) return ort_null_argument("ModelCompilationOptions_SetEpContextDataWriteFunc", "options");
  OrtSessionOptions *session = options->session;
  session->write_context = write, session->write_context_state = write != NULL ? state : NULL;
  return NULL;
}

OrtStatus *ort_ep_SessionOptionsGetEpContextConfig(const OrtSessionOptions *session_options, OrtEpContextConfig **out) {
  ORT_ALIVE(session_options, ORT_ALIVE_SESSION_OPTIONS);
  ORT_NEED(out);
  *out = malloc(sizeof **out);
  if (*out == NULL) return ort_out_of_memory();
  **out = (OrtEpContextConfig){session_options->read_context, session_options->read_context_state,
                               session_options->write_context, session_options->write_context_state};
  return NULL;
}

void ort_ep_ReleaseEpContextConfig(OrtEpContextConfig *config) { free(config); }

OrtStatus *ort_ep_EpContextConfigGetEpContextDataReadFunc(const OrtEpContextConfig *config,
                                                          OrtReadNamedBufferFunc *read, void **state) {
  ORT_NEED(config);
  ORT_NEED(read);
  ORT_NEED(state);
  *read = config->read, *state = config->read_state;
  return NULL;
}

OrtStatus *ort_ep_EpContextConfigGetEpContextDataWriteFunc(const OrtEpContextConfig *config,
                                                           OrtWriteNamedBufferFunc *write, void **state) {
  ORT_NEED(config);
  ORT_NEED(write);
  ORT_NEED(state);
  *write = config->write, *state = config->write_state;
  return NULL;
}
