/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_run_around.c - what is rare around a run, from the outside in: adapters bring inputs, a profile looks
 * on, providers of libraries are told of beginning and end, arenas shrink. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/session/ort_lora.h"
#include "ort/session/ort_session.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_profile.h"
#include "ort/plugin/ort_session_eps.h"
#include "ort/plugin/ort_sync_stream.h"
#include "ort/value/ort_arena.h"
#include "ort/value/ort_own_memory.h"

/* One of them fails at the end: what the run made goes again. */
static OrtStatus *run_with_eps(OrtSession *s, const OrtRunOptions *options, const ort_run_call *c) {
  if (s->eps == NULL) return ort_run_engine(s, options, c);
  ox_value **given = malloc((c->n_outputs + 1) * sizeof(void *));
  if (given == NULL) return ort_out_of_memory();
  memcpy(given, c->outputs, c->n_outputs * sizeof(void *));
  OrtStatus *st = options != NULL && options->stream != NULL ? ort_sync_stream_flush(options->stream) : NULL;
  if (st == NULL) st = ort_session_eps_begin(s->eps, options);
  if (st == NULL) {
    st = ort_run_engine(s, options, c);
    OrtStatus *ended = ort_session_eps_end(s->eps, options, st == NULL);
    for (size_t i = 0; st == NULL && ended != NULL && i < c->n_outputs; i++) {
      if (given[i] != NULL) continue;
      ox_value_release(c->outputs[i]);
      c->outputs[i] = NULL;
    }
    if (st == NULL)
      st = ended;
    else
      ort_ReleaseStatus(ended);
  }
  free(given);
  return st;
}

/* ---- profiles ---- */

static OrtStatus *run_in_session_profile(OrtSession *s, const OrtRunOptions *options, const ort_run_call *c) {
  int64_t start = ort_profile_now();
  if (options != NULL && options->profiling)
    ort_log(&s->logger, ORT_LOGGING_LEVEL_WARNING, "onnxruntime", "Run",
            "the session has a profile already: this run gets none of its own");
  OrtStatus *st = run_with_eps(s, options, c);
  ort_profile_add(s->profile, "SequentialExecutor::Execute", start);
  ort_profile_add(s->profile, "model_run", start);
  return st;
}

static OrtStatus *run_and_write(OrtSession *s, const OrtRunOptions *options, const ort_run_call *c, ort_profile *p) {
  ox_session_profile_start(s->session);
  ort_eps_profile_begin(s->eps);
  OrtStatus *st = run_with_eps(s, options, c);
  ort_profile_add(p, "SequentialExecutor::Execute", p->start_ns);
  ort_profile_add(p, "model_run", p->start_ns);
  ox_session_profile_stop(s->session);
  ort_eps_profile_end(s->eps, p);
  OrtStatus *written = ort_profile_write(p, s->session);
  if (written != NULL) /* the run is none the worse for it */
    ort_log(&s->logger, ORT_LOGGING_LEVEL_WARNING, "onnxruntime", "Run", "%s", ort_GetErrorMessage(written));
  ort_ReleaseStatus(written);
  return st;
}

/* The engine has one profile per session: runs that are profiled one by one take turns, and what runs beside them is
 * in their files, too. */
static OrtStatus *run_profiled(OrtSession *s, const OrtRunOptions *options, const ort_run_call *c) {
  if (s->profile != NULL) return run_in_session_profile(s, options, c);
  if (options == NULL || !options->profiling) return run_with_eps(s, options, c);
  ort_profile *p;
  pthread_mutex_lock(&s->profiling);
  OrtStatus *st = ort_profile_create(options->profile_prefix, &p);
  if (st == NULL) st = run_and_write(s, options, c, p);
  ort_profile_destroy(p);
  pthread_mutex_unlock(&s->profiling);
  return st;
}

/* ---- adapters ---- */

static size_t count_parameters(const OrtRunOptions *o) {
  size_t n = 0;
  for (size_t i = 0; i < o->n_adapters; i++) n += o->adapters[i]->n;
  return n;
}

static OrtStatus *run_with_adapters(OrtSession *s, const OrtRunOptions *options, const ort_run_call *c) {
  if (options != NULL && (unsigned)(options->log_severity + 1) > ORT_LOGGING_LEVEL_FATAL + 1)
    return ort_fail(ORT_FAIL, "Run: the log's level is %d, wanted -1 to 4", options->log_severity);
  if (s->edit != NULL)
    return ort_fail(ORT_FAIL, "Session not initialized: its model is being edited (FinalizeModelEditorSession)");
  size_t more = options != NULL ? count_parameters(options) : 0, n = 0;
  if (more == 0) return run_profiled(s, options, c);
  const char **names = malloc((c->n_inputs + more) * sizeof *names);
  const ox_value **inputs = malloc((c->n_inputs + more) * sizeof *inputs);
  OrtStatus *st = names != NULL && inputs != NULL ? NULL : ort_out_of_memory();
  if (st == NULL) {
    for (size_t i = 0; i < options->n_adapters; i++) { /* first: of a name that is there twice, the first counts */
      const OrtLoraAdapter *a = options->adapters[i];
      for (size_t k = 0; k < a->n; k++, n++) names[n] = a->names[k], inputs[n] = a->values[k]->value;
    }
    for (size_t i = 0; i < c->n_inputs; i++, n++) names[n] = c->input_names[i], inputs[n] = c->inputs[i];
    ort_run_call with = {names, inputs, n, c->output_names, c->outputs, c->n_outputs, c->memories};
    st = run_profiled(s, options, &with);
  }
  free(names);
  free(inputs);
  return st;
}

/* ---- afterwards ---- */

/* "cpu:0;gpu:0": whose arenas are to give back what nobody uses. */
static OrtStatus *read_shrinkage(const char *list, bool *out_any) {
  *out_any = false;
  for (const char *p = list; p != NULL && *p != '\0'; p += *p == ';') {
    size_t n = strcspn(p, ";"), digits = n > 4 ? strspn(p + 4, "0123456789") : 0;
    if ((strncmp(p, "cpu:", 4) != 0 && strncmp(p, "gpu:", 4) != 0) || digits == 0 || digits + 4 != n)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "Run: 'memory.enable_memory_arena_shrinkage' is '%s', wanted devices as in 'cpu:0;gpu:0'", list);
    *out_any = true;
    p += n;
  }
  return NULL;
}

OrtStatus *ort_run_around(OrtSession *s, const OrtRunOptions *options, const ort_run_call *c) {
  const char *list = options != NULL ? ort_pairs_get(&options->config, "memory.enable_memory_arena_shrinkage") : NULL;
  bool shrink;
  ORT_TRY(read_shrinkage(list, &shrink));
  ORT_TRY(run_with_adapters(s, options, c));
  if (!shrink) return NULL;
  ox_session_shrink(s->session);
  pthread_mutex_lock(&s->env->lock);
  ort_arena *arena = s->arena;
  pthread_mutex_unlock(&s->env->lock);
  if (arena != NULL) ort_arena_shrink(arena);
  ort_own_memories_shrink();
  return NULL;
}
