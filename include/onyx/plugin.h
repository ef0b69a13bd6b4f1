/* SPDX-License-Identifier: Apache-2.0
 * onyx/plugin.h - what a shared library brings: providers, operators, rules. It exports one function, ox_plugin_query,
 * and links against nothing of ours. ox_env_load_plugin (onyx/onyx.h) loads it. */
#ifndef ONYX_PLUGIN_H
#define ONYX_PLUGIN_H

#include "onyx/ep.h"
#include "onyx/op.h"
#include "onyx/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Static data of the library, which stays loaded. Each part may be empty. */
typedef struct ox_plugin {
  uint32_t struct_size; /* sizeof(ox_plugin) when the library was compiled: append only */
  uint32_t abi_major;   /* OX_EP_ABI_MAJOR */
  const char *name;     /* for messages */
  const ox_ep_api *const *providers;
  size_t n_providers;
  const ox_op *ops;
  size_t n_ops;
  const ox_rule_set *const *rule_sets;
  size_t n_rule_sets;
} ox_plugin;

/* The one symbol that a plug-in exports; NULL if it cannot serve |host_abi_major|. Called once per load. */
OX_API const ox_plugin *ox_plugin_query(uint32_t host_abi_major);

#ifdef __cplusplus
}
#endif
#endif
