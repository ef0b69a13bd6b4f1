/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_provider_named.c - see ort_provider_named.h. */
#include "ort/env/ort_provider_named.h"

#include <stdio.h>
#include <string.h>

#include "ort/env/ort_env.h"
#include "ort/env/ort_providers.h"
#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/plugin/ort_ep_library.h"
#include "ort/plugin/ort_ep_policy.h"

#define ALIVE(options) ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS)

/* What ONNX Runtime's own providers of these names can be told, and the engine's have no use for. */
static const struct {
  const char *name, *keys;
} unused[] = {
    {"cpu", "|arena_extend_strategy|use_arena|"},
    {"xnnpack", "|intra_op_num_threads|"},
    {"onednn", "|use_arena|"},
    {"cuda",
     "|cudnn_conv_algo_search|do_copy_in_default_stream|cudnn_conv_use_max_workspace|cudnn_conv1d_pad_to_nc1d|"
     "enable_cuda_graph|tunable_op_enable|tunable_op_tuning_enable|tunable_op_max_tuning_duration_ms|"
     "enable_skip_layer_norm_strict_mode|prefer_nhwc|use_ep_level_unified_stream|use_tf32|fuse_conv_bias|sdpa_kernel|"
     "has_user_compute_stream|user_compute_stream|gpu_external_alloc|gpu_external_free|gpu_external_empty_cache|"},
};

static bool declares(ox_env *env, const char *name, const char *key) {
  ox_option_def def;
  for (size_t i = 0; ox_env_provider_option(env, name, i, &def) != 0; i++)
    if (strcmp(def.key, key) == 0) return true;
  return false;
}

static bool is_unused(ox_env *env, const char *name, const char *key) {
  char word[64];
  int n = snprintf(word, sizeof word, "|%s|", key);
  for (size_t i = 0; n > 0 && (size_t)n < sizeof word && i < sizeof unused / sizeof *unused; i++)
    if (strcmp(unused[i].name, name) == 0 && strstr(unused[i].keys, word) != NULL) return !declares(env, name, key);
  return false;
}

/* Microsoft's CPU provider takes any option and reads none: one that ours does not have is no reason to fail. */
static bool is_ignored(const ort_engine *engine, const char *name, const char *key) {
  if (is_unused(engine->env, name, key)) return true;
  if (strcmp(name, "cpu") != 0 || declares(engine->env, name, key)) return false;
  if (engine->held != NULL)
    ort_log(&engine->held->logger, ORT_LOGGING_LEVEL_WARNING, "onnxruntime", "ort_provider_named.c",
            "the CPU provider has no option '%s': it changes nothing", key);
  return true;
}

static OrtStatus *append_own(OrtSessionOptions *options, const ort_engine *engine, const char *name,
                             const char *const *keys, const char *const *values, size_t n) {
  ox_env *env = engine->env;
  ox_provider_info info;
  ORT_TRY(ort_status_from(ox_env_check_provider(env, name)));
  if (ox_provider_find(name, &info) != 0) name = info.name;
  ORT_TRY(ort_provider_append(options, name, NULL, NULL, 0));
  OrtKeyValuePairs *to = &options->providers[options->n_providers - 1].options;
  for (size_t i = 0; i < n; i++)
    if (!is_ignored(engine, name, keys[i])) ORT_TRY(ort_pairs_set(to, keys[i], values[i]));
  return NULL;
}

/* |*done|: a registered library has provider |name|. */
static OrtStatus *append_registered(OrtSessionOptions *options, OrtEnv *env, const char *name, const char *const *keys,
                                    const char *const *values, size_t n, bool *done) {
  enum { MOST = 8 };
  const OrtEpDevice *devices[MOST];
  ox_provider_info info;
  ort_ep_library *first;
  size_t n_devices = 0;
  *done = false;
  if (env == NULL) return NULL;
  if (ox_provider_find(name, &info) != 0) name = info.ort_name;
  ORT_TRY(ort_ep_libraries(env, &first));
  for (size_t i = 0; i < first->n_listed && n_devices < MOST; i++) {
    const OrtEpDevice *d = first->listed[i];
    bool same = d->factory != NULL && strcmp(d->name, name) == 0;
    if (same && (n_devices == 0 || d->factory == devices[0]->factory)) devices[n_devices++] = d;
  }
  *done = n_devices > 0;
  return *done ? ort_ep_append(options, devices, n_devices, keys, values, n) : NULL;
}

OrtStatus *ort_provider_append_named(OrtSessionOptions *options, const char *name, const char *const *keys,
                                     const char *const *values, size_t n) {
  ort_engine engine;
  bool done = false;
  ORT_TRY(ort_engine_open(&engine));
  OrtStatus *st = append_registered(options, engine.held, name, keys, values, n, &done);
  if (st == NULL && !done) st = append_own(options, &engine, name, keys, values, n);
  ort_engine_close(&engine);
  return st;
}

OrtStatus *ort_provider_check(const char *name) {
  OrtSessionOptions *scratch;
  ORT_TRY(ort_CreateSessionOptions(&scratch));
  OrtStatus *st = ort_provider_append_named(scratch, name, NULL, NULL, 0);
  ort_ReleaseSessionOptions(scratch);
  return st;
}

OrtStatus *ort_SessionOptionsAppendExecutionProvider(OrtSessionOptions *options, const char *provider_name,
                                                     const char *const *provider_options_keys,
                                                     const char *const *provider_options_values, size_t num_keys) {
  ALIVE(options);
  ORT_NEED(provider_name);
  if (num_keys > 0) ORT_NEED(provider_options_keys);
  if (num_keys > 0) ORT_NEED(provider_options_values);
  for (size_t i = 0; i < num_keys; i++) {
    if (provider_options_keys[i] == NULL || *provider_options_keys[i] == '\0' || provider_options_values[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "SessionOptionsAppendExecutionProvider: the key or value of option %zu is "
                      "NULL or empty",
                      i);
  }
  return ort_provider_append_named(options, provider_name, provider_options_keys, provider_options_values, num_keys);
}
