/* SPDX-License-Identifier: Apache-2.0
 * base/watch.h - what ends work early: a flag that the caller sets, a deadline. Shared by all threads of one run or
 * load. Without flag and deadline there is no watch, so that nothing reads the clock. */
#ifndef OX_BASE_WATCH_H
#define OX_BASE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct ox_watch {
  const volatile int *cancel; /* NULL: never */
  int64_t deadline_ns;        /* on ox_clock_ns; 0: none */
  atomic_int found;           /* an ox_watch_end: once a check has found an end it stays, whatever becomes of
                               * |cancel| */
} ox_watch;

typedef enum ox_watch_end { OX_WATCH_GOES_ON, OX_WATCH_CANCELLED, OX_WATCH_LATE } ox_watch_end;

/* Starts to watch |cancel| (NULL: none), with a deadline in |timeout_ms| (0: none). Returns |w|, or NULL if there is
 * nothing to watch. */
ox_watch *ox_watch_start(ox_watch *w, const volatile int *cancel, int64_t timeout_ms);
/* Checks flag and clock, which costs about 30 ns. NULL: false. Work that stops on true may leave its results
 * unfinished: its caller asks for the status. */
bool ox_watch_stopped(ox_watch *w);
/* CANCELLED if a check has found an end; does not check itself. |w| NULL: OK. */
OX_NODISCARD ox_status *ox_watch_status(const ox_watch *w);
/* ox_watch_stopped, then ox_watch_status. */
OX_NODISCARD ox_status *ox_watch_check(ox_watch *w);

#endif
