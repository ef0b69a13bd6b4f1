/* SPDX-License-Identifier: Apache-2.0
 * exec/joined.h - values that lie one after the other in the storage of another value: the inputs of a Concat are
 * written where they belong, the outputs of a Split stay where they are, and neither is copied. Kernels allow it in
 * prepare (ox_kernel_ctx.in_a_row), and compare addresses in run. */
#ifndef OX_EXEC_JOINED_H
#define OX_EXEC_JOINED_H

#include "exec/context_state.h"

/* Makes the outputs of step |i| parts of the storage of its input. */
void ox_joined_outputs(ox_context *c, uint32_t i);
/* Makes the storages of step |i|'s inputs parts of that of its output, which then lives as long as any of them. */
void ox_joined_inputs(ox_context *c, uint32_t i, uint32_t *root_first, uint32_t *root_last);

#endif
