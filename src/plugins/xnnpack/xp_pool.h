/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_pool.h - the pool that libXNNPACK is given: pthreadpool's entry points on the threads of the host.
 *
 * libXNNPACK imports pthreadpool_*. This plug-in exports those names, and as the dynamic linker looks through a library
 * that was loaded with its dependencies breadth first, the plug-in's come before libpthreadpool's. A program that has
 * the real libpthreadpool in its global scope, or has loaded libXNNPACK before, comes first all the same: then
 * libXNNPACK must be given no pool at all, as the real one would take ours for its own. */
#ifndef XP_POOL_H
#define XP_POOL_H

#include <stdint.h>

#include "onyx/ep.h"

/* What a pthreadpool_t of ours points to. */
struct pthreadpool {
  const ox_ep_host *host; /* NULL: loops run in their callers */
  uint32_t threads;
  uint32_t columns; /* of a product, at most, whose weights are gone through for all rows before others; 0: all */
};

/* How often libXNNPACK was given no pool and called this file all the same: it goes up, or the names are not ours. Any
 * thread may add to it. */
unsigned xp_pool_calls_without(void);

#endif
