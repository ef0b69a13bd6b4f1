/* SPDX-License-Identifier: Apache-2.0
 * task/policy/fair.h - equal shares for callers that compete for processors.
 *
 * When more callers run loops than there are processors, each is as fast as the processor it happens to be on: whose
 * processor also serves interrupts or another program gets less, and the system does not always move somebody over. Of
 * four callers on two processors the slowest ran 0.51 to 0.93 times as many loops as the fastest. So each keeps account
 * of the processor time it got, and who is ahead of the last one naps for a moment: 0.94 to 0.98, at 2 % of all loops.
 *
 * Only callers that did not sleep of themselves since their last look compete. The account of one that did, or of a
 * newcomer, is brought near that of the last: nobody pays for what he used while others did not want to, and nobody
 * catches up on what he did not want. */
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
    atomic_uint_least64_t seen_ns; /* when its owner last looked and competed; 0: it does not */
  } accounts[OX_FAIR_ACCOUNTS];
} ox_fair;

/* One caller's: what it knew at its last look. */
typedef struct ox_fair_look {
  const ox_fair *fair;
  uint64_t now_ns;
  ox_thread_usage usage;
} ox_fair_look;

/* At |now_ns| caller |index| has used |usage|; |last| is its last look and becomes this one. True: it is so far ahead
 * of somebody that it should nap. */
bool ox_fair_is_ahead(ox_fair *fair, uint32_t index, ox_fair_look *last, uint64_t now_ns, ox_thread_usage usage);

#endif
