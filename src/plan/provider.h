/* SPDX-License-Identifier: Apache-2.0
 * plan/provider.h - the providers of a session. */
#ifndef OX_PLAN_PROVIDER_H
#define OX_PLAN_PROVIDER_H

#include "base/digest.h"
#include "ep/host.h"

/* A provider of a session. Its services and table outlive everything that it made. */
typedef struct ox_provider {
  ox_ep_api api;
  ox_ep *ep;
  ox_ep_services services;
  ox_digest identity; /* of its name, version and options: where cached programs begin */
} ox_provider;

/* Where the digests of a provider's cached programs begin: with its name, version and options. */
ox_digest ox_provider_identity(const ox_ep_api *api, const ox_options *o);

/* The name of |owner|: a provider's, "host", or "" for OX_NO_OWNER. */
const char *ox_owner_name(const ox_provider *providers, size_t n, uint16_t owner);

#endif
