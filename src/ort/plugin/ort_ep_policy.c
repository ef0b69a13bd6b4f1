/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_policy.c - providers of libraries in session options. Options of a provider are entries of the
 * session's configuration, "ep.<name in lower case>.<option>", where the library looks for them. */
#include "ort/plugin/ort_ep_policy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/env/ort_providers.h"
#include "ort/plugin/ort_ep_library.h"

enum { MOST_SELECTED = 8 };

/* ---- what the client names ---- */

static OrtStatus *add_option(OrtSessionOptions *o, const char *ep, const char *key, const char *value, bool replace) {
  char entry[1024 + 1];
  int n = snprintf(entry, sizeof entry, "ep.%s.%s", ep, key);
  if (n < 0 || (size_t)n >= sizeof entry)
    return ort_fail(ORT_INVALID_ARGUMENT, "the name of option '%.64s' of provider %s is too long", key, ep);
  for (char *c = entry + 3; c < entry + 3 + strlen(ep); c++) *c = (char)tolower((unsigned char)*c);
  if (!replace && ort_pairs_get(&o->config, entry) != NULL) return NULL;
  return ort_config_add(&o->config, "SessionOptionsAppendExecutionProvider_V2", entry, value);
}

OrtStatus *ort_ep_append(OrtSessionOptions *o, const OrtEpDevice *const *devices, size_t n, const char *const *keys,
                         const char *const *values, size_t n_keys) {
  const char *name = devices[0]->name;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < devices[i]->options.n; k++)
      ORT_TRY(add_option(o, name, devices[i]->options.keys[k], devices[i]->options.values[k], false));
  for (size_t i = 0; i < n_keys; i++) ORT_TRY(add_option(o, name, keys[i], values[i], true));
  const OrtEpDevice **copy = malloc(n * sizeof *copy);
  if (copy == NULL) return ort_out_of_memory();
  memcpy(copy, devices, n * sizeof *copy);
  OrtStatus *st = ort_provider_append(o, name, keys, values, n_keys);
  if (st != NULL) {
    free(copy);
    return st;
  }
  o->providers[o->n_providers - 1].devices = copy, o->providers[o->n_providers - 1].n_devices = n;
  return NULL;
}

static OrtStatus *check_devices(OrtEnv *env, const OrtEpDevice *const *devices, size_t n) {
  const char *slot = "SessionOptionsAppendExecutionProvider_V2";
  for (size_t i = 0; i < n; i++) {
    if (devices[i] == NULL || !ort_ep_device_known(env, devices[i]))
      return ort_fail(ORT_INVALID_ARGUMENT, "%s: 'ep_devices[%zu]' is none of GetEpDevices", slot, i);
    if (devices[i]->factory != devices[0]->factory || strcmp(devices[i]->name, devices[0]->name) != 0)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "%s: 'ep_devices[%zu]' is of provider %s, the first of %s; they have to be of one", slot, i,
                      devices[i]->name, devices[0]->name);
  }
  return NULL;
}

OrtStatus *ort_SessionOptionsAppendExecutionProvider_V2(OrtSessionOptions *session_options, OrtEnv *env,
                                                        const OrtEpDevice *const *ep_devices, size_t num_ep_devices,
                                                        const char *const *ep_option_keys,
                                                        const char *const *ep_option_vals, size_t num_ep_options) {
  ORT_ALIVE(session_options, ORT_ALIVE_SESSION_OPTIONS);
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  if (num_ep_devices == 0) return ort_fail(ORT_INVALID_ARGUMENT, "Must provide one or more OrtEpDevice instances.");
  ORT_NEED(ep_devices);
  if (num_ep_options > 0) ORT_NEED(ep_option_keys);
  if (num_ep_options > 0) ORT_NEED(ep_option_vals);
  ORT_TRY(check_devices(env, ep_devices, num_ep_devices));
  for (size_t i = 0; i < num_ep_options; i++)
    if (ep_option_keys[i] == NULL || *ep_option_keys[i] == 0 || ep_option_vals[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "SessionOptionsAppendExecutionProvider_V2: the key or value of option %zu is NULL or empty", i);
  return ort_ep_append(session_options, ep_devices, num_ep_devices, ep_option_keys, ep_option_vals, num_ep_options);
}

/* ---- where weights are that a compiled model leaves out ---- */

OrtStatus *ort_SessionOptionsSetWeightlessSourceModelBuffer(OrtSessionOptions *session_options, const void *model_data,
                                                            size_t model_data_length) {
  ORT_ALIVE(session_options, ORT_ALIVE_SESSION_OPTIONS);
  if (model_data_length > 0) ORT_NEED(model_data);
  session_options->source_model = model_data, session_options->source_model_bytes = model_data_length;
  return NULL;
}

OrtStatus *ort_ep_SessionOptionsGetWeightlessSourceModelBuffer(const OrtSessionOptions *session_options,
                                                               const void **model_data, size_t *model_data_length) {
  ORT_ALIVE(session_options, ORT_ALIVE_SESSION_OPTIONS);
  ORT_NEED(model_data);
  ORT_NEED(model_data_length);
  *model_data = session_options->source_model, *model_data_length = session_options->source_model_bytes;
  return NULL;
}

/* ---- what a policy chooses ---- */

OrtStatus *ort_SessionOptionsSetEpSelectionPolicy(OrtSessionOptions *session_options,
                                                  OrtExecutionProviderDevicePolicy policy) {
  ORT_ALIVE(session_options, ORT_ALIVE_SESSION_OPTIONS);
  session_options->policy = policy, session_options->has_policy = true, session_options->select = NULL;
  return NULL;
}

OrtStatus *ort_SessionOptionsSetEpSelectionPolicyDelegate(OrtSessionOptions *session_options,
                                                          EpSelectionDelegate delegate, void *delegate_state) {
  ORT_ALIVE(session_options, ORT_ALIVE_SESSION_OPTIONS);
  session_options->select = delegate, session_options->select_param = delegate_state;
  session_options->has_policy = delegate != NULL;
  return NULL;
}

/* The first device of a kind that a library serves: discrete GPUs before others. */
static const OrtEpDevice *first_of(const OrtEpDevice *const *devices, size_t n, OrtHardwareDeviceType type) {
  const OrtEpDevice *best = NULL;
  for (size_t i = 0; i < n; i++) {
    const OrtEpDevice *d = devices[i];
    if (d->factory == NULL || d->hardware->type != type) continue;
    const char *discrete = ort_pairs_get(&d->hardware->metadata, "Discrete");
    if (best == NULL || (discrete != NULL && strcmp(discrete, "1") == 0)) best = d;
    if (best == d && discrete != NULL) break;
  }
  return best;
}

/* The kind of device that |policy| is about. */
static OrtHardwareDeviceType type_of(OrtExecutionProviderDevicePolicy policy) {
  switch (policy) {
    case OrtExecutionProviderDevicePolicy_PREFER_GPU:
    case OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE:
      return OrtHardwareDeviceType_GPU;
    case OrtExecutionProviderDevicePolicy_PREFER_NPU:
    case OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY:
    case OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER:
      return OrtHardwareDeviceType_NPU;
    default:
      return OrtHardwareDeviceType_CPU;
  }
}

/* A device of that kind, else a CPU that a library serves. The engine's own CPU provider comes last in any case. */
static size_t choose(OrtExecutionProviderDevicePolicy policy, const OrtEpDevice *const *devices, size_t n,
                     const OrtEpDevice **out) {
  *out = first_of(devices, n, type_of(policy));
  if (*out == NULL) *out = first_of(devices, n, OrtHardwareDeviceType_CPU);
  return *out != NULL;
}

/* Devices of one provider make one request, in the order of the first of each. */
static OrtStatus *append_chosen(OrtSessionOptions *o, const OrtEpDevice **chosen, size_t n) {
  bool done[MOST_SELECTED] = {false};
  for (size_t i = 0; i < n; i++) {
    const OrtEpDevice *same[MOST_SELECTED];
    size_t n_same = 0;
    for (size_t k = i; k < n && !done[i]; k++) {
      if (done[k] && k != i) continue;
      if (strcmp(chosen[k]->name, chosen[i]->name) != 0) continue;
      same[n_same++] = chosen[k];
      if (k != i) done[k] = true;
    }
    if (n_same > 0) ORT_TRY(ort_ep_append(o, same, n_same, NULL, NULL, 0));
  }
  return NULL;
}

static OrtStatus *ask_delegate(OrtEnv *env, const OrtSessionOptions *o, const ort_ep_library *first,
                               const OrtEpDevice **chosen, size_t *n) {
  static const OrtKeyValuePairs nothing;
  ORT_TRY(o->select((const OrtEpDevice **)first->listed, first->n_listed, &nothing, &nothing, chosen, MOST_SELECTED, n,
                    o->select_param));
  if (*n > MOST_SELECTED)
    return ort_fail(ORT_INVALID_ARGUMENT, "the delegate says that it selected %zu devices, there was room for %d", *n,
                    MOST_SELECTED);
  for (size_t i = 0; i < *n; i++)
    if (chosen[i] == NULL || !ort_ep_device_known(env, chosen[i]))
      return ort_fail(ORT_INVALID_ARGUMENT, "device %zu that the delegate selected is none of those offered", i);
  if (*n == 0) return ort_fail(ORT_FAIL, "No devices selected");
  return NULL;
}

OrtStatus *ort_ep_policy_apply(OrtEnv *env, OrtSessionOptions *options, const OrtLogger *logger) {
  const OrtEpDevice *chosen[MOST_SELECTED];
  ort_ep_library *first;
  size_t n = 0;
  if (!options->has_policy || options->n_providers > 0) return NULL;
  ORT_TRY(ort_ep_libraries(env, &first));
  if (options->select != NULL)
    ORT_TRY(ask_delegate(env, options, first, chosen, &n));
  else
    n = choose(options->policy, first->listed, first->n_listed, chosen);
  for (size_t i = 0; i < n; i++)
    ort_log(logger, ORT_LOGGING_LEVEL_INFO, "onnxruntime", "ort_ep_policy.c", "selected: provider %s on %s",
            chosen[i]->name, chosen[i]->hardware->vendor);
  return append_chosen(options, chosen, n);
}
