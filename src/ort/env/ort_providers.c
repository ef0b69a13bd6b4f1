/* SPDX-License-Identifier: Apache-2.0
 * ort/env/ort_providers.c - providers by name: which there are, which a session is to ask. The engine's own are built
 * in or plug-ins of its (onyx/onyx.h, ox_provider_spec); those of other makers are there once their library is
 * registered. */
#include "ort/env/ort_providers.h"

#include <stdlib.h>
#include <string.h>

#include "onyx/onyx.h"
#include "ort/env/ort_env.h"
#include "ort/ort_api.h"
#include "ort/ort_list.h"
#include "ort/plugin/ort_ep_library.h"

/* ---- which there are ---- */

static bool works(ox_env *env, const char *name) {
  ox_status *st = ox_env_check_provider(env, name);
  bool good = st == NULL;
  ox_status_free(st);
  return good;
}

static OrtStatus *list(ox_env *env, char ***out, int *n) {
  ox_provider_info info;
  for (size_t i = 0; ox_provider_known(i, &info) != 0; i++) {
    if (info.foreign || !works(env, info.name)) continue;
    ORT_TRY(ort_list_grow(out, (size_t)*n, sizeof **out));
    ORT_TRY(ort_text_set(&(*out)[*n], info.ort_name));
    ++*n;
  }
  return NULL;
}

OrtStatus *ort_GetAvailableProviders(char ***out, int *n) {
  ORT_NEED(out);
  ORT_NEED(n);
  ort_engine engine;
  *out = NULL, *n = 0;
  ORT_TRY(ort_engine_open(&engine));
  OrtStatus *st = list(engine.env, out, n);
  ort_engine_close(&engine);
  if (st == NULL) return NULL;
  ort_ReleaseStatus(ort_ReleaseAvailableProviders(*out, *n));
  *out = NULL, *n = 0;
  return st;
}

OrtStatus *ort_ReleaseAvailableProviders(char **names, int n) {
  for (int i = 0; names != NULL && i < n; i++) free(names[i]);
  free(names);
  return NULL;
}

const char *ort_provider_name(const char *name) {
  ox_provider_info info;
  if (strcmp(name, "host") == 0 || strcmp(name, "custom") == 0) name = "cpu";
  return ox_provider_find(name, &info) != 0 && strcmp(name, info.name) == 0 ? info.ort_name : name;
}

/* ---- which a session is to ask ---- */

OrtStatus *ort_provider_append(OrtSessionOptions *options, const char *name, const char *const *keys,
                               const char *const *values, size_t n) {
  ORT_TRY(ort_list_grow(&options->providers, options->n_providers, sizeof *options->providers));
  ort_provider_request *p = &options->providers[options->n_providers];
  OrtStatus *st = ort_text_set(&p->name, name);
  for (size_t i = 0; st == NULL && i < n; i++) st = ort_pairs_set(&p->options, keys[i], values[i]);
  if (st == NULL) {
    options->n_providers++;
    return NULL;
  }
  free(p->name);
  ort_pairs_deinit(&p->options);
  return st;
}

size_t ort_provider_option_count(const OrtSessionOptions *options) {
  size_t n = 0;
  for (size_t i = 0; i < options->n_providers; i++) n += options->providers[i].options.n;
  return n;
}

/* Named twice, a provider is asked where it stands first. */
static bool is_there(const ox_provider_spec *specs, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(specs[i].name, name) == 0) return true;
  return false;
}

size_t ort_provider_specs(const OrtSessionOptions *options, ox_provider_spec *specs, const char **texts) {
  size_t n = 0;
  for (size_t i = 0; i < options->n_providers; i++) {
    const ort_provider_request *p = &options->providers[i];
    const char *name = p->devices != NULL && p->devices[0]->factory == NULL ? "cpu" : p->name;
    if (is_there(specs, n, name)) continue;
    ox_provider_spec *spec = &specs[n++];
    *spec = (ox_provider_spec){.name = name};
    if (p->devices != NULL) continue; /* their options are entries of the session's configuration */
    spec->options = (ox_options){(uint32_t)p->options.n, texts, texts + p->options.n};
    for (size_t k = 0; k < p->options.n; k++)
      texts[k] = p->options.keys[k], texts[p->options.n + k] = p->options.values[k];
    texts += 2 * p->options.n;
  }
  return n;
}
