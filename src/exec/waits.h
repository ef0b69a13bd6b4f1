/* SPDX-License-Identifier: Apache-2.0
 * exec/waits.h - steps that put work on a stream and return before it is done, and the steps that must wait for it. */
#ifndef OX_EXEC_WAITS_H
#define OX_EXEC_WAITS_H

#include "exec/context_state.h"

/* Gives an event to each step with a stream whose outputs steps of others read, and makes those wait for it. Does
 * nothing in a context without streams. */
OX_NODISCARD ox_status *ox_context_add_waits(ox_context *c);
void ox_context_release_events(ox_context *c);

/* Before a step: waits until its inputs are there. */
OX_NODISCARD ox_status *ox_step_wait(ox_step *s);
/* After a step: records its event, which is complete when the step's work is. */
OX_NODISCARD ox_status *ox_step_record(ox_step *s);

#endif
