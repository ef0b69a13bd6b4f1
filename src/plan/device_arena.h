/* SPDX-License-Identifier: Apache-2.0
 * plan/device_arena.h - an arena over one memory of a provider. Drivers are slow to allocate, so it takes large
 * regions, cuts them into pieces and reuses these. A search looks at some hundred pieces at most, since all planned
 * values of a context are one piece. Any thread. */
#ifndef OX_PLAN_DEVICE_ARENA_H
#define OX_PLAN_DEVICE_ARENA_H

#include "ep/host.h"

typedef struct ox_device_arena ox_device_arena; /* counted */

enum { OX_ARENA_NEXT_POWER_OF_TWO = 0, OX_ARENA_SAME_AS_REQUESTED = 1 };

typedef struct ox_device_arena_opts {
  uint32_t extend; /* OX_ARENA_*: regions double, or are as large as requested */
  size_t limit;    /* of all regions; 0: none */
} ox_device_arena_opts;

typedef struct ox_memory_stats ox_memory_stats; /* onyx/onyx.h */

/* Over memory |memory| of |ep|, which outlives the arena. */
OX_NODISCARD ox_status *ox_device_arena_create(ox_alloc alloc, const ox_ep_api *api, ox_ep *ep, uint32_t memory,
                                               const ox_device_arena_opts *opts, ox_device_arena **out_arena);
ox_device_arena *ox_device_arena_retain(ox_device_arena *a);
void ox_device_arena_release(ox_device_arena *a);

/* Errors: LIMIT with wanted, in use and the limit; those of the provider. */
OX_NODISCARD ox_status *ox_device_arena_take(ox_device_arena *a, size_t bytes, void **out_data);
void ox_device_arena_give(ox_device_arena *a, void *data);
void ox_device_arena_shrink(ox_device_arena *a); /* frees unused regions */
void ox_device_arena_stats(ox_device_arena *a, ox_memory_stats *out);

#endif
