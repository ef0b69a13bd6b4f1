/* SPDX-License-Identifier: Apache-2.0
 * task/parallel.h - parallel loops: slots, lanes, and why claiming needs neither tags nor reference counts.
 *
 * A loop of n blocks lives in a slot of the pool (never freed while the pool lives). Its unclaimed blocks lie in lanes:
 * 64-bit words {begin, end, cap, first}, one of the owner (the slot's range0) and one per worker. All start in range0.
 * A participant claims from the front of its own lane, and when that is empty steals the upper half of another's, by
 * CAS. A block is in exactly one lane or claimed by exactly one thread.
 *
 * |pending| counts blocks not yet finished. The owner returns, and may reuse the slot, when it is 0.
 *  - Pinning: a thread that has claimed a block and not yet subtracted it keeps pending > 0, so the slot's fields do
 * not change. Fields are read only between a claim and the subtraction.
 *  - A late thief may hold a word read from an earlier loop. If its CAS succeeds, the word is the same now, so those
 *    blocks are unclaimed blocks of the present loop and the claim is valid, as nothing else that was read before it is
 *    used after it. That is why ABA is harmless here.
 *  - Visibility: the owner writes the fields, then publishes range0 with release; later claims on range0 are RMWs and
 *    continue its release sequence; a thief stores what it stole to its own lane with release after having acquired. So
 *    a successful CAS with acquire sees the fields. Subtraction is acq_rel, the owner's last look is acquire: it sees
 *    everything the tiles wrote.
 *  - A cap (owner and workers first + 1 .. first + cap - 1, numbered from 1) is part of every word of its loop. A thief
 *    checks whether it is admitted in the same word that its CAS then finds unchanged, so a late thief cannot enter a
 *    loop that has another cap.
 *  - The owner's sleep: OX_PARK_WAITING is a bit of |pending| itself. The last subtraction either sees it and wakes the
 *    owner, or comes before it, so that the kernel's compare fails and the owner does not sleep. A single word has one
 *    modification order, so acq_rel suffices. A wake may come late, during another loop of the slot: that owner then
 *    checks |pending| once more.
 *  - Only the lane's own thread makes an empty lane non-empty, and no thread CASes an empty one.
 * A worker that is descheduled delays the caller by no more than its claim, since others can steal from its lane.
 *
 * Deadlock: an owner waits only for threads that run a tile of its loop. If A waits for B for a loop a, and B for A for
 * a loop b: B started b inside a tile of a, so b began after a; likewise a began after b. The same holds around longer
 * cycles. (A waiting owner runs tiles of its own loop only; running others could put two tiles of one loop on one
 * stack, with the same worker index.)
 *
 * tests/task/model/lanes.pml. */
#ifndef OX_TASK_PARALLEL_H
#define OX_TASK_PARALLEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "task/pool.h"

typedef struct ox_loop_slot {
  /* Watched by idle workers, written by the owner. */
  _Alignas(64) atomic_uint_least64_t range0; /* the owner's lane */
  atomic_uint pending;                       /* unfinished blocks; OX_PARK_WAITING: the owner sleeps on this word */
  atomic_uint serial;                        /* counts loops, so that idle workers can tell them apart */
  /* Read after a claim only. */
  _Alignas(64) ox_tile_fn fn;
  void *ctx;
  int64_t n_tiles, block_tiles;
  uint32_t grain, most;                                 /* blocks in a claim: at least, at most */
  atomic_bool quiet;                                    /* too short to wake workers for */
  _Atomic(ox_status *) error;                           /* the first; once set, other blocks are skipped */
  _Alignas(64) atomic_uint busy;                        /* taken by an owner: OX_LOOP_CLIENT or OX_LOOP_INNER */
  atomic_uint_least64_t loops, claims, steals, wait_ns; /* written by the owner only */
} ox_loop_slot;

/* ox_loop_slot.busy: CLIENT if the owner is not a worker and has no other loop open, else INNER. */
enum { OX_LOOP_CLIENT = 1, OX_LOOP_INNER = 2 };

/* Runs blocks of any open loop on worker |index|; false if there was nothing to claim. */
bool ox_loops_help(ox_pool *pool, uint32_t index);
/* Loops that the calling thread has open, on any pool. */
uint32_t ox_loops_owned(void);
/* Counts a loop of the calling thread that the back-end runs, not parallel.c, as open. */
void ox_loops_enter(void);
void ox_loops_leave(void);
/* True if some open loop has unclaimed blocks for worker |index| in its owner's lane: W2 of the proof in wake.h. */
bool ox_loops_any(const ox_pool *pool, uint32_t index);

#endif
