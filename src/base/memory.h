/* SPDX-License-Identifier: Apache-2.0
 * base/memory.h - how much memory this process may use. */
#ifndef OX_BASE_MEMORY_H
#define OX_BASE_MEMORY_H

#include <stdint.h>

/* The bytes of memory of the machine, or what the process's cgroup or its parents (v1 and v2) allow if that is less; 0:
 * unknown. |root| is "" or a folder that stands for / in tests. */
uint64_t ox_memory_usable(const char *root);

#endif
