/* SPDX-License-Identifier: Apache-2.0
 * session/env.h - what is behind ox_env. */
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
  const ox_registry *ops; /* the operators there are: the built-in ones, or |own_ops| over them */
  ox_registry *own_ops;   /* NULL: none were added */
  const ox_rule_set *rule_sets[OX_MOST_RULE_SETS];
  size_t n_rule_sets;
  pthread_mutex_t lock;    /* guards the list of providers; entries stay where they are, and as they are */
  pthread_mutex_t loading; /* held while one is looked for and loaded, or tried */
  ox_ep_api providers[OX_MOST_PROVIDERS];
  size_t n_providers;
  struct {
    bool tried;
    ox_code code;    /* what create said */
    char text[1024]; /* why not; or, where it works, what it says of itself (ox_ep_api.describe) */
  } trials[OX_MOST_PROVIDERS];
  pthread_mutex_t measuring; /* held while "auto" chooses: one at a time, so that they do not disturb each other */
  struct ox_tune *choices;   /* of "auto", where no file keeps them; NULL: none */
  ox_file_maps files;        /* of the sessions' models */
  uint64_t memory;           /* bytes that the process may use; 0: unknown */
};

ox_env *ox_env_retain(ox_env *env);
/* The provider that the env has under exactly this name; NULL: none. */
const ox_ep_api *ox_env_find_provider(const ox_env *env, const char *name);
/* The provider under any of its names, loaded if the env lacks it. INVALID_ARGUMENT says where it was looked for; else
 * what loading it says. */
OX_NODISCARD ox_status *ox_env_get_provider(ox_env *env, const char *name, const ox_ep_api **out_api);
/* What provider |name| says of where it runs (ox_ep_api.describe), once it was checked; "": nothing, or it does not
 * work here. */
const char *ox_env_provider_place(ox_env *env, const char *name);
/* ox_env_load_plugin of a library that may only bring providers, so that sessions may be created meanwhile. */
OX_NODISCARD ox_status *ox_env_load_providers(ox_env *env, const char *path);

#endif
