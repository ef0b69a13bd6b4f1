/* SPDX-License-Identifier: Apache-2.0
 * task/policy/cold.h - is this loop worth waking somebody for?
 * Waking costs the caller a system call, 3 us on a plain machine and 15 in a guest, and the sleeper arrives long after
 * (60 us in a guest): a loop shorter than that only pays. So each loop that finds workers asleep is timed and
 * remembered by its function, context and size; next time a short one runs without them. A run of short loops wakes
 * them too, as soon as together they took as long as one that is worth it. A loop seen for the first time wakes: it may
 * be long. */
#ifndef OX_TASK_POLICY_COLD_H
#define OX_TASK_POLICY_COLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "task/policy.h"

enum { OX_COLD_ROWS = 256 };

/* All relaxed: a lost update costs a wake too many or too few. */
typedef struct ox_cold {
  atomic_uint_least64_t rows[OX_COLD_ROWS]; /* {duration / 64 ns:32, tag:32} */
  atomic_uint_least64_t last_ns;            /* when the last such loop ended */
  atomic_uint_least64_t gap_ns;             /* between the last two of them */
  atomic_uint_least64_t spent_ns;           /* by those without helpers since the last wake or pause */
  atomic_uint wake_ns; /* from a wake to the sleeper's first step, running mean; 0: not known yet */
} ox_cold;

/* Before, at |now_ns| (a graph has no |fn|): fills what is the policy's own in the note, where |woke| says whether to
 * wake, and returns that. */
bool ox_cold_begin(ox_cold *cold, ox_tile_fn fn, void *ctx, int64_t n_tiles, uint64_t now_ns, ox_loop_note *out_note);
/* After, at |now_ns|: the caller itself ran |ran| of |n| blocks. */
void ox_cold_end(ox_cold *cold, const ox_loop_note *note, uint32_t ran, uint32_t n, uint64_t now_ns);
/* A sleeper took its first step |ns| after its wake. */
void ox_cold_woken(ox_cold *cold, uint64_t ns);

#endif
