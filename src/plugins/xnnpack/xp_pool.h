/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_pool.h - the pool passed to libXNNPACK: pthreadpool's entry points, implemented on the host's threads.
 *
 * libXNNPACK imports pthreadpool_*. This plug-in exports those names, and since the dynamic linker searches a loaded
 * library and its dependencies breadth first, the plug-in's definitions come before libpthreadpool's. Where the program
 * has the real libpthreadpool in its global scope, or loaded libXNNPACK before us, the real one still wins. libXNNPACK
 * must then be given no pool at all, since libpthreadpool would take our struct for its own. */
#ifndef XP_POOL_H
#define XP_POOL_H

#include <stdint.h>

#include "onyx/ep.h"

/* What a pthreadpool_t of ours points to. */
struct pthreadpool {
  const ox_ep_host *host; /* NULL: loops run on the calling thread */
  uint32_t threads;
  /* Column block of a product: all rows go through the weights of this many columns before the next block. 0: the
   * columns are not blocked. */
  uint32_t columns;
};

/* Number of calls into this file with a NULL pool. If it does not grow when libXNNPACK runs an operator without a pool,
 * the library's pthreadpool_* are not ours. Any thread may increment it. */
unsigned xp_pool_calls_without(void);

#endif
