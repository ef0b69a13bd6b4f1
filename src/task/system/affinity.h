/* SPDX-License-Identifier: Apache-2.0
 * task/system/affinity.h - the affinity string of ONNX Runtime: "1,2;3-4;5". */
#ifndef OX_TASK_SYSTEM_AFFINITY_H
#define OX_TASK_SYSTEM_AFFINITY_H

#include "base/status.h"
#include "task/system/thread.h"

/* Parses |text| into one mask per worker. Processors count from 1; numbers above 1024 are an error. |n_workers| entries
 * are wanted. INVALID_ARGUMENT says where the text goes wrong. */
OX_NODISCARD ox_status *ox_affinity_parse(const char *text, uint32_t n_workers, ox_cpu_mask *out_masks);

#endif
