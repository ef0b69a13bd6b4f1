/* SPDX-License-Identifier: Apache-2.0
 * support/ep_watch.c - see ep_watch.h. */
#include "support/ep_watch.h"

#include <stdio.h>

struct ep_watch ep_watch = {.fail_at = -1};

const char *ep_call_name(ep_call call) {
  static const char *const names[EP_CALLS] = {
      "create",      "claim",        "kernel_create", "prepare",      "kernel run", "compile",
      "program run", "save",         "load",          "memory_alloc", "copy",       "stream_create",
      "stream_sync", "event_create", "event_record",  "event_sync",   "later"};
  return names[call];
}

void ep_watch_reset(void) {
  for (int i = 0; i < EP_CALLS; i++) atomic_store(&ep_watch.calls[i], 0);
  atomic_store(&ep_watch.fail_at, -1);
}

void ep_watch_fail(ep_call call, long at) {
  ep_watch_reset();
  atomic_store(&ep_watch.fail_call, (int)call);
  atomic_store(&ep_watch.fail_at, at);
}

ox_status *ep_watch_call(const ox_ep_host *host, ep_call call) {
  long n = atomic_fetch_add(&ep_watch.calls[call], 1);
  if ((int)call != atomic_load(&ep_watch.fail_call) || n != atomic_load(&ep_watch.fail_at)) return NULL;
  char text[64];
  snprintf(text, sizeof text, "told to fail in %s", ep_call_name(call));
  return host->status_make(OX_FAIL, text);
}
