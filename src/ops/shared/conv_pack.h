/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/conv_pack.h - conversion of constant convolution weights in a narrow type to floats, in prepare. */
#ifndef OX_OPS_SHARED_CONV_PACK_H
#define OX_OPS_SHARED_CONV_PACK_H

#include "graph/op_def.h"

/* The consumed constant |input|, of any float type but double, as floats. */
OX_NODISCARD ox_status *ox_conv_widen(ox_kernel_ctx *c, uint32_t input, const float **out);

#endif
