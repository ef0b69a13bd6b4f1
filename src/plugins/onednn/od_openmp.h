/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_openmp.h - OpenMP for libdnnl: parallel regions on the host's pool. */
#ifndef OD_OPENMP_H
#define OD_OPENMP_H

#include "onyx/ep.h"

/* How parallel regions are executed during a call of the library. */
typedef struct od_crew {
  const ox_ep_host *host;
  int threads;          /* the number of threads reported to the library */
  int together;         /* 1: members wait for each other, so all of them must run at the same time */
  int fixed;            /* 1: outside of regions the library has one thread (od_shares.h) */
  int alone;            /* 1: the calling thread, which holds a lock, runs all members one after the other */
  int broken;           /* set to 1 on a barrier although |together| is 0: the result is worthless */
  struct od_team *team; /* the team of od_crew_call; NULL: none */
} od_crew;

/* The state of a thread: its crew, and its place in a parallel region. */
typedef struct od_seat {
  od_crew *crew;
  struct od_region *in; /* NULL: outside of regions */
  int member, size;
} od_seat;

/* Makes |crew| execute this thread's regions until od_crew_leave, which takes the value returned here. A thread that
 * waits for its own region may be given another run to do, which starts outside of regions. Without a crew the library
 * runs on one thread. */
od_seat od_crew_enter(od_crew *crew);
void od_crew_leave(od_seat before);
/* Calls fn(ctx) with |crew|. If |together|, a team is formed for the whole call and |threads| is set to its actual
 * size, since the library may divide work by that number before it opens a region. */
void od_crew_call(od_crew *crew, void (*fn)(void *ctx), void *ctx);

/* Has libdnnl ever asked this implementation for threads? If not, although it has run a primitive, the program has an
 * OpenMP run-time of its own that the linker prefers. */
int od_openmp_is_ours(void);
/* For that case: from now on the other run-time is limited to one thread inside of a crew. 0: that is impossible. To be
 * called once. */
int od_openmp_leave_to_other(void);

#endif
