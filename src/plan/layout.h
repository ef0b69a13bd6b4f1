/* SPDX-License-Identifier: Apache-2.0
 * plan/layout.h - providers that want channels last. */
#ifndef OX_PLAN_LAYOUT_H
#define OX_PLAN_LAYOUT_H

#include "plan/provider.h"

/* Turns every node of |owner| for which |p| prefers channels last into one of the domain OX_NHWC_DOMAIN, in |g| and the
 * bodies below: input 0 is read, output 0 made with the channels behind the spatial dimensions, by Transpose nodes that
 * belong to nobody yet and are left out between two such nodes. *out_n: how many there are. */
OX_NODISCARD ox_status *ox_layout_convert(ox_graph *g, const ox_provider *p, uint16_t owner, uint32_t *out_n);

/* Makes those that have no owner operators of the standard again. */
OX_NODISCARD ox_status *ox_layout_revert(ox_graph *g);

#endif
