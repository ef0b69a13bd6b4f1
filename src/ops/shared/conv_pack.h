/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/conv_pack.h - constant weights of convolutions, packed in prepare. */
#ifndef OX_OPS_SHARED_CONV_PACK_H
#define OX_OPS_SHARED_CONV_PACK_H

#include "graph/op_def.h"
#include "kern/conv/conv.h"

/* Weights [groups * oc][k] of any float type but double, in the consumed constant |input|. */
typedef struct ox_conv_weights {
  uint32_t input, type;
  int64_t groups, oc, k;
} ox_conv_weights;

/* Panels of floats as |v| wants them; NULL: as they are, widened. */
OX_NODISCARD ox_status *ox_conv_pack(ox_kernel_ctx *c, const ox_conv_weights *w, const ox_conv_variant *v,
                                     const float **out);

#endif
