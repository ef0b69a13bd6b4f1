/* SPDX-License-Identifier: Apache-2.0
 * plan/partition.h - who runs which node: the providers are asked in the caller's order, and what they want as programs
 * becomes nodes with a body. */
#ifndef OX_PLAN_PARTITION_H
#define OX_PLAN_PARTITION_H

#include "plan/provider.h"

/* Asks each provider about the nodes that those before it left, in the main graph and in every body, and assigns what
 * it claims. Views and operators with bodies that no provider claims go to the host. Errors: those of the providers;
 * NOT_IMPLEMENTED listing every operator that no provider takes, with counts. */
OX_NODISCARD ox_status *ox_partition(ox_model *m, ox_provider *providers, size_t n);

/* Turns the nodes that are claimed as parts into as few nodes with bodies (graph/extract.h) as go without cycles. */
OX_NODISCARD ox_status *ox_partition_extract(ox_model *m, const ox_provider *providers, size_t n);

#endif
