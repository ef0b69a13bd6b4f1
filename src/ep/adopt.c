/* SPDX-License-Identifier: Apache-2.0
 * ep/adopt.c - normalises a provider's table once, so that no call site ever asks "is it there?" */
#include <string.h>

#include "base/macros.h"
#include "ep/host.h"

#define EP_API_SIZE_1_0 sizeof(ox_ep_api)
_Static_assert(EP_API_SIZE_1_0 == 8 + 8 * sizeof(void *), "the 1.0 prefix is frozen");

ox_status *ox_ep_adopt(const ox_ep_api *theirs, ox_ep_api *out_api) {
  memset(out_api, 0, sizeof *out_api);
  if (theirs->abi_major != OX_EP_ABI_MAJOR || theirs->struct_size < EP_API_SIZE_1_0)
    return ox_fail(OX_INCOMPATIBLE, "plug-in ABI %u, %u bytes; host ABI %u, %zu bytes", theirs->abi_major,
                   theirs->struct_size, OX_EP_ABI_MAJOR, EP_API_SIZE_1_0);
  memcpy(out_api, theirs, OX_MIN(theirs->struct_size, sizeof *out_api));
  if (!out_api->name || !out_api->create || !out_api->destroy || !out_api->claim)
    return ox_fail(OX_INCOMPATIBLE, "plug-in leaves a required 1.0 entry NULL");
  if (!out_api->kernel_create && !(out_api->compile && out_api->run && out_api->program_release))
    return ox_fail(OX_INCOMPATIBLE, "plug-in '%s' has neither kernels nor compiled programs", out_api->name);
  return NULL;
}
