/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_run.c - runs. What is hot allocates nothing but the handles of the outputs; what is rare is set
 * apart. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session.h"
#include "ort/plugin/ort_session_eps.h"
#include "ort/value/ort_value.h"

/* Room for the values of most models, on the stack. */
enum { FEW = 16 };

typedef struct run_values {
  const ox_value *in[FEW];
  ox_value *out[FEW];
  const ox_value **inputs; /* |in|, or of malloc */
  ox_value **outputs;
  size_t n_inputs, n_outputs; /* read so far */
  void *block;                /* of malloc */
} run_values;

static OrtStatus *make_room(run_values *v, size_t n_inputs, size_t n_outputs) {
  v->inputs = v->in, v->outputs = v->out, v->n_inputs = v->n_outputs = 0, v->block = NULL;
  if (n_inputs <= FEW && n_outputs <= FEW) return NULL;
  if (n_inputs > SIZE_MAX / 64 || n_outputs > SIZE_MAX / 64)
    return ort_fail(ORT_INVALID_ARGUMENT, "Run: %zu inputs and %zu outputs", n_inputs, n_outputs);
  v->block = malloc((n_inputs + n_outputs) * sizeof(void *));
  if (v->block == NULL) return ort_out_of_memory();
  v->inputs = v->block, v->outputs = (ox_value **)v->block + n_inputs;
  return NULL;
}

/* ---- arguments ---- */

static OrtStatus *no_name(const char *what, size_t i, const char *name) {
  return ort_fail(ORT_INVALID_ARGUMENT, "Run: the name of %s %zu is %s", what, i, name == NULL ? "NULL" : "empty");
}

/* A value for a tensor that somebody else has, for the time of the run (a kernel's inputs and outputs). */
static OrtStatus *borrow(const OrtSession *s, const OrtValue *v, ox_value **out) {
  const ox_tensor *t = v->tensor;
  if (t->kind != OX_TENSOR) return ort_status_from(ox_value_create_copy(s->env->env, t, out));
  return ort_status_from(
      ox_value_wrap(s->env->env, t->dtype, t->shape.dim, (size_t)t->shape.rank, t->data, t->bytes, NULL, NULL, out));
}

/* Whether a result can be written into |v|. */
static bool is_plain(const OrtValue *v) { return v->tensor->kind == OX_TENSOR && v->tensor->dtype != OX_STRING; }

static OrtStatus *read_inputs(const OrtSession *s, run_values *v, const char *const *names,
                              const OrtValue *const *inputs, size_t n) {
  for (; v->n_inputs < n; v->n_inputs++) {
    size_t i = v->n_inputs;
    ox_value *borrowed = NULL;
    if (names[i] == NULL || *names[i] == '\0') return no_name("input", i, names[i]);
    if (inputs[i] == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "Run: the value for input '%s' is NULL", names[i]);
    if (inputs[i]->value == NULL) ORT_TRY(borrow(s, inputs[i], &borrowed));
    v->inputs[i] = borrowed != NULL ? borrowed : inputs[i]->value;
  }
  return NULL;
}

static OrtStatus *read_outputs(const OrtSession *s, run_values *v, const char *const *names, OrtValue *const *outputs,
                               size_t n) {
  for (; v->n_outputs < n; v->n_outputs++) {
    size_t i = v->n_outputs;
    v->outputs[i] = NULL;
    if (names[i] == NULL || *names[i] == '\0') return no_name("output", i, names[i]);
    if (outputs[i] == NULL || !is_plain(outputs[i])) continue;
    v->outputs[i] = outputs[i]->value;
    if (v->outputs[i] == NULL) ORT_TRY(borrow(s, outputs[i], &v->outputs[i]));
  }
  return NULL;
}

/* A given value that is no tensor of numbers gets the result in place of what it had. */
static OrtStatus *replace(ox_value *result, OrtValue *given) {
  const ox_tensor *got = ox_value_get(result), *had = given->tensor;
  OrtValue *handle;
  if (got->kind != had->kind || (got->kind == OX_TENSOR && got->dtype != had->dtype)) {
    ox_value_release(result);
    return ort_fail(ORT_INVALID_ARGUMENT, "Run: a given output is of another type than the result");
  }
  ORT_TRY(ort_value_adopt(result, &handle));
  ort_value_assign(given, handle);
  return NULL;
}

/* Adopting failed at output |at|: handles that were made go, and so does what nobody has yet. */
static void undo(run_values *v, OrtValue **outputs, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (v->outputs[i] == NULL) ort_ReleaseValue(outputs[i]), outputs[i] = NULL;
  for (size_t i = at + 1; i < v->n_outputs; i++)
    if (outputs[i] == NULL || !is_plain(outputs[i])) ox_value_release(v->outputs[i]);
}

/* Handles for what the run made: all, or none. */
static OrtStatus *adopt(run_values *v, OrtValue **outputs) {
  OrtStatus *st = NULL;
  for (size_t i = 0; i < v->n_outputs; i++) {
    ox_value *result = v->outputs[i];
    if (outputs[i] == NULL) {
      v->outputs[i] = NULL; /* the handle's, or gone */
      st = ort_value_adopt(result, &outputs[i]);
    } else if (!is_plain(outputs[i])) {
      v->outputs[i] = outputs[i]->value;
      st = replace(result, outputs[i]);
    }
    if (__builtin_expect(st != NULL, 0)) {
      undo(v, outputs, i);
      return st;
    }
  }
  return NULL;
}

static void give_back(run_values *v, const OrtValue *const *inputs, OrtValue *const *outputs) {
  for (size_t i = 0; i < v->n_inputs; i++)
    if (inputs[i]->value == NULL) ox_value_release((ox_value *)(uintptr_t)v->inputs[i]);
  for (size_t i = 0; i < v->n_outputs; i++)
    if (outputs[i] != NULL && outputs[i]->value == NULL && is_plain(outputs[i])) ox_value_release(v->outputs[i]);
  free(v->block);
}

/* ---- runs ---- */

OrtStatus *ort_run_engine(OrtSession *s, const OrtRunOptions *options, const ort_run_call *c) {
  ox_status *st;
  if (options == NULL && c->memories == NULL) {
    st = ox_session_run(s->session, NULL, c->input_names, c->inputs, c->n_inputs, c->output_names, c->outputs,
                        c->n_outputs);
  } else {
    ox_run_opts o = {.struct_size = sizeof o, .output_memories = c->memories};
    if (options != NULL) o.cancel = &options->terminate, o.tag = options->tag, o.state = options->state;
    st = ox_session_run(s->session, &o, c->input_names, c->inputs, c->n_inputs, c->output_names, c->outputs,
                        c->n_outputs);
  }
  return __builtin_expect(st == NULL, 1) ? NULL : ort_run_explain(st, s, options, c);
}

/* Whether a value that the client gives is in memory of a device, which the engine does not know. */
static bool any_elsewhere(const OrtValue *const *values, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (values[i] != NULL && ort_value_is_elsewhere(values[i]) && !ort_value_is_placed(values[i])) return true;
  return false;
}

OrtStatus *ort_Run(OrtSession *session, const OrtRunOptions *run_options, const char *const *input_names,
                   const OrtValue *const *inputs, size_t input_len, const char *const *output_names,
                   size_t output_names_len, OrtValue **outputs) {
  return ort_run_in(session, run_options, input_names, inputs, input_len, output_names, output_names_len, outputs,
                    NULL);
}

OrtStatus *ort_run_in(OrtSession *session, const OrtRunOptions *run_options, const char *const *input_names,
                      const OrtValue *const *inputs, size_t input_len, const char *const *output_names,
                      size_t output_names_len, OrtValue **outputs, ox_memory *const *memories) {
  run_values v;
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  if (run_options != NULL) ORT_ALIVE(run_options, ORT_ALIVE_RUN_OPTIONS);
  if (input_len > 0) ORT_NEED(input_names);
  if (input_len > 0) ORT_NEED(inputs);
  ORT_NEED(output_names);
  ORT_NEED(outputs);
  if (output_names_len == 0) return ort_fail(ORT_INVALID_ARGUMENT, "Run: at least one output should be requested");
  if (__builtin_expect(
          any_elsewhere(inputs, input_len) || any_elsewhere((const OrtValue *const *)outputs, output_names_len), 0))
    return ort_run_on_devices(session, run_options, input_names, inputs, input_len, output_names, output_names_len,
                              outputs);
  ORT_TRY(make_room(&v, input_len, output_names_len));
  OrtStatus *st = read_inputs(session, &v, input_names, inputs, input_len);
  if (st == NULL) st = read_outputs(session, &v, output_names, outputs, output_names_len);
  if (st == NULL) {
    ort_run_call call = {input_names, v.inputs, input_len, output_names, v.outputs, output_names_len, memories};
    bool plain = session->eps == NULL && session->profile == NULL && session->edit == NULL &&
                 (run_options == NULL || ort_run_options_are_plain(run_options));
    st = plain ? ort_run_engine(session, run_options, &call) : ort_run_around(session, run_options, &call);
  }
  if (st == NULL) st = adopt(&v, outputs);
  give_back(&v, inputs, outputs);
  return st;
}
