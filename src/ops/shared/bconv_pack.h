/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/bconv_pack.h - packing of constant weights for convolutions in blocks, once shapes are known. */
#ifndef OX_OPS_SHARED_BCONV_PACK_H
#define OX_OPS_SHARED_BCONV_PACK_H

#include "graph/op_def.h"
#include "kern/blocks/bconv.h"

/* Packs the weights in constant input |in| as |form| needs them for |t|, which lives as long as the prepared shapes;
 * runs find them through |*out_place|. They depend on W only, not on the shapes of X and Y. |id| distinguishes them
 * from other packed weights of the kernel. */
OX_NODISCARD ox_status *ox_bconv_pack(ox_kernel_ctx *c, const ox_bconv_form *form, const ox_bconv_task *t, uint32_t in,
                                      uint64_t id, const void *const **out_place);

#endif
