/* SPDX-License-Identifier: Apache-2.0
 * task/try_lock.h - locks that are only tried, never waited for.
 * A thread may be descheduled while it holds one; the others then use the next of several. */
#ifndef OX_TASK_TRY_LOCK_H
#define OX_TASK_TRY_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

static inline bool ox_try_lock(atomic_uint *lock) {
  return !atomic_load_explicit(lock, memory_order_relaxed) &&
         !atomic_exchange_explicit(lock, 1, memory_order_acquire); /* pairs with ox_unlock */
}
static inline void ox_unlock(atomic_uint *lock) { atomic_store_explicit(lock, 0, memory_order_release); }

#endif
