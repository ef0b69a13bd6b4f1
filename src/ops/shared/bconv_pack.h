/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/bconv_pack.h - constant weights of convolutions in blocks, packed when shapes are known. */
#ifndef OX_OPS_SHARED_BCONV_PACK_H
#define OX_OPS_SHARED_BCONV_PACK_H

#include "graph/op_def.h"
#include "kern/blocks/bconv.h"

/* Where runs find the weights in constant input |in| as |form| wants them for |t|, which lives as long as what is
 * prepared; they depend on W alone, not on the shapes of X and Y. |id| tells them from others of the kernel. */
OX_NODISCARD ox_status *ox_bconv_pack(ox_kernel_ctx *c, const ox_bconv_form *form, const ox_bconv_task *t, uint32_t in,
                                      uint64_t id, const void *const **out_place);

#endif
