/* SPDX-License-Identifier: Apache-2.0
 * task/wake.h - sleeping and waking, and the proof that no worker sleeps while there is work for it.
 *
 * Sleeping is Dekker's handshake. All four steps are seq_cst, so they lie in one total order S:
 *     owner of a loop                              worker that wants to sleep
 *     P1 publish the range (xchg range0)           W1 announce (fetch_or its bit in |asleep|)
 *     P2 look for sleepers (load |asleep|)         W2 look for work (load n_used, range0 of each slot)
 * If W2 misses P1 then W2 precedes P1 in S, hence W1 < W2 < P1 < P2 and P2 sees the bit: the owner wakes the worker.
 * If P2 misses W1 then P2 precedes W1, hence P1 < P2 < W1 < W2 and the worker sees the range. One of the two always
 * happens. (n_used is raised before P1, or read as raised with seq_cst, so the same holds for a slot used for the first
 * time.) The same proof holds with a queue's |count| in place of range0 (tasks, queue.h), with a lane of a graph
 * (task_graph.h), and with |quit| (ending a worker: all of them are woken). Acquire and release do not suffice: they
 * let each side's load pass its own earlier store, on x86 too.
 *
 * Waking: a thread that clears a worker's bit (the old value had it) must wake that worker: parked = 0, then wake. A
 * worker that cancels W1 and finds its bit already cleared will get such a wake, possibly late, at worst during its
 * next sleep: it then wakes for nothing, clears its bit itself and looks for work again. A wake is never lost: the
 * worker stores parked = 1 before W1, and the waker stores 0 after it read the bit that W1 set, so 0 comes later in the
 * modification order of |parked|. A worker that reads that 0 (acquire) sees the work, as the waker published it before.
 *
 * With an executor, a worker whose bit is set has no thread. A thread that clears the bit asks the executor for one,
 * which becomes that worker (a visit); the last thing it does as the worker is to set the bit again. Then it checks for
 * work (W2), and goes on only if it can clear its own bit: so no two threads are one worker. |visits| counts from
 * before the request until the visitor has left the pool's memory; destroy waits for 0.
 *
 * tests/task/model: park.pml and visit.pml. */
#ifndef OX_TASK_WAKE_H
#define OX_TASK_WAKE_H

#include "task/gate.h"
#include "task/pool.h"

/* Does any worker sleep? The load is P2 of the proof. */
static inline bool ox_pool_any_asleep(const ox_pool *pool) {
  uint32_t words = (ox_pool_threads(pool) + 63) / 64;
  for (uint32_t i = 0; i < words; i++)
    if (atomic_load_explicit(&pool->asleep[i], memory_order_seq_cst)) return true;
  return false;
}

/* Wakes up to |want| sleeping workers and returns how many; stops when an executor has no thread for one. */
uint32_t ox_pool_wake(ox_pool *pool, uint32_t want);
/* The same among workers first + 1 .. first + n; and among those that |gate| admits. */
void ox_pool_wake_some(ox_pool *pool, uint32_t first, uint32_t n, uint32_t want);
void ox_pool_wake_admitted(ox_pool *pool, ox_gate gate, uint32_t want);

/* The worker's own steps: W1, and its end. take_sleeper clears the bit of worker |index|; true if it was still set:
 * then the caller must wake it (the worker itself need not). */
void ox_worker_announce(ox_worker *w);
bool ox_pool_take_sleeper(ox_pool *pool, uint32_t index);

/* Wakes one thread, or |all|, of those that sleep in ox_task_wait (task.h). */
void ox_pool_wake_waiter(ox_pool *pool, bool all);

#endif
