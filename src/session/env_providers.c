/* SPDX-License-Identifier: Apache-2.0
 * session/env_providers.c - the list of an env's providers. */
#include <string.h>

#include "session/env.h"

/* The list changes while sessions are created, behind a const env. */
static pthread_mutex_t *lock_of(const ox_env *env) { return (pthread_mutex_t *)(uintptr_t)&env->lock; }

static const ox_ep_api *find(const ox_env *env, const char *name) {
  for (size_t i = 0; i < env->n_providers; i++)
    if (strcmp(env->providers[i].name, name) == 0) return &env->providers[i];
  return NULL;
}

static ox_status *append(ox_env *env, const ox_ep_api *api) {
  if (find(env, api->name)) return ox_fail(OX_INVALID_ARGUMENT, "there is a provider '%s' already", api->name);
  if (env->n_providers == OX_MOST_PROVIDERS) return ox_fail(OX_LIMIT, "more than %d providers", OX_MOST_PROVIDERS);
  env->providers[env->n_providers++] = *api;
  return NULL;
}

ox_status *ox_env_add_provider(ox_env *env, const ox_ep_api *api) {
  if (!api) return ox_fail(OX_INVALID_ARGUMENT, "provider table is NULL");
  ox_ep_api copy;
  OX_TRY(ox_ep_adopt(api, &copy));
  if (strcmp(copy.name, "host") == 0 || strcmp(copy.name, "custom") == 0)
    return ox_fail(OX_INVALID_ARGUMENT, "a provider cannot be called '%s'", copy.name);
  pthread_mutex_lock(&env->lock);
  ox_status *st = append(env, &copy);
  pthread_mutex_unlock(&env->lock);
  return st;
}

const char *ox_env_provider_name(const ox_env *env, size_t i) {
  pthread_mutex_lock(lock_of(env));
  const char *name = i < env->n_providers ? env->providers[i].name : NULL;
  pthread_mutex_unlock(lock_of(env));
  return name;
}

const ox_ep_api *ox_env_find_provider(const ox_env *env, const char *name) {
  pthread_mutex_lock(lock_of(env));
  const ox_ep_api *api = find(env, name);
  pthread_mutex_unlock(lock_of(env));
  return api;
}
