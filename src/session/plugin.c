/* SPDX-License-Identifier: Apache-2.0
 * session/plugin.c - shared libraries: what they bring is checked before anything of it is added. */
#include <dlfcn.h>
#include <string.h>

#include "base/macros.h"
#include "onyx/plugin.h"
#include "session/env.h"

#define PLUGIN_SIZE_1_0 sizeof(ox_plugin)
_Static_assert(PLUGIN_SIZE_1_0 == 8 + 7 * sizeof(void *), "the 1.0 prefix is frozen");

typedef union { /* ISO C has no conversion from object to function pointers; POSIX promises this one */
  void *object;
  const ox_plugin *(*plugin)(uint32_t);
  const ox_ep_api *(*provider)(uint32_t);
} symbol;

static ox_status *add(ox_env *env, const ox_plugin *theirs, const char *path, bool all) {
  ox_plugin p = {0};
  if (!theirs) return ox_fail(OX_INCOMPATIBLE, "%s does not serve ABI %d", path, OX_EP_ABI_MAJOR);
  if (theirs->abi_major != OX_EP_ABI_MAJOR || theirs->struct_size < PLUGIN_SIZE_1_0)
    return ox_fail(OX_INCOMPATIBLE, "%s: ABI %u, %u bytes; host ABI %d, %zu bytes", path, theirs->abi_major,
                   theirs->struct_size, OX_EP_ABI_MAJOR, PLUGIN_SIZE_1_0);
  memcpy(&p, theirs, OX_MIN(theirs->struct_size, sizeof p));
  if ((p.n_providers && !p.providers) || (p.n_ops && !p.ops) || (p.n_rule_sets && !p.rule_sets))
    return ox_fail(OX_INCOMPATIBLE, "%s counts providers, operators or rules that are not there", path);
  if (!all && (p.n_ops || p.n_rule_sets))
    return ox_fail(
        OX_INCOMPATIBLE,
        "it brings operators or rules beside its providers, so it has to be loaded before sessions are made");
  for (size_t i = 0; i < p.n_providers; i++) OX_TRY(ox_env_add_provider(env, p.providers[i]));
  for (size_t i = 0; i < p.n_rule_sets; i++) OX_TRY(ox_env_add_rules(env, p.rule_sets[i]));
  return p.n_ops ? ox_env_add_ops(env, p.ops, p.n_ops) : NULL;
}

static ox_status *query(ox_env *env, void *lib, const char *path, bool all) {
  symbol s = {dlsym(lib, "ox_plugin_query")};
  if (s.object) return add(env, s.plugin(OX_EP_ABI_MAJOR), path, all);
  s.object = dlsym(lib, "ox_ep_query");
  if (!s.object) return ox_fail(OX_INCOMPATIBLE, "%s exports neither ox_plugin_query nor ox_ep_query", path);
  const ox_ep_api *api = s.provider(OX_EP_ABI_MAJOR);
  return api ? ox_env_add_provider(env, api) : ox_fail(OX_INCOMPATIBLE, "%s does not serve ABI %d", path, OX_EP_ABI_MAJOR);
}

static ox_status *load(ox_env *env, const char *path, bool all) {
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) return ox_fail(OX_NO_SUCH_FILE, "%s", dlerror());
  /* the library stays, even if something of it is refused: what came before it was added */
  return ox_status_note(query(env, lib, path, all), "plug-in %s", path);
}

ox_status *ox_env_load_plugin(ox_env *env, const char *path) {
  return path ? load(env, path, true) : ox_fail(OX_INVALID_ARGUMENT, "the path of the plug-in is NULL");
}

ox_status *ox_env_load_providers(ox_env *env, const char *path) { return load(env, path, false); }
