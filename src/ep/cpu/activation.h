/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/activation.h - nodes that fused operators can take in as their activation. */
#ifndef OX_EP_CPU_ACTIVATION_H
#define OX_EP_CPU_ACTIVATION_H

#include "onyx/rewrite.h"

/* Root operators that ox_activation_of may accept, for patterns. */
#define OX_ACTIVATION_OPS "Relu|Clip|LeakyRelu|Sigmoid|Tanh|HardSigmoid|HardSwish|Elu|Gelu|Swish"
#define OX_ACTIVATION_OPS_MS "Gelu|FastGelu|QuickGelu"

typedef struct ox_activation {
  const char *name; /* as in kern/act.h */
  float params[2];
  uint32_t n_params;
} ox_activation;

/* 0 if |node| is no such node or its bounds are not constant. */
int ox_activation_of(const ox_rewrite *g, ox_id node, ox_activation *out);
/* |node| has none yet. */
int ox_activation_free(const ox_rewrite *g, ox_id node);
OX_NODISCARD ox_status *ox_activation_set(const ox_rewrite *g, ox_id node, const ox_activation *a);

#endif
