/* SPDX-License-Identifier: Apache-2.0
 * plan/layout.h - providers that want channels last. */
#ifndef OX_PLAN_LAYOUT_H
#define OX_PLAN_LAYOUT_H

#include "plan/provider.h"

/* Turns every node of |owner| for which |p| prefers channels last, in |g| and its bodies, into one of the domain
 * OX_NHWC_DOMAIN, whose input 0 and output 0 have channels after the spatial dimensions. Transpose nodes without an
 * owner convert, except between two such nodes. *out_n: the number of nodes turned. */
OX_NODISCARD ox_status *ox_layout_convert(ox_graph *g, const ox_provider *p, uint16_t owner, uint32_t *out_n);

/* Turns those without an owner back into operators of the standard. */
OX_NODISCARD ox_status *ox_layout_revert(ox_graph *g);

#endif
