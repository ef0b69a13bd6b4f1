/* SPDX-License-Identifier: Apache-2.0
 * exec/bodies.h - the host of operators with bodies (graph/control.h). A body is a plan of its own; its contexts are
 * kept per shape signature by the node that owns it. */
#ifndef OX_EXEC_BODIES_H
#define OX_EXEC_BODIES_H

#include "exec/context_state.h"

/* Makes |s->control|. Error: NOT_IMPLEMENTED for an operator that does nothing with bodies. */
OX_NODISCARD ox_status *ox_control_create(ox_context *c, ox_step *s);
OX_NODISCARD ox_status *ox_control_run(ox_context *c, ox_step *s);
void ox_control_destroy(struct ox_control *control); /* NULL is fine */
/* Frees what the current run does not use. */
void ox_control_trim(struct ox_control *control);

#endif
