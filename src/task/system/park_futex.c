/* SPDX-License-Identifier: Apache-2.0
 * task/system/park_futex.c - Linux: the kernel compares and sleeps in one step. */
#if defined(__linux__)
#define _GNU_SOURCE
#include "task/system/park.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(atomic_uint) == 4, "futex words are 32 bits");

void ox_park_futex_wait(atomic_uint *word, unsigned expected) {
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void ox_park_futex_wake(atomic_uint *word, int all) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, all ? INT_MAX : 1, NULL, NULL, 0);
}
#else
typedef int ox_park_futex_unused;
#endif
