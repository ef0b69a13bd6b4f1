/* SPDX-License-Identifier: Apache-2.0
 * plan/partition.h - who runs which node: the providers are asked in the caller's order, and what they want as programs
 * becomes nodes with a body. */
#ifndef OX_PLAN_PARTITION_H
#define OX_PLAN_PARTITION_H

#include "base/digest.h"
#include "ep/host.h"

/* A provider of a session. Its services and table outlive everything that it made. */
typedef struct ox_provider {
  ox_ep_api api;
  ox_ep *ep;
  ox_ep_services services;
  ox_digest identity; /* of its name, version and options: where cached programs begin */
} ox_provider;

/* Asks each provider about the nodes that those before it left, in the main graph and in every body, and assigns what
 * it claims. Views and operators with bodies that nobody claims go to the host. Errors: those of the providers;
 * NOT_IMPLEMENTED listing every operator that nobody takes, with counts. */
OX_NODISCARD ox_status *ox_partition(ox_model *m, ox_provider *providers, size_t n);

/* Turns the nodes that are claimed as parts into as few nodes with bodies (graph/extract.h) as go without cycles. */
OX_NODISCARD ox_status *ox_partition_extract(ox_model *m, const ox_provider *providers, size_t n);

/* Where the digests of a provider's cached programs begin: with its name, version and options. */
ox_digest ox_provider_identity(const ox_ep_api *api, const ox_options *o);

/* The name of |owner|: a provider's, "host", or "" for OX_NO_OWNER. */
const char *ox_owner_name(const ox_provider *providers, size_t n, uint16_t owner);

#endif
