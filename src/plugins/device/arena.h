/* SPDX-License-Identifier: Apache-2.0
 * device/arena.h - memory of the device, cut from large blocks: a driver's allocation is slow and may wait for the
 * device. Bookkeeping lies on the host. Any thread. */
#ifndef OX_DEVICE_ARENA_H
#define OX_DEVICE_ARENA_H

#include <pthread.h>

#include "plugins/device/driver.h"

/* How the arena grows, by the names of ONNX Runtime. */
typedef enum dev_extend {
  DEV_NEXT_POWER_OF_TWO, /* kNextPowerOfTwo: each block is twice the one before, or what is asked for if that is more */
  DEV_SAME_AS_REQUESTED  /* kSameAsRequested: what is asked for */
} dev_extend;

typedef struct dev_chunk dev_chunk; /* a piece of a block: taken or free */

typedef struct dev_arena {
  const ox_ep_host *host;
  dev_device *device;
  size_t limit; /* bytes of all blocks; 0: none */
  size_t align;
  dev_extend extend;
  pthread_mutex_t lock;
  dev_chunk *chunks; /* by address within a block, blocks in the order they came */
  dev_chunk *spare;  /* not in use */
  size_t next_block; /* bytes */
  size_t taken, total, most_taken;
} dev_arena;

OX_NODISCARD ox_status *dev_arena_init(dev_arena *a, const ox_ep_host *host, dev_device *d, size_t limit,
                                       dev_extend extend);
void dev_arena_deinit(dev_arena *a); /* everything is given back before */

/* OUT_OF_MEMORY says what is taken and what the limit is. 0 bytes count as 1. */
OX_NODISCARD ox_status *dev_arena_take(dev_arena *a, size_t bytes, void **out_address);
void dev_arena_give(dev_arena *a, void *address); /* NULL is fine */
/* Gives blocks back to the driver of which nothing is taken. */
void dev_arena_shrink(dev_arena *a);

#endif
