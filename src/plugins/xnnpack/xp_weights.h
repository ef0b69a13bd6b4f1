/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_weights.h - operators with weights, packed once for all programs of the process.
 *
 * The library keeps an operator's packed weights and the state of a call in one object. So an operator serves one call
 * at a time, under its lock; concurrent runs are staggered, each using an operator as the one before it moves on. Equal
 * operators are found by a keyed digest of everything in the recipe. */
#ifndef XP_WEIGHTS_H
#define XP_WEIGHTS_H

#include <pthread.h>

#include "xp_recipe.h"

typedef struct xp_shared xp_shared;
struct xp_shared {
  xnn_operator_t op;
  uint32_t columns;     /* column block, see xp_pool.h */
  pthread_mutex_t busy; /* held for a call; guards the operator and the next four fields */
  xp_dims shaped;       /* the input shape that the operator was last reshaped for, */
  uint32_t threads;     /* and the number of threads; 0: not reshaped yet */
  void *room;           /* workspace */
  size_t room_bytes;
  uint64_t digest[2];
  size_t refs;
  xp_shared *next;
};

/* Finds the operator with this recipe or creates it; takes a reference. */
enum xnn_status xp_shared_get(const xp_recipe *r, xp_shared **out);
void xp_shared_release(xp_shared *s);

#endif
