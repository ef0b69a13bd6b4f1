/* SPDX-License-Identifier: Apache-2.0
 * task/policy/cold.h - is this loop worth waking workers for?
 * Waking costs the caller a system call, 3 us on bare metal and 15 in a guest, and the worker joins long after (60 us
 * in a guest): a loop shorter than that would only be slower. So each loop that finds workers asleep is timed, and the
 * time is stored by its function, context and size; the next time a short one runs without waking. Many short loops in
 * a row do wake, when their total time is that of a loop that is worth it. A loop seen for the first time wakes, as it
 * may be long. */
#ifndef OX_TASK_POLICY_COLD_H
#define OX_TASK_POLICY_COLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "task/policy.h"

enum { OX_COLD_ROWS = 256 };

/* All relaxed: a lost update only costs one wake too many or too few. */
typedef struct ox_cold {
  atomic_uint_least64_t rows[OX_COLD_ROWS]; /* {duration / 64 ns:32, tag:32} */
  atomic_uint_least64_t last_ns;            /* when the last such loop ended */
  atomic_uint_least64_t gap_ns;             /* between the last two of them */
  atomic_uint_least64_t spent_ns;           /* by those without helpers since the last wake or pause */
  atomic_uint wake_ns;                      /* from a wake until the worker runs, moving average; 0: not known yet */
} ox_cold;

/* A loop begins at |now_ns|; |fn| is NULL for a graph. Fills the note's private fields and returns whether to wake. */
bool ox_cold_begin(ox_cold *cold, ox_tile_fn fn, void *ctx, int64_t n_tiles, uint64_t now_ns, ox_loop_note *out_note);
/* The loop ended at |now_ns|; its owner ran |ran| of |n| blocks. */
void ox_cold_end(ox_cold *cold, const ox_loop_note *note, uint32_t ran, uint32_t n, uint64_t now_ns);
/* A worker ran |ns| after it was woken. */
void ox_cold_woken(ox_cold *cold, uint64_t ns);

#endif
