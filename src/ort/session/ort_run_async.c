/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_run_async.c - runs on a thread of the session's pool; the client's function gets the outputs. */
#include <stdlib.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session.h"

/* A call of Run, put off. The caller's arrays stay until its function is called. */
typedef struct later {
  OrtSession *session;
  const OrtRunOptions *options;
  const char *const *input_names, *const *output_names;
  const OrtValue *const *inputs;
  OrtValue **outputs;
  size_t n_inputs, n_outputs;
  RunAsyncCallbackFn done;
  void *user_data;
} later;

static ox_status *run_later(void *payload, uint32_t unit) {
  const later *l = payload;
  (void)unit;
  OrtStatus *st = ort_Run(l->session, l->options, l->input_names, l->inputs, l->n_inputs, l->output_names, l->n_outputs,
                          l->outputs);
  l->done(l->user_data, l->outputs, st == NULL ? l->n_outputs : 0, st);
  return NULL;
}

OrtStatus *ort_RunAsync(OrtSession *session, const OrtRunOptions *run_options, const char *const *input_names,
                        const OrtValue *const *input, size_t input_len, const char *const *output_names,
                        size_t output_names_len, OrtValue **output, RunAsyncCallbackFn run_async_callback,
                        void *user_data) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  if (run_options != NULL) ORT_ALIVE(run_options, ORT_ALIVE_RUN_OPTIONS);
  if (input_len > 0) ORT_NEED(input_names);
  if (input_len > 0) ORT_NEED(input);
  ORT_NEED(output_names);
  ORT_NEED(output);
  ORT_NEED(run_async_callback);
  later l = {session, run_options, input_names,      output_names,       input,
             output,  input_len,   output_names_len, run_async_callback, user_data};
  ox_pool *pool = session->pool != NULL ? session->pool : ox_pool_default();
  if (session->options->intra_threads == 1 || ox_pool_size(pool) < 2)
    return ort_fail(ORT_INVALID_ARGUMENT, "RunAsync: the session has one thread (intra-op), and needs two at least");
  ox_task_opts o = {.struct_size = sizeof o,
                    .flags = OX_TASK_ASYNC,
                    .n_units = 1,
                    .fn = run_later,
                    .payload = &l,
                    .payload_bytes = sizeof l};
  return ort_status_from(ox_task_submit(pool, &o, NULL));
}
