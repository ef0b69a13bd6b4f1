/* SPDX-License-Identifier: Apache-2.0
 * exec/step_run.h - runs a prepared step of any kind of unit except those with bodies. */
#ifndef OX_EXEC_STEP_RUN_H
#define OX_EXEC_STEP_RUN_H

#include "exec/step.h"

/* Runs what was prepared. |scratch|: |scratch_bytes| for each worker; for max_threads of them if the crew has a
 * pool. */
OX_NODISCARD ox_status *ox_step_run(ox_step *s, const ox_step_crew *crew, char *scratch, size_t scratch_bytes);

#endif
