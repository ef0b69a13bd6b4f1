/* SPDX-License-Identifier: Apache-2.0
 * task/system/topology.h - how many processors this process may use. */
#ifndef OX_TASK_SYSTEM_TOPOLOGY_H
#define OX_TASK_SYSTEM_TOPOLOGY_H

#include <stdint.h>

#include "task/system/thread.h"

/* Processors in the affinity mask of the calling thread, else those online; at least 1. */
uint32_t ox_topology_cpus(void);

/* The tightest cgroup CPU quota of this process in thousandths of a processor, parents included, v1 and v2; 0: none.
 * |root| is "" or a folder that stands for / in tests. */
uint64_t ox_topology_quota(const char *root);

/* Where there are performance and efficiency cores: how many of |allowed| (all zero: of all) are performance cores. 0
 * if |allowed| has one kind only. |root| as above. */
uint32_t ox_topology_fast(const char *root, const ox_cpu_mask *allowed);

/* min(ox_topology_cpus(), quota rounded up), at least 1. */
uint32_t ox_topology_usable(void);

#endif
