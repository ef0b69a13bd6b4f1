/* SPDX-License-Identifier: Apache-2.0
 * plan/provider.c - see provider.h. */
#include "plan/provider.h"

const char *ox_owner_name(const ox_provider *providers, size_t n, uint16_t owner) {
  if (owner == OX_HOST_OWNER) return "host";
  return owner != OX_NO_OWNER && owner <= n ? providers[owner - 1].api.name : "";
}

ox_digest ox_provider_identity(const ox_ep_api *api, const ox_options *o) {
  ox_digest d = ox_digest_init();
  ox_digest_text(&d, api->name);
  ox_digest_text(&d, api->version);
  for (uint32_t i = 0; o && i < o->n; i++) {
    ox_digest_text(&d, o->keys[i]);
    ox_digest_text(&d, o->values[i]);
  }
  return d;
}
