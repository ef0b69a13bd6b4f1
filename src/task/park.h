/* SPDX-License-Identifier: Apache-2.0
 * task/park.h - sleeping on a 32-bit word. Two back-ends, both built where they can be; the rest uses ox_park_*. */
#ifndef OX_TASK_PARK_H
#define OX_TASK_PARK_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps while *word == expected; may return at any time, so call in a loop. */
void ox_park_cond_wait(atomic_uint *word, unsigned expected);
/* Wakes one (or, with |all|, every) thread that sleeps on |word|. Change the word first. */
void ox_park_cond_wake(atomic_uint *word, int all);
void ox_park_futex_wait(atomic_uint *word, unsigned expected);
void ox_park_futex_wake(atomic_uint *word, int all);

#if defined(__linux__) && !defined(OX_PARK_COND)
static inline void ox_park_wait(atomic_uint *word, unsigned expected) { ox_park_futex_wait(word, expected); }
static inline void ox_park_wake(atomic_uint *word, int all) { ox_park_futex_wake(word, all); }
#else
static inline void ox_park_wait(atomic_uint *word, unsigned expected) { ox_park_cond_wait(word, expected); }
static inline void ox_park_wake(atomic_uint *word, int all) { ox_park_cond_wake(word, all); }
#endif

#endif
