/* SPDX-License-Identifier: Apache-2.0
 * exec/joined.h - values that lie one after the other in the storage of another one: what a Concat joins is written
 * where it belongs, what a Split takes apart stays where it is, and neither copies it. Kernels say in prepare where
 * that may be (ox_kernel_ctx.in_a_row), and look at addresses in run. */
#ifndef OX_EXEC_JOINED_H
#define OX_EXEC_JOINED_H

#include "exec/state.h"

/* Outputs of step |i| become parts of the storage of its input. */
void ox_joined_outputs(ox_context *c, uint32_t i);
/* Storages of the inputs of step |i| become parts of that of its output, which is alive as long as any of them. */
void ox_joined_inputs(ox_context *c, uint32_t i, uint32_t *root_first, uint32_t *root_last);

#endif
