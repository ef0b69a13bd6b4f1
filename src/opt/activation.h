/* SPDX-License-Identifier: Apache-2.0
 * opt/activation.h - nodes that fused operators can take in as their activation. */
#ifndef OX_OPT_ACTIVATION_H
#define OX_OPT_ACTIVATION_H

#include "opt/match.h"

/* Root operators that ox_activation_of may accept, for patterns. */
#define OX_ACTIVATION_OPS "Relu|Clip|LeakyRelu|Sigmoid|Tanh|HardSigmoid|HardSwish|Elu|Gelu|Swish"
#define OX_ACTIVATION_OPS_MS "Gelu|FastGelu|QuickGelu"

typedef struct ox_activation {
  const char *name; /* as in kern/act.h */
  float params[2];
  uint32_t n_params;
} ox_activation;

/* False if |node| is no such node or its bounds are not constant. */
bool ox_activation_of(const ox_graph *g, ox_id node, ox_activation *out);
/* |node| has none yet. */
bool ox_activation_free(const ox_node *n);
OX_NODISCARD ox_status *ox_activation_set(ox_graph *g, ox_id node, const ox_activation *a);

#endif
