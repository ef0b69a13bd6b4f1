/* SPDX-License-Identifier: Apache-2.0
 * ep/adopt.c - normalises a provider's table once, so that no call site ever asks "is it there?" */
#include <string.h>

#include "base/macros.h"
#include "ep/host.h"

#define EP_API_SIZE_1_0 offsetof(ox_ep_api, version)
_Static_assert(EP_API_SIZE_1_0 == 8 + 8 * sizeof(void *), "the 1.0 prefix is frozen");

enum { MOST_OPTIONS = 256, MOST_MEMORIES = 16 };

static ox_status *incomplete(const ox_ep_api *api, const char *what) {
  return ox_fail(OX_INCOMPATIBLE, "plug-in '%s': %s", api->name, what);
}

static ox_status *check_options(const ox_ep_api *api) {
  if ((api->n_options && !api->options) || api->n_options > MOST_OPTIONS)
    return incomplete(api, "its table of options is missing or too long");
  for (size_t i = 0; i < api->n_options; i++)
    if (!api->options[i].key || api->options[i].type > OX_OPTION_BOOL)
      return incomplete(api, "an option has no key or no known type");
  return NULL;
}

static ox_status *check_device(const ox_ep_api *api) {
  bool streams = api->stream_create != NULL;
  if ((api->n_memories && !api->memories) || api->n_memories > MOST_MEMORIES)
    return incomplete(api, "its table of memories is missing or too long");
  if (api->n_memories && (!api->memory_alloc || !api->memory_free || !api->copy))
    return incomplete(api, "memories come with memory_alloc, memory_free and copy");
  for (size_t i = 0; i < api->n_memories; i++)
    if (!api->memories[i].name || (api->memories[i].align & (api->memories[i].align - 1)))
      return incomplete(api, "a memory has no name, or an alignment that is no power of two");
  if (!api->stream_release != !streams || !api->stream_sync != !streams || !api->event_create != !streams ||
      !api->event_release != !streams || !api->event_record != !streams || !api->event_sync != !streams)
    return incomplete(api, "the calls of streams and events come together or not at all");
  return NULL;
}

ox_status *ox_ep_adopt(const ox_ep_api *theirs, ox_ep_api *out_api) {
  memset(out_api, 0, sizeof *out_api);
  if (theirs->abi_major != OX_EP_ABI_MAJOR || theirs->struct_size < EP_API_SIZE_1_0)
    return ox_fail(OX_INCOMPATIBLE, "plug-in ABI %u, %u bytes; host ABI %u, %zu bytes", theirs->abi_major,
                   theirs->struct_size, OX_EP_ABI_MAJOR, EP_API_SIZE_1_0);
  size_t whole = theirs->struct_size / sizeof(void *) * sizeof(void *); /* no half of a pointer */
  memcpy(out_api, theirs, OX_MIN(whole, sizeof *out_api));
  if (!out_api->name || !*out_api->name || !out_api->create || !out_api->destroy || !out_api->claim)
    return ox_fail(OX_INCOMPATIBLE, "plug-in leaves a required 1.0 entry NULL");
  bool programs = out_api->compile != NULL;
  if (!out_api->run != !programs || !out_api->program_release != !programs)
    return incomplete(out_api, "compile, run and program_release come together or not at all");
  if (!out_api->kernel_create && !programs) return incomplete(out_api, "it has neither kernels nor compiled programs");
  if (!out_api->save != !out_api->load) return incomplete(out_api, "save and load come together or not at all");
  if ((out_api->n_ops && !out_api->ops) || (out_api->n_rule_sets && !out_api->rule_sets))
    return incomplete(out_api, "it counts operators or rules that are not there");
  OX_TRY(check_options(out_api));
  return check_device(out_api);
}
