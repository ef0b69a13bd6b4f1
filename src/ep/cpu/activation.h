/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/activation.h - the activation of a fused operator. */
#ifndef OX_EP_CPU_ACTIVATION_H
#define OX_EP_CPU_ACTIVATION_H

#include "onyx/rewrite.h"

/* Whether |node| has no activation yet. */
int ox_activation_free(const ox_rewrite *g, ox_id node);
OX_NODISCARD ox_status *ox_activation_set(const ox_rewrite *g, ox_id node, const ox_activation *a);

#endif
