/* SPDX-License-Identifier: Apache-2.0
 * exec/context.h - makes contexts and runs them. One run at a time borrows a context; sessions keep idle ones
 * (session/session_run.c). */
#ifndef OX_EXEC_CONTEXT_H
#define OX_EXEC_CONTEXT_H

#include "exec/context_state.h"

/* Prepares |p| for inputs of the types |key| (in the order of ox_context_bound; unknown dimensions are allowed, and
 * make all that depends on them dynamic). |known| (may be NULL): contents of bound values that never change. |direct|:
 * outputs are written into the sink's memory. */
OX_NODISCARD ox_status *ox_context_create(const ox_plan *p, ox_run_env *env, const ox_type *key, const ox_tensor *const *known,
                                          bool direct, ox_context **out_context);
void ox_context_destroy(ox_context *c);

/* One run. |bound|: tensors in the order of ox_context_bound. |sink| NULL: outputs stay in the context
 * (ox_context_output) until its next run. */
OX_NODISCARD ox_status *ox_context_run(ox_context *c, ox_run_env *env, const ox_tensor *const *bound, ox_run_sink *sink);
const ox_tensor *ox_context_output(const ox_context *c, uint32_t index);

#endif
