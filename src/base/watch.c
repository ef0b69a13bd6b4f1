/* SPDX-License-Identifier: Apache-2.0
 * base/watch.c - see watch.h. */
#include "base/watch.h"

#include "base/clock.h"
#include "base/macros.h"

ox_watch *ox_watch_start(ox_watch *w, const volatile int *cancel, int64_t timeout_ms) {
  w->cancel = cancel, w->deadline_ns = 0;
  atomic_init(&w->found, OX_WATCH_GOES_ON);
  int64_t ns;
  if (timeout_ms > 0 && !__builtin_mul_overflow(timeout_ms, (int64_t)1000000, &ns) && /* else: in centuries */
      !__builtin_add_overflow(ns, ox_clock_ns(), &ns))
    w->deadline_ns = ns;
  return w->cancel || w->deadline_ns ? w : NULL;
}

bool ox_watch_stopped(ox_watch *w) {
  ox_watch_end end = OX_WATCH_GOES_ON;
  if (!w) return false;
  if (atomic_load_explicit(&w->found, memory_order_relaxed)) return true;
  if (w->cancel && __atomic_load_n(w->cancel, __ATOMIC_RELAXED))
    end = OX_WATCH_CANCELLED;
  else if (w->deadline_ns && ox_clock_ns() > w->deadline_ns)
    end = OX_WATCH_LATE;
  if (OX_LIKELY(!end)) return false;
  atomic_store_explicit(&w->found, end, memory_order_relaxed); /* the last finder's word; any is true */
  return true;
}

ox_status *ox_watch_status(const ox_watch *w) {
  int end = w ? atomic_load_explicit(&w->found, memory_order_relaxed) : OX_WATCH_GOES_ON;
  if (OX_LIKELY(!end)) return NULL;
  return ox_fail(OX_CANCELLED, "%s", end == OX_WATCH_LATE ? "the deadline passed" : "cancelled by the caller");
}

ox_status *ox_watch_check(ox_watch *w) {
  if (!ox_watch_stopped(w)) return NULL;
  return ox_watch_status(w);
}
