/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_weights.h - operators with weights, packed once for all programs of the process.
 *
 * The library keeps an operator's packed weights and what one call works on in one object. So an operator serves one
 * call at a time, under its lock; runs at the same time follow each other from operator to operator. They find each
 * other by a keyed digest of all that the operator was made of. */
#ifndef XP_WEIGHTS_H
#define XP_WEIGHTS_H

#include <pthread.h>

#include "xp_recipe.h"

typedef struct xp_shared xp_shared;
struct xp_shared {
  xnn_operator_t op;
  uint32_t columns;     /* see xp_pool.h */
  pthread_mutex_t busy; /* over what a call changes: */
  xp_dims shaped;       /* the input that the operator is shaped for, */
  uint32_t threads;     /* for so many threads; 0: for nothing */
  void *room;           /* what it works on */
  size_t room_bytes;
  uint64_t digest[2];
  size_t refs;
  xp_shared *next;
};

/* Finds it or makes it. */
enum xnn_status xp_shared_get(const xp_recipe *r, xp_shared **out);
void xp_shared_release(xp_shared *s);

#endif
