/* SPDX-License-Identifier: Apache-2.0
 * support/ep_watch.h - what happens to the providers of the tests: calls are counted, one of them fails on request, and
 * so are the objects that are alive. */
#ifndef OX_TESTS_EP_WATCH_H
#define OX_TESTS_EP_WATCH_H

#include <stdatomic.h>

#include "onyx/ep.h"

typedef enum ep_call {
  EP_CREATE,
  EP_CLAIM,
  EP_KERNEL_CREATE,
  EP_PREPARE,
  EP_KERNEL_RUN,
  EP_COMPILE,
  EP_PROGRAM_RUN,
  EP_SAVE,
  EP_LOAD,
  EP_MEMORY_ALLOC,
  EP_COPY,
  EP_STREAM_CREATE,
  EP_STREAM_SYNC,
  EP_EVENT_CREATE,
  EP_EVENT_RECORD,
  EP_EVENT_SYNC,
  EP_LATER, /* work on a stream, when its time has come */
  EP_CALLS
} ep_call;

/* One for the whole process: providers have no other way to find it. */
extern struct ep_watch {
  atomic_long calls[EP_CALLS];
  atomic_long live; /* providers, kernels, programs, streams, events, blocks of device memory */
  atomic_int fail_call;
  atomic_long fail_at;
} ep_watch;

const char *ep_call_name(ep_call call);
/* Counts begin anew and nothing fails. |live| stays. */
void ep_watch_reset(void);
/* Call number |at| (from 0) of this kind fails, counted from now. */
void ep_watch_fail(ep_call call, long at);
static inline long ep_watch_count(ep_call call) { return atomic_load(&ep_watch.calls[call]); }
/* Counts a call: the error "told to fail in <name>" if it is the one. */
ox_status *ep_watch_call(const ox_ep_host *host, ep_call call);
static inline void ep_watch_made(void) { atomic_fetch_add(&ep_watch.live, 1); }
static inline void ep_watch_gone(void) { atomic_fetch_sub(&ep_watch.live, 1); }

#endif
