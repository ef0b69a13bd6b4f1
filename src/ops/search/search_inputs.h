/* SPDX-License-Identifier: Apache-2.0
 * ops/search/search_inputs.h - reads and checks inputs of the search operators. */
#ifndef OX_OPS_SEARCH_SEARCH_INPUTS_H
#define OX_OPS_SEARCH_SEARCH_INPUTS_H

#include "graph/control.h"

/* One int32 within [least, most]; |absent| if there is no such input. */
OX_NODISCARD ox_status *ox_search_int(const ox_control_ctx *c, uint32_t i, const char *name, int64_t absent,
                                      int64_t least, int64_t most, int64_t *out);
/* One float or float16. */
OX_NODISCARD ox_status *ox_search_float(const ox_control_ctx *c, uint32_t i, const char *name, float absent,
                                        float *out);
/* int32 [a, b], or [b] if a is 0; *out NULL if there is no such input. */
OX_NODISCARD ox_status *ox_search_mask(const ox_control_ctx *c, uint32_t i, const char *name, int64_t a, int64_t b,
                                       const int32_t **out);
/* Tokens [batch, length], at least one of each. */
OX_NODISCARD ox_status *ox_search_tokens(const ox_control_ctx *c, uint32_t i, const ox_tensor **out);
/* Output |i|, if wanted, gets |dtype|, |shape| and memory; *out NULL: it is not. */
OX_NODISCARD ox_status *ox_search_output(const ox_control_ctx *c, uint32_t i, uint32_t dtype, const ox_shape *shape,
                                         ox_tensor **out);

#endif
