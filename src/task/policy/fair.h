/* SPDX-License-Identifier: Apache-2.0
 * task/policy/fair.h - equal shares for callers that compete for processors.
 *
 * When more callers run loops than there are processors, each is as fast as the processor it happens to be on: callers
 * whose processor also serves interrupts or another program get less, and the system does not always move threads to
 * balance that. Of four callers on two processors the slowest ran 0.51 to 0.93 times as many loops as the fastest. So
 * the processor time of each is recorded, and one that is ahead of the last naps for a moment: 0.94 to 0.98, for 2 % of
 * all loops.
 *
 * Only callers that have not slept voluntarily since their last check compete. The account of any other, and of a new
 * one, is set near that of the last: time used while others did not compete is not held against a caller, and time it
 * did not want is not given back later. */
#ifndef OX_TASK_POLICY_FAIR_H
#define OX_TASK_POLICY_FAIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "task/system/thread.h"

enum { OX_FAIR_ACCOUNTS = 64 };

/* All relaxed: each is written by one thread, or by a few if there are more callers than accounts. */
typedef struct ox_fair {
  struct {
    atomic_uint_least64_t used_ns;
    atomic_uint_least64_t seen_ns; /* when its owner last competed; 0: it does not */
  } accounts[OX_FAIR_ACCOUNTS];
} ox_fair;

/* What one caller's last check found. */
typedef struct ox_fair_look {
  const ox_fair *fair;
  uint64_t now_ns;
  ox_thread_usage usage;
} ox_fair_look;

/* At |now_ns| caller |index| has used |usage|; |last| is its last check and becomes this one. True: it is so far ahead
 * of another caller that it should nap. */
bool ox_fair_is_ahead(ox_fair *fair, uint32_t index, ox_fair_look *last, uint64_t now_ns, ox_thread_usage usage);

#endif
