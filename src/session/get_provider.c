/* SPDX-License-Identifier: Apache-2.0
 * session/get_provider.c - providers by name: loaded when first asked for; whether they work here is tried. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "session/env.h"
#include "session/find_plugin.h"

static ox_status *not_here(const char *asked, const char *name, const ox_provider_info *known, const char *looked) {
  if (known && known->foreign == 2)
    return ox_fail(OX_INVALID_ARGUMENT, "there is no provider '%s': %s", asked, known->get);
  if (known && known->foreign)
    return ox_fail(OX_INVALID_ARGUMENT,
                   "there is no provider '%s' of Onyx's; libonnxruntime.so.1 and the Python packages take the library "
                   "of its maker (RegisterExecutionProviderLibrary): %s",
                   asked, known->get);
  if (!*looked) return ox_fail(OX_INVALID_ARGUMENT, "there is no provider '%s'", asked);
  return ox_fail(OX_INVALID_ARGUMENT, "there is no provider '%s': no libonyx-%s.so in %s%s%s", asked, name, looked,
                 known ? "; it needs " : "", known ? known->get : "");
}

static ox_status *load(ox_env *env, const char *asked, const char *name, const ox_provider_info *known,
                       const ox_ep_api **out_api) {
  ox_plugin_search search = {.looked = ""};
  if ((known && known->foreign) || !ox_plugin_find(name, &search)) return not_here(asked, name, known, search.looked);
  OX_TRY(ox_env_load_providers(env, search.path));
  *out_api = ox_env_find_provider(env, name);
  return *out_api ? NULL : ox_fail(OX_INCOMPATIBLE, "%s brings no provider '%s'", search.path, name);
}

ox_status *ox_env_get_provider(ox_env *env, const char *name, const ox_ep_api **out_api) {
  ox_provider_info row;
  *out_api = name ? ox_env_find_provider(env, name) : NULL;
  if (*out_api) return NULL;
  bool known = ox_provider_find(name, &row) != 0;
  const char *own = known ? row.name : name;
  if (!own) return ox_fail(OX_INVALID_ARGUMENT, "there is no provider ''");
  pthread_mutex_lock(&env->loading);
  *out_api = ox_env_find_provider(env, own);
  ox_status *st = *out_api ? NULL : load(env, name, own, known ? &row : NULL, out_api);
  pthread_mutex_unlock(&env->loading);
  return st;
}

int ox_env_provider_option(ox_env *env, const char *name, size_t i, ox_option_def *out) {
  const ox_ep_api *api;
  ox_status_free(ox_env_get_provider(env, name, &api));
  if (!api || i >= api->n_options) return 0;
  *out = api->options[i];
  return 1;
}

/* ---- whether it works here ---- */

static ox_status *create_one(ox_env *env, const ox_ep_api *api, char *out_place, size_t n_place) {
  static const ox_log silence;
  ox_options none = {0};
  ox_ep *ep = NULL;
  ox_ep_services services = {.alloc = env->alloc,
                             .log = &silence,
                             .pool = env->pool,
                             .max_threads = OX_MAX(ox_pool_size(env->pool), 1),
                             .provider = api->name};
  ox_ep_host host = ox_ep_host_make(&services, api);
  OX_TRY(api->create(&host, &none, &ep));
  if (!ep) return ox_fail(OX_FAIL, "create returned nothing");
  const char *place = api->describe ? api->describe(ep) : NULL;
  snprintf(out_place, n_place, "%s", place ? place : "");
  api->destroy(ep);
  return NULL;
}

ox_status *ox_env_check_provider(ox_env *env, const char *name) {
  const ox_ep_api *api;
  if (name && strcmp(name, "auto") == 0) return NULL; /* whichever is here (session/auto.h) */
  OX_TRY(ox_env_get_provider(env, name, &api));
  size_t i = (size_t)(api - env->providers);
  pthread_mutex_lock(&env->loading);
  if (!env->trials[i].tried) {
    char *text = env->trials[i].text;
    ox_status *st = create_one(env, api, text, sizeof env->trials[i].text);
    env->trials[i].tried = true, env->trials[i].code = ox_status_code(st);
    if (st) snprintf(text, sizeof env->trials[i].text, "%s", ox_status_message(st));
    ox_status_free(st);
  }
  pthread_mutex_unlock(&env->loading);
  return env->trials[i].code == OX_OK
             ? NULL
             : ox_fail(env->trials[i].code, "provider '%s': %s", api->name, env->trials[i].text);
}

const char *ox_env_provider_place(ox_env *env, const char *name) {
  const ox_ep_api *api = ox_env_find_provider(env, name);
  size_t i = api ? (size_t)(api - env->providers) : 0;
  return api && env->trials[i].tried && env->trials[i].code == OX_OK ? env->trials[i].text : "";
}
