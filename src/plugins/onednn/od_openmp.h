/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_openmp.h - the OpenMP that oneDNN is given: parallel regions on the host's pool. */
#ifndef OD_OPENMP_H
#define OD_OPENMP_H

#include "onyx/ep.h"

/* Who computes, while a thread is inside of the library. */
typedef struct od_crew {
  const ox_ep_host *host;
  int threads;          /* what the library is told that there are */
  int together;         /* 1: members wait for each other, so that only those count that run at the same time */
  int alone;            /* 1: members are run by the calling thread, one after the other: it holds a lock */
  int broken;           /* 1: they did so where |together| is 0, and the result is worth nothing */
  struct od_team *team; /* of od_crew_call; NULL: none */
} od_crew;

/* Where a thread is. */
typedef struct od_seat {
  od_crew *crew;
  struct od_region *in; /* NULL: outside of regions */
  int member, size;
} od_seat;

/* Regions of this thread are |crew|'s from now on, until od_crew_leave with what is returned. A thread that waits for
 * its own region may be given another run to do: that one is outside of regions again. Without a crew the library runs
 * on one thread. */
od_seat od_crew_enter(od_crew *crew);
void od_crew_leave(od_seat before);
/* fn(ctx) with |crew|'s regions. One that is |together| gets its team for the whole call, and |threads| is how many it
 * has in fact: what the library shares out among so many in advance comes to all of them. */
void od_crew_call(od_crew *crew, void (*fn)(void *ctx), void *ctx);

/* Whether the library has asked this implementation for threads since the program began: if it has not after it has
 * been at work, the program has an OpenMP run-time of its own that comes first. */
int od_openmp_is_ours(void);
/* libdnnl asks that one: inside of a crew it gets one thread of it. 0: that cannot be arranged. Once. */
int od_openmp_leave_to_other(void);

#endif
