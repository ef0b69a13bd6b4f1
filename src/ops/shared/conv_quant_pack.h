/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/conv_quant_pack.h - packing of constant weights of ConvInteger and QLinearConv, in prepare, for the
 * algorithm chosen by the shapes. */
#ifndef OX_OPS_SHARED_CONV_QUANT_PACK_H
#define OX_OPS_SHARED_CONV_QUANT_PACK_H

#include "graph/op_def.h"
#include "kern/conv/conv_i8.h"
#include "kern/qconv/qconv.h"

/* Positions of the inputs that both operators have, then QLinearConv's own. */
typedef struct ox_conv_quant_in {
  uint32_t x, x_zero, w, w_zero, x_scale, w_scale, y_scale, y_zero, bias;
  uint32_t z, z_scale, z_zero, sum_scale, sum_zero; /* FusedQLinearConv's */
} ox_conv_quant_in;
enum { OX_CONV_QUANT_ABSENT = 99 };

/* What load has found out about constants. */
typedef struct ox_conv_quant_state {
  bool packs; /* W is constant, and consumed */
  bool fixed; /* everything that ox_qconv_pack needs is constant */
  bool less;  /* W's zero points do more than convert u8 to s8 */
  bool twice; /* and W minus its zero points does not fit bytes */
} ox_conv_quant_state;

OX_NODISCARD ox_status *ox_conv_quant_load(ox_load_ctx *c, const ox_conv_quant_in *in, int64_t group);

/* Constant input |i| of a node as an integer. */
int32_t ox_conv_quant_zero(const ox_kernel_ctx *c, uint32_t i, int64_t at);

OX_NODISCARD ox_status *ox_conv_quant_pack_direct(ox_kernel_ctx *c, const ox_conv_quant_in *in,
                                                  const ox_qconv_plan *plan, const void **out);
OX_NODISCARD ox_status *ox_conv_quant_pack(ox_kernel_ctx *c, const ox_conv_quant_in *in, const ox_conv_i8_plan *plan,
                                           const void **out);

#endif
