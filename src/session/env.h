/* SPDX-License-Identifier: Apache-2.0
 * session/env.h - the implementation of ox_env. */
#ifndef OX_SESSION_ENV_H
#define OX_SESSION_ENV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/file_map.h"
#include "base/log.h"
#include "ep/host.h"
#include "graph/registry.h"
#include "onyx/onyx.h"

enum { OX_MOST_PROVIDERS = 32, OX_MOST_RULE_SETS = 64 };

struct ox_env {
  atomic_size_t refs;
  ox_alloc alloc;
  ox_log log;
  ox_pool *pool;
  const ox_registry *ops; /* all operators: the built-in ones, or |own_ops| over them */
  ox_registry *own_ops;   /* NULL: none were added */
  const ox_rule_set *rule_sets[OX_MOST_RULE_SETS];
  size_t n_rule_sets;
  pthread_mutex_t lock;    /* guards the list of providers; its entries neither move nor change */
  pthread_mutex_t loading; /* held while one is looked for and loaded, or tried */
  ox_ep_api providers[OX_MOST_PROVIDERS];
  size_t n_providers;
  struct {
    bool tried;
    ox_code code;    /* of create's status */
    char text[1024]; /* create's error; or, where it works, ox_ep_api.describe */
  } trials[OX_MOST_PROVIDERS];
  pthread_mutex_t measuring; /* held while "auto" measures, so that measurements do not disturb each other */
  struct ox_tune *choices;   /* of "auto", where no file keeps them; NULL: none */
  ox_file_maps files;        /* of the sessions' models */
  uint64_t memory;           /* bytes that the process may use; 0: unknown */
};

ox_env *ox_env_retain(ox_env *env);
/* The env's provider of exactly this name; NULL: none. */
const ox_ep_api *ox_env_find_provider(const ox_env *env, const char *name);
/* The provider under any of its names, loaded if the env lacks it. Errors: INVALID_ARGUMENT saying where it was looked
 * for; those of loading it. */
OX_NODISCARD ox_status *ox_env_get_provider(ox_env *env, const char *name, const ox_ep_api **out_api);
/* ox_ep_api.describe of provider |name|, once it was checked; "": it says nothing, or does not work here. */
const char *ox_env_provider_place(ox_env *env, const char *name);
/* As ox_env_load_plugin, for a library that may bring only providers, so that sessions may be created meanwhile. */
OX_NODISCARD ox_status *ox_env_load_providers(ox_env *env, const char *path);

#endif
