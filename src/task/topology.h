/* SPDX-License-Identifier: Apache-2.0
 * task/topology.h - how many processors this process may use. */
#ifndef OX_TASK_TOPOLOGY_H
#define OX_TASK_TOPOLOGY_H

#include <stdint.h>

/* Processors in the affinity mask of the calling thread, else those online; at least 1. */
uint32_t ox_topology_cpus(void);

/* The tightest cgroup CPU quota of this process in thousandths of a processor, parents included, v1 and v2; 0: none.
 * |root| is "" or a folder that stands for / in tests. */
uint64_t ox_topology_quota(const char *root);

/* min(ox_topology_cpus(), quota rounded up), at least 1. */
uint32_t ox_topology_usable(void);

#endif
