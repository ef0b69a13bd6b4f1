/* SPDX-License-Identifier: Apache-2.0
 * task/system/park.h - sleeping on a 32-bit word. Each system builds every back-end it has; the rest uses ox_park_*. */
#ifndef OX_TASK_SYSTEM_PARK_H
#define OX_TASK_SYSTEM_PARK_H

#include <stdatomic.h>
#include <stdint.h>

/* wait sleeps while *word == expected; may return at any time, so call in a loop.
 * wake wakes one (or, with |all|, every) thread that sleeps on |word|. Change the word first. */
#define OX_PARK_BACKEND(name)                                       \
  void ox_park_##name##_wait(atomic_uint *word, unsigned expected); \
  void ox_park_##name##_wake(atomic_uint *word, int all)
OX_PARK_BACKEND(cond);    /* where there are POSIX threads */
OX_PARK_BACKEND(futex);   /* Linux */
OX_PARK_BACKEND(windows); /* Windows 8 and later */
OX_PARK_BACKEND(macos);
OX_PARK_BACKEND(wasm); /* with the threads feature */
#undef OX_PARK_BACKEND

#if defined(_WIN32)
#define OX_PARK(verb) ox_park_windows_##verb
#elif defined(OX_PARK_COND)
#define OX_PARK(verb) ox_park_cond_##verb
#elif defined(__linux__)
#define OX_PARK(verb) ox_park_futex_##verb
#elif defined(__APPLE__)
#define OX_PARK(verb) ox_park_macos_##verb
#elif defined(__wasm_atomics__)
#define OX_PARK(verb) ox_park_wasm_##verb
#else
#define OX_PARK(verb) ox_park_cond_##verb
#endif

static inline void ox_park_wait(atomic_uint *word, unsigned expected) { OX_PARK(wait)(word, expected); }
static inline void ox_park_wake(atomic_uint *word, int all) { OX_PARK(wake)(word, all); }

/* The top bit of a count on which a thread sleeps until the rest is 0. The thread that brings it to
 * OX_PARK_WAITING wakes it. */
#define OX_PARK_WAITING 0x80000000u

/* Sleeps until |count| is 0 but for OX_PARK_WAITING, which it may leave set. One thread at a time. */
static inline void ox_park_until_zero(atomic_uint *count) {
  unsigned left = atomic_load_explicit(count, memory_order_seq_cst);
  while (left & ~OX_PARK_WAITING) {
    if ((left & OX_PARK_WAITING) || atomic_compare_exchange_weak_explicit(count, &left, left | OX_PARK_WAITING,
                                                                          memory_order_seq_cst, memory_order_seq_cst)) {
      ox_park_wait(count, left | OX_PARK_WAITING);
      left = atomic_load_explicit(count, memory_order_seq_cst);
    }
  }
}

#endif
