/* SPDX-License-Identifier: Apache-2.0
 * plan/provider.h - the providers of a session. */
#ifndef OX_PLAN_PROVIDER_H
#define OX_PLAN_PROVIDER_H

#include "base/arena.h"
#include "base/digest.h"
#include "plan/device_arena.h"

/* A provider of a session. Its services and table outlive everything that it made. */
typedef struct ox_provider {
  ox_ep_api api;
  ox_ep *ep;
  ox_ep_services services;
  ox_digest identity; /* of its name, version and options: where cached programs begin */
  const char *parts;  /* plan/kept_parts.h: which of the programs that it claims it gets; NULL: all */
  ox_device_arena **arenas; /* per memory; NULL, there or here: blocks come from the provider itself */
} ox_provider;

/* The option that sets |parts|; the choice of providers by measuring uses it (session/auto.h). */
#define OX_PARTS_OPTION "onyx.parts"

/* Options about a provider that the host handles. */
typedef struct ox_arena_request {
  ox_device_arena_opts opts;
  bool asked;
  const char *parts; /* "onyx.parts" */
} ox_arena_request;

/* Splits |given| into these and |*out_rest| for the provider, in arrays of |a|. INVALID_ARGUMENT for values that do not
 * parse. */
OX_NODISCARD ox_status *ox_provider_arena_options(ox_arena *a, const ox_ep_api *api, const ox_options *given,
                                                  ox_options *out_rest, ox_arena_request *out);
/* Makes arenas for all memories of |p|. */
OX_NODISCARD ox_status *ox_provider_add_arenas(ox_provider *p, ox_alloc alloc, const ox_device_arena_opts *opts);
void ox_provider_release_arenas(ox_provider *p, ox_alloc alloc); /* before |p->ep| is destroyed */

/* Makes the services of |p| take and give memory through |p|. */
void ox_provider_serve_memory(ox_provider *p);

/* Allocates a block of memory |memory| of |p|. Errors name provider, memory and bytes. */
OX_NODISCARD ox_status *ox_provider_take(const ox_provider *p, uint32_t memory, size_t bytes, void **out_data);
void ox_provider_give(const ox_provider *p, uint32_t memory, void *data, size_t bytes);

/* The start of the digests that name a provider's cached programs: its name, version and options. */
ox_digest ox_provider_identity(const ox_ep_api *api, const ox_options *o);

/* The name of |owner|: a provider's, "host", or "" for OX_NO_OWNER. */
const char *ox_owner_name(const ox_provider *providers, size_t n, uint16_t owner);

#endif
