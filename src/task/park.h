/* SPDX-License-Identifier: Apache-2.0
 * task/park.h - sleeping on a 32-bit word. Each system builds every back-end it has; the rest uses ox_park_*. */
#ifndef OX_TASK_PARK_H
#define OX_TASK_PARK_H

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

#endif
