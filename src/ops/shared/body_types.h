/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/body_types.h - types of the inputs and outputs of control operators' bodies. */
#ifndef OX_OPS_SHARED_BODY_TYPES_H
#define OX_OPS_SHARED_BODY_TYPES_H

#include "graph/control.h"

/* |t| without its shape: values carried from one iteration to the next may change theirs. */
ox_type ox_type_any_shape(const ox_type *t);
/* Infers output |i| as a carried value: input |in| before the first iteration, of type |t| after each. */
void ox_infer_carried(ox_infer_ctx *c, uint32_t i, uint32_t in, const ox_type *t);
/* Infers output |i| as a body output of type |t|, stacked along a new dimension |axis| of |length|. */
OX_NODISCARD ox_status *ox_infer_stacked(ox_infer_ctx *c, uint32_t i, const ox_type *t, int64_t axis, int64_t length);

#endif
