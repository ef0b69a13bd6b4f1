/* SPDX-License-Identifier: Apache-2.0
 * plan/pack_room.h - memory for what the kernels of a plan pack, which lives as long as the plan. It is cut from large
 * blocks, so that small weights lie on huge pages together: a first write to a page costs a page fault. */
#ifndef OX_PLAN_PACK_ROOM_H
#define OX_PLAN_PACK_ROOM_H

#include <pthread.h>

#include "base/alloc.h"

typedef struct ox_pack_room {
  ox_alloc alloc;
  pthread_mutex_t lock;
  struct ox_pack_block *blocks; /* the newest first */
  char *at;                     /* of the shared one: |left| bytes are free from here on */
  size_t left, total;           /* total: of all that are shared */
} ox_pack_room;

void ox_pack_room_init(ox_pack_room *r, ox_alloc alloc);
void ox_pack_room_deinit(ox_pack_room *r);
/* Allocates |bytes|, aligned to 64, not zeroed; NULL: out of memory. Any thread. */
void *ox_pack_room_take(ox_pack_room *r, size_t bytes);
/* Makes the system provide the pages of |bytes| at |p|, which this room gave, before they are written. Any thread. */
void ox_pack_room_touch(ox_pack_room *r, void *p, size_t bytes);

#endif
