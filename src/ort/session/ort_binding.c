/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_binding.c - I/O bindings: inputs and outputs by name, for any number of runs. The arrays are as Run
 * wants them, so that a run with a binding is a run. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/value/ort_memory.h"
#include "ort/value/ort_own_memory.h"
#include "ort/session/ort_session.h"
#include "ort/plugin/ort_session_eps.h"
#include "ort/value/ort_value.h"
#include "ort/ort_list.h"

/* Names with values. */
typedef struct bound {
  char **names;
  OrtValue **values; /* handles of the binding's own; NULL: an output that a run makes */
  size_t n;
} bound;

struct OrtIoBinding {
  uint32_t alive;      /* ORT_ALIVE_BINDING */
  OrtSession *session; /* the caller's; it outlives the binding */
  bound in, out;
  bool *made;             /* per output: each run makes it */
  OrtMemoryInfo *devices; /* per output: where it is to lie then */
  ox_memory **memories;   /* per output: that place, if it is of one of the engine's providers; else NULL */
};

#define ALIVE(binding) ORT_ALIVE(binding, ORT_ALIVE_BINDING)

static void clear(bound *b) {
  for (size_t i = 0; i < b->n; i++) {
    free(b->names[i]);
    ort_ReleaseValue(b->values[i]);
  }
  b->n = 0;
}

static size_t find(const bound *b, const char *name) {
  size_t i = 0;
  while (i < b->n && strcmp(b->names[i], name) != 0) i++;
  return i;
}

/* |value| for |name|, in place of what it had; takes |value| over, also on failure. */
static OrtStatus *put(bound *b, const char *name, OrtValue *value, size_t *out_at) {
  size_t i = *out_at = find(b, name);
  OrtStatus *st = NULL;
  if (i == b->n) {
    st = ort_list_grow(&b->names, b->n, sizeof *b->names);
    if (st == NULL) st = ort_list_grow(&b->values, b->n, sizeof *b->values);
    if (st == NULL) st = ort_text_set(&b->names[i], name);
    if (st == NULL) b->n++;
  }
  if (st != NULL) {
    ort_ReleaseValue(value);
    return st;
  }
  ort_ReleaseValue(b->values[i]);
  b->values[i] = value;
  return NULL;
}

OrtStatus *ort_CreateIoBinding(OrtSession *session, OrtIoBinding **out) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(out);
  OrtIoBinding *b = *out = calloc(1, sizeof *b);
  if (b == NULL) return ort_out_of_memory();
  b->alive = ORT_ALIVE_BINDING, b->session = session;
  return NULL;
}

void ort_ReleaseIoBinding(OrtIoBinding *b) {
  if (b == NULL || b->alive != ORT_ALIVE_BINDING) return;
  b->alive = 0;
  clear(&b->in);
  clear(&b->out);
  free(b->in.names), free(b->in.values);
  free(b->out.names), free(b->out.values);
  free(b->made), free(b->devices), free(b->memories);
  free(b);
}

/* ---- binding ---- */

typedef ox_status *describe_fn(const ox_session *s, size_t i, ox_value_info *out);

static bool has(const ox_session *s, describe_fn *describe, size_t n, const char *name) {
  ox_value_info info;
  for (size_t i = 0; i < n; i++) {
    ox_status *st = describe(s, i, &info);
    bool found = st == NULL && strcmp(info.name, name) == 0;
    ox_status_free(st);
    if (found) return true;
  }
  return false;
}

OrtStatus *ort_BindInput(OrtIoBinding *binding, const char *name, const OrtValue *value) {
  ALIVE(binding);
  ORT_NEED(name);
  ORT_NEED(value);
  const ox_session *s = binding->session->session;
  if (!has(s, ox_session_input, ox_session_input_count(s), name) &&
      !has(s, ox_session_default, ox_session_default_count(s), name))
    return ort_fail(ORT_FAIL, "BindInput: the model has no input '%s'", name);
  OrtValue *handle;
  size_t at;
  ORT_TRY(ort_value_share(value, &handle));
  return put(&binding->in, name, handle, &at);
}

/* |value| NULL: each run makes it. Whether the model has such an output, the run says: clients bind first. */
static OrtStatus *bind_output(OrtIoBinding *b, const char *name, const OrtValue *value, const OrtMemoryInfo *device) {
  OrtValue *handle = NULL;
  size_t at;
  ORT_TRY(ort_list_grow(&b->made, b->out.n, sizeof *b->made));
  ORT_TRY(ort_list_grow(&b->devices, b->out.n, sizeof *b->devices));
  ORT_TRY(ort_list_grow(&b->memories, b->out.n, sizeof *b->memories));
  if (value != NULL) ORT_TRY(ort_value_share(value, &handle));
  ORT_TRY(put(&b->out, name, handle, &at));
  b->made[at] = value == NULL, b->devices[at] = *device;
  b->memories[at] = value == NULL ? ort_own_memory_find(b->session->env, device) : NULL;
  return NULL;
}

OrtStatus *ort_BindOutput(OrtIoBinding *binding, const char *name, const OrtValue *value) {
  ALIVE(binding);
  ORT_NEED(name);
  ORT_NEED(value);
  return bind_output(binding, name, value, ort_cpu_memory());
}

OrtStatus *ort_BindOutputToDevice(OrtIoBinding *binding, const char *name, const OrtMemoryInfo *memory) {
  ALIVE(binding);
  ORT_NEED(name);
  ORT_NEED(memory);
  return bind_output(binding, name, NULL, memory);
}

void ort_ClearBoundInputs(OrtIoBinding *binding) {
  if (binding != NULL && binding->alive == ORT_ALIVE_BINDING) clear(&binding->in);
}

void ort_ClearBoundOutputs(OrtIoBinding *binding) {
  if (binding != NULL && binding->alive == ORT_ALIVE_BINDING) clear(&binding->out);
}

/* ---- runs ---- */

OrtStatus *ort_RunWithBinding(OrtSession *session, const OrtRunOptions *run_options, const OrtIoBinding *binding) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ALIVE(binding);
  const bound *in = &binding->in, *out = &binding->out;
  if (out->n == 0) return ort_fail(ORT_INVALID_ARGUMENT, "RunWithBinding: at least one output should be bound");
  for (size_t i = 0; i < out->n; i++) {
    if (!binding->made[i]) continue;
    ort_ReleaseValue(out->values[i]);
    out->values[i] = NULL;
  }
  bool any = false;
  for (size_t i = 0; i < out->n; i++) any |= binding->memories[i] != NULL;
  ORT_TRY(ort_run_in(session, run_options, (const char *const *)in->names, (const OrtValue *const *)in->values, in->n,
                     (const char *const *)out->names, out->n, out->values, any ? binding->memories : NULL));
  for (size_t i = 0; i < out->n; i++)
    if (binding->made[i] && !ort_memory_is_cpu(&binding->devices[i]) && binding->memories[i] == NULL)
      ORT_TRY(ort_value_to_device(session, &binding->devices[i], &out->values[i]));
  return NULL;
}

/* A run ends when its values are there; what providers still have on their streams is waited for here. */
OrtStatus *ort_SynchronizeBoundInputs(OrtIoBinding *binding) {
  ALIVE(binding);
  return ort_session_eps_sync(binding->session->eps);
}

OrtStatus *ort_SynchronizeBoundOutputs(OrtIoBinding *binding) {
  ALIVE(binding);
  return ort_session_eps_sync(binding->session->eps);
}

/* ---- what there is after a run ---- */

OrtStatus *ort_GetBoundOutputNames(const OrtIoBinding *binding, OrtAllocator *allocator, char **buffer,
                                   size_t **lengths, size_t *count) {
  ALIVE(binding);
  ORT_NEED(allocator);
  ORT_NEED(buffer);
  ORT_NEED(lengths);
  ORT_NEED(count);
  const bound *out = &binding->out;
  size_t bytes = 0;
  *buffer = NULL, *lengths = NULL, *count = 0;
  if (out->n == 0) return NULL;
  for (size_t i = 0; i < out->n; i++) bytes += strlen(out->names[i]);
  char *text = allocator->Alloc(allocator, bytes > 0 ? bytes : 1);
  size_t *n = text != NULL ? allocator->Alloc(allocator, out->n * sizeof *n) : NULL;
  if (n == NULL) {
    if (text != NULL) allocator->Free(allocator, text);
    return ort_out_of_memory();
  }
  *buffer = text, *lengths = n, *count = out->n;
  for (size_t i = 0; i < out->n; i++) {
    n[i] = strlen(out->names[i]);
    memcpy(text, out->names[i], n[i]);
    text += n[i];
  }
  return NULL;
}

OrtStatus *ort_GetBoundOutputValues(const OrtIoBinding *binding, OrtAllocator *allocator, OrtValue ***output,
                                    size_t *count) {
  ALIVE(binding);
  ORT_NEED(allocator);
  ORT_NEED(output);
  ORT_NEED(count);
  const bound *out = &binding->out;
  *output = NULL, *count = 0;
  if (out->n == 0) return NULL;
  for (size_t i = 0; i < out->n; i++)
    if (out->values[i] == NULL)
      return ort_fail(ORT_FAIL, "GetBoundOutputValues: output '%s' is not there before a run", out->names[i]);
  OrtValue **values = allocator->Alloc(allocator, out->n * sizeof *values);
  if (values == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < out->n; i++) {
    OrtStatus *st = ort_value_share(out->values[i], &values[i]);
    if (st == NULL) continue;
    while (i-- > 0) ort_ReleaseValue(values[i]);
    allocator->Free(allocator, values);
    return st;
  }
  *output = values, *count = out->n;
  return NULL;
}
