/* SPDX-License-Identifier: Apache-2.0
 * task/team.h - threads of a pool that work at the same time, so that they may wait for each other. */
#ifndef OX_TASK_TEAM_H
#define OX_TASK_TEAM_H

#include "onyx/task.h"

typedef void (*ox_team_fn)(void *ctx, uint32_t member, uint32_t size);

/* Calls |fn| once for each member of a team of at most |n| threads (0: as many as the pool has): the caller is member
 * 0, the others are workers. All are called only when |size| is fixed, so they run at the same time. Workers that do
 * not join within OX_TEAM_WAIT_NS are left out, so a team may have one member. Returns when all members have returned.
 */
void ox_task_team(ox_pool *pool, uint32_t n, ox_team_fn fn, void *ctx);

enum { OX_TEAM_WAIT_NS = 10000 }; /* a worker that watches for work joins in 1 us, one that sleeps takes 50 */

#endif
