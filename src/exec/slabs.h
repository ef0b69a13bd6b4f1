/* SPDX-License-Identifier: Apache-2.0
 * exec/slabs.h - the slabs that the contexts of a session share. A context has one while it runs, so that a session
 * holds as many slabs as it had runs at the same time, for however many shapes. */
#ifndef OX_EXEC_SLABS_H
#define OX_EXEC_SLABS_H

#include <pthread.h>

#include "exec/workspace.h"

typedef struct ox_slab {
  char *at;
  size_t bytes;
} ox_slab;

typedef struct ox_slabs {
  const ox_alloc *alloc;
  pthread_mutex_t lock;    /* guards |free| */
  struct ox_free_slab *free;
} ox_slabs;

/* |alloc| is read once a slab is needed. */
void ox_slabs_init(ox_slabs *s, const ox_alloc *alloc);
/* All slabs are given back. */
void ox_slabs_deinit(ox_slabs *s);

/* Takes a slab of at least |bytes| > 0: the one at |was| (may be NULL) if it is free, else the smallest with room, else
 * a new one in place of the largest that is free. |w|: of the context that asks. False: the system is out of memory.
 * Any thread. */
bool ox_slabs_take(ox_slabs *s, ox_workspace *w, size_t bytes, const char *was, ox_slab *out);
void ox_slabs_give(ox_slabs *s, ox_slab slab);
/* Frees the slabs that no context has. Any thread. */
void ox_slabs_trim(ox_slabs *s);

#endif
