/* SPDX-License-Identifier: Apache-2.0
 * exec/profile.h - per-node times, collected while a session profiles. Thread-safe. */
#ifndef OX_EXEC_PROFILE_H
#define OX_EXEC_PROFILE_H

#include <stdio.h>

#include "base/clock.h"
#include "plan/plan_units.h"

typedef struct ox_profile ox_profile;

typedef struct ox_profile_event {
  const char *name, *op, *provider; /* borrowed from the model */
  int64_t start_ns, duration_ns;    /* CLOCK_MONOTONIC */
  uint64_t out_bytes;
  double flops;
  uint32_t thread, index; /* of the step */
  uint64_t constant_bytes;
  uint32_t n_in, n_out;
  const ox_tensor *tensors; /* n_in + n_out, without data; of ox_profile_tensors */
  const char *form;         /* how the kernel computed it; NULL: it does not say */
} ox_profile_event;

OX_NODISCARD ox_status *ox_profile_create(ox_alloc alloc, ox_profile **out_profile);
void ox_profile_destroy(ox_profile *p);
/* Copies |form|. Drops the event silently when memory runs out: profiling never fails a run. */
void ox_profile_add(ox_profile *p, const ox_profile_event *e);
/* The same; copies the name, too. */
void ox_profile_add_copy(ox_profile *p, const ox_profile_event *e);
/* Room for the tensors of an event, zeroed, until the profile is cleared. NULL: out of memory. */
ox_tensor *ox_profile_tensors(ox_profile *p, size_t n);
void ox_profile_clear(ox_profile *p); /* keeps the memory */
/* The events and their number; valid until the next add. */
size_t ox_profile_events(const ox_profile *p, const ox_profile_event **out_events);
/* Writes Chrome's trace format (chrome://tracing, Perfetto). */
OX_NODISCARD ox_status *ox_profile_write_trace(const ox_profile *p, const char *path);

#endif
