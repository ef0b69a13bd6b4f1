/* SPDX-License-Identifier: Apache-2.0
 * task/fork.c - counts forks. */
#include "task/fork.h"

#include "task/system/thread.h"

atomic_uint ox_fork_count;

static void count_fork(void) { atomic_fetch_add_explicit(&ox_fork_count, 1, memory_order_relaxed); }

void ox_fork_watch(void) { ox_thread_at_fork(count_fork); }
