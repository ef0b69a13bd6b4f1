/* SPDX-License-Identifier: Apache-2.0
 * session/env.h - what is behind ox_env. */
#ifndef OX_SESSION_ENV_H
#define OX_SESSION_ENV_H

#include <stdatomic.h>

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
  ox_ep_api providers[OX_MOST_PROVIDERS];
  size_t n_providers;
  ox_file_maps files; /* of the sessions' models */
  uint64_t memory;    /* bytes that the process may use; 0: unknown */
};

ox_env *ox_env_retain(ox_env *env);
const ox_ep_api *ox_env_find_provider(const ox_env *env, const char *name);

#endif
