/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/bconv_pack.h - constant weights of convolutions in blocks, packed in prepare. */
#ifndef OX_OPS_SHARED_BCONV_PACK_H
#define OX_OPS_SHARED_BCONV_PACK_H

#include "graph/op_def.h"
#include "kern/blocks/bconv.h"

/* The weights in constant input |in| as |form| wants them for |t|; they depend on W alone, not on the shapes of X and
 * Y. |id| tells them from others of the kernel. */
OX_NODISCARD ox_status *ox_bconv_pack(ox_kernel_ctx *c, const ox_bconv_form *form, const ox_bconv_task *t, uint32_t in,
                                      uint64_t id, const float **out);

#endif
