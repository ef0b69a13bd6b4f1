/* SPDX-License-Identifier: Apache-2.0
 * exec/device.h - a context's share of its providers' devices: memory for values that lie there, and streams. A context
 * without devices has none of this, and its steps do not check for it. */
#ifndef OX_EXEC_DEVICE_H
#define OX_EXEC_DEVICE_H

#include "exec/dynpool.h"
#include "plan/plan_units.h"

/* One memory of one provider in one context. */
typedef struct ox_device_memory {
  uint32_t id; /* plan/transfers.h */
  const ox_provider *provider;
  ox_alloc alloc; /* allocates there */
  char *slab;     /* planned values */
  size_t slab_bytes;
  ox_dynpool dyn; /* the others */
} ox_device_memory;

typedef struct ox_devices {
  const ox_plan *plan;
  ox_alloc alloc;
  ox_device_memory *memories;
  uint32_t n_memories;
  void **streams; /* per provider of the plan; NULL entry: it has none */
} ox_devices;

/* Opens the memories that values of |plan| lie in, and streams. |a|: for the arrays. */
OX_NODISCARD ox_status *ox_devices_init(ox_devices *d, const ox_plan *plan, ox_arena *a, ox_alloc alloc);
void ox_devices_deinit(ox_devices *d); /* waits for the streams; also fine on a zeroed struct */

/* The memory called |id|; NULL for the host's. */
ox_device_memory *ox_device_memory_find(const ox_devices *d, uint32_t id);
/* Allocates the slab of |m|. OUT_OF_MEMORY names provider and memory. */
OX_NODISCARD ox_status *ox_device_slab(ox_device_memory *m, size_t bytes);
/* The stream of |owner|, or NULL. */
static inline void *ox_device_stream(const ox_devices *d, const ox_provider *owner) {
  return d->streams && owner ? d->streams[owner - d->plan->providers] : NULL;
}
/* Waits until all work on all streams is done. Returns the first error. */
OX_NODISCARD ox_status *ox_devices_sync(const ox_devices *d);

#endif
