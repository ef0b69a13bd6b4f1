/* SPDX-License-Identifier: Apache-2.0
 * session/env.c - allocator, log, pool and providers that sessions share. */
#include "session/env.h"

#include <string.h>

#include "base/version.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "base/memory.h"
#include "base/tune.h"
#include "ops/builtin.h"

#define OX_EPS(stem) const ox_ep_api *ox_##stem(void);
#include "ep_list.inc" /* the build writes OX_EPS(stem) for each src/ep/<name>/ep_<name>.c */
#undef OX_EPS

static const ox_ep_api *(*const built_in[])(void) = {
#define OX_EPS(stem) ox_##stem,
#include "ep_list.inc"
#undef OX_EPS
};

const char *ox_version(void) { return OX_VERSION; }

ox_status *ox_env_create(const ox_env_opts *opts, ox_env **out_env) {
  *out_env = NULL;
  ox_env_opts o = {0};
  if (opts) {
    if (opts->struct_size < offsetof(ox_env_opts, log))
      return ox_fail(OX_INVALID_ARGUMENT, "ox_env_opts.struct_size is %zu: set it to sizeof(ox_env_opts)",
                     opts->struct_size);
    memcpy(&o, opts, OX_MIN(opts->struct_size, sizeof o));
  }
  ox_alloc alloc = o.alloc.alloc ? o.alloc : ox_alloc_heap();
  const ox_registry *ops = ox_ops_builtin();
  ox_env *env = ops ? ox_new_zeroed(alloc, sizeof *env) : NULL;
  if (!env) return ox_oom();
  atomic_init(&env->refs, 1);
  pthread_mutex_init(&env->lock, NULL);
  pthread_mutex_init(&env->loading, NULL);
  pthread_mutex_init(&env->measuring, NULL);
  env->alloc = alloc, env->ops = ops;
  ox_file_maps_init(&env->files);
  env->memory = ox_memory_usable("");
  env->log = (ox_log){o.log, o.log_ctx, (ox_log_level)o.log_level};
  env->pool = o.pool ? o.pool : ox_pool_default();
  ox_status *st = NULL;
  for (size_t i = 0; !st && i < OX_COUNT(built_in); i++) st = ox_env_add_provider(env, built_in[i]());
#ifdef OX_CPU_PLUGIN
  if (!st) st = ox_env_load_plugin(env, OX_CPU_PLUGIN);
#endif
  if (st)
    ox_env_release(env);
  else
    *out_env = env;
  return st;
}

ox_env *ox_env_retain(ox_env *env) {
  atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
  return env;
}

void ox_env_release(ox_env *env) {
  /* acq_rel: the last release sees all that others did through their count */
  if (!env || atomic_fetch_sub_explicit(&env->refs, 1, memory_order_acq_rel) != 1) return;
  ox_registry_destroy(env->own_ops);
  ox_file_maps_deinit(&env->files);
  pthread_mutex_destroy(&env->lock);
  pthread_mutex_destroy(&env->loading);
  pthread_mutex_destroy(&env->measuring);
  ox_tune_close(env->choices);
  ox_delete(env->alloc, env, sizeof *env);
}

const char *ox_type_name(uint32_t dtype) { return ox_dtype_name(dtype); }
uint32_t ox_type_bits(uint32_t dtype) { return ox_dtype_bits(dtype); }
