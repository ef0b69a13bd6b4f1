/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_run_devices.c - runs with tensors in memory of a device: the engine's runs begin and end in memory of
 * the host, so that inputs are copied there before, and outputs that the client gives are copied back. */
#include <stdlib.h>

#include "ort/value/ort_allocators.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"
#include "ort/plugin/ort_ep_library.h"

typedef struct device_run {
  const OrtValue **in; /* the client's, or copies */
  OrtValue **out;
  OrtValue **made; /* per input, then per output: the copy, or NULL */
} device_run;

static OrtStatus *host_tensor(const OrtValue *like, OrtValue **out) {
  const ox_tensor *t = like->tensor;
  return ort_tensor_create(ort_default_allocator(), t->dtype, t->shape.dim, (size_t)t->shape.rank, out);
}

static OrtStatus *copy_inputs(OrtSession *s, device_run *r, const OrtValue *const *inputs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    r->in[i] = inputs[i];
    if (inputs[i] == NULL || !ort_value_is_elsewhere(inputs[i])) continue;
    ORT_TRY(host_tensor(inputs[i], &r->made[i]));
    ORT_TRY(ort_ep_copy_tensors(s->env, &inputs[i], &r->made[i], NULL, 1));
    r->in[i] = r->made[i];
  }
  return NULL;
}

static OrtStatus *make_outputs(device_run *r, OrtValue *const *outputs, size_t n_in, size_t n) {
  for (size_t i = 0; i < n; i++) {
    r->out[i] = outputs[i];
    if (outputs[i] == NULL || !ort_value_is_elsewhere(outputs[i])) continue;
    ORT_TRY(host_tensor(outputs[i], &r->made[n_in + i]));
    r->out[i] = r->made[n_in + i];
  }
  return NULL;
}

/* Those that the run made are the client's; those that it gave get the results. */
static OrtStatus *hand_over(OrtSession *s, device_run *r, OrtValue **outputs, size_t n_in, size_t n) {
  OrtStatus *st = NULL;
  for (size_t i = 0; i < n; i++) {
    const OrtValue *made = r->made[n_in + i];
    if (made == NULL)
      outputs[i] = r->out[i];
    else if (st == NULL)
      st = ort_ep_copy_tensors(s->env, &made, &outputs[i], NULL, 1);
  }
  return st;
}

static OrtStatus *run(OrtSession *s, const OrtRunOptions *options, const char *const *input_names,
                      const OrtValue *const *inputs, size_t n_in, const char *const *output_names, size_t n_out,
                      OrtValue **outputs, device_run *r) {
  r->in = malloc((n_in + 1) * sizeof(void *)), r->out = malloc((n_out + 1) * sizeof(void *));
  r->made = calloc(n_in + n_out + 1, sizeof(void *));
  if (r->in == NULL || r->out == NULL || r->made == NULL) return ort_out_of_memory();
  ORT_TRY(copy_inputs(s, r, inputs, n_in));
  ORT_TRY(make_outputs(r, outputs, n_in, n_out));
  ORT_TRY(ort_Run(s, options, input_names, r->in, n_in, output_names, n_out, r->out));
  return hand_over(s, r, outputs, n_in, n_out);
}

OrtStatus *ort_run_on_devices(OrtSession *s, const OrtRunOptions *options, const char *const *input_names,
                              const OrtValue *const *inputs, size_t n_in, const char *const *output_names, size_t n_out,
                              OrtValue **outputs) {
  device_run r = {0};
  OrtStatus *st = run(s, options, input_names, inputs, n_in, output_names, n_out, outputs, &r);
  for (size_t i = 0; r.made != NULL && i < n_in + n_out; i++) ort_ReleaseValue(r.made[i]);
  free(r.in), free(r.out), free(r.made);
  return st;
}

OrtStatus *ort_value_to_device(OrtSession *s, const OrtMemoryInfo *memory, OrtValue **value) {
  OrtAllocator *a = ort_shared_allocator_find(s->env, memory);
  const OrtValue *from = *value;
  const ox_tensor *t = from->tensor;
  OrtValue *there;
  if (a == NULL || t->kind != OX_TENSOR || t->dtype == OX_STRING) return NULL;
  ORT_TRY(ort_tensor_create(a, t->dtype, t->shape.dim, (size_t)t->shape.rank, &there));
  OrtStatus *st = ort_ep_copy_tensors(s->env, &from, &there, NULL, 1);
  ort_ReleaseValue(st == NULL ? *value : there);
  if (st == NULL) *value = there;
  return st;
}
