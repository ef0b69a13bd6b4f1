/* SPDX-License-Identifier: Apache-2.0
 * session/device_memory.h - the implementation of ox_memory: an instance of a provider, of its own, and one of its
 * memories. */
#ifndef OX_SESSION_DEVICE_MEMORY_H
#define OX_SESSION_DEVICE_MEMORY_H

#include <stdatomic.h>

#include "plan/provider.h"
#include "session/env.h"

struct ox_memory {
  atomic_size_t refs;
  ox_env *env;
  ox_provider provider;
  uint32_t index; /* in its table's order, from 1 */
  uint64_t space; /* 0: its own */
};

/* Makes |p| allocate from |m|'s arena from now on, if |m| is the same place as one of its memories. */
OX_NODISCARD ox_status *ox_memory_lend(ox_memory *m, ox_provider *p, ox_alloc alloc);

/* The id of |m| in a plan with |providers| (plan/transfers.h); 0: none of these can use its blocks. */
uint32_t ox_memory_in_plan(const ox_memory *m, const ox_provider *providers, size_t n);
/* Copies |bytes|. Memory NULL: the host's. */
OX_NODISCARD ox_status *ox_memory_copy(ox_memory *to_memory, void *to, ox_memory *from_memory, const void *from,
                                       size_t bytes);

#endif
