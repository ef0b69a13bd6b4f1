/* SPDX-License-Identifier: Apache-2.0
 * task/spare.h - memory for tasks and calls, made in chunks and freed with the pool. Each queue has spares of its own.
 * |own|: ox_queue_own(). */
#ifndef OX_TASK_SPARE_H
#define OX_TASK_SPARE_H

#include <stdatomic.h>
#include <stdint.h>

#include "onyx/task.h"
#include "task/call.h"

/* One for each queue, on a line of its own: thieves of ready tasks do not touch it. */
typedef struct ox_spares {
  _Alignas(64) atomic_uint lock;
  atomic_uint n_tasks;      /* written under lock, like the next */
  _Atomic(ox_task *) tasks; /* linked by next */
  ox_call_block *blocks;    /* under lock */
} ox_spares;

/* NULL on out of memory. Contents are whatever they were. */
ox_task *ox_spare_take_task(ox_pool *pool, uint32_t own);
void ox_spare_give_task(ox_pool *pool, uint32_t own, ox_task *task);

/* An empty block; NULL on out of memory. It goes back to the spares it came from. */
ox_call_block *ox_spare_take_block(ox_pool *pool, uint32_t own);
void ox_spare_give_block(ox_pool *pool, ox_call_block *block); /* NULL is fine */

/* At the pool's end: calls |discard| on every task, spare or not, and frees the memory. */
void ox_spare_free_all(ox_pool *pool, void (*discard)(ox_task *task));

#endif
