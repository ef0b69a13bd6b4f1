/* SPDX-License-Identifier: Apache-2.0
 * base/cgroup.h - limits that Linux sets for groups of processes, v1 and v2. */
#ifndef OX_BASE_CGROUP_H
#define OX_BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the limit from the files of one folder of a hierarchy; 0: no limit. */
typedef uint64_t (*ox_cgroup_reader)(const char *dir);

/* The smallest limit that |v2|, and |v1| in the hierarchies of |controller|, read for this process's group and its
 * parents; 0: no limit. |root| is "" or a folder that stands for / in tests. */
uint64_t ox_cgroup_least(const char *root, const char *controller, ox_cgroup_reader v1, ox_cgroup_reader v2);
/* Reads the file |dir|/|file| into |text|; false if there is none. */
bool ox_cgroup_text(const char *dir, const char *file, char *text, size_t bytes);

#endif
