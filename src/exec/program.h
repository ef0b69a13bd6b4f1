/* SPDX-License-Identifier: Apache-2.0
 * exec/program.h - a step that is a provider's program. */
#ifndef OX_EXEC_PROGRAM_H
#define OX_EXEC_PROGRAM_H

#include "exec/step.h"

/* Runs it, and checks that every output has been given memory. */
OX_NODISCARD ox_status *ox_program_run(ox_step *s, const ox_step_crew *crew);

#endif
