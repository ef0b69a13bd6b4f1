/* SPDX-License-Identifier: Apache-2.0
 * task/system/thread.h - what the pool needs of the system's threads, clock and processor. */
#ifndef OX_TASK_SYSTEM_THREAD_H
#define OX_TASK_SYSTEM_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "onyx/task.h"

typedef struct ox_thread {
  void *handle; /* of opts.thread_create, else the system's */
} ox_thread;

/* Starts main(arg) as |opts| says (stack size, hooks). */
OX_NODISCARD ox_status *ox_thread_start(const ox_pool_opts *opts, void (*main)(void *), void *arg,
                                        ox_thread *out_thread);
void ox_thread_join(const ox_pool_opts *opts, ox_thread thread);
/* Names the calling thread (15 bytes at most are kept). */
void ox_thread_set_name(const char *name);
/* Priority of the calling thread as in ox_pool_opts. False: the system does not allow it, or has none per thread. */
bool ox_thread_set_priority(int32_t priority);
/* Denormal floats count as zero from now on; returns what restore needs to undo it. */
unsigned ox_thread_flush_denormals(void);
void ox_thread_restore_denormals(unsigned mode);
void ox_thread_yield(void);
void ox_thread_nap(uint64_t ns);
uint64_t ox_thread_now_ns(void); /* monotonic */
/* Processor time of the calling thread; 0 if the system does not report it, or only coarsely. */
uint64_t ox_thread_cpu_ns(void);
uint64_t ox_process_cpu_ns(void);            /* of all threads; as above */
uint64_t ox_thread_cpu_ns_of(int thread_id); /* of another thread of this process; as above */
/* What the calling thread has used: processor time, and how often it slept voluntarily. False if the system does not
 * report it. */
typedef struct ox_thread_usage {
  uint64_t cpu_ns, sleeps;
} ox_thread_usage;
bool ox_thread_get_usage(ox_thread_usage *out);

/* The processor that the calling thread runs on; -1 if unknown. */
int ox_thread_cpu(void);
/* The system's number of the calling thread. */
int ox_thread_id(void);
/* Lets thread |id| run on any processor of |allowed| but |cpu|. False if that leaves none, or cannot be done. */
typedef struct ox_cpu_mask {
  uint64_t bits[16]; /* processors 0 .. 1023; all zero: unknown */
} ox_cpu_mask;
bool ox_thread_avoid_cpu(int id, const ox_cpu_mask *allowed, int cpu);
/* The affinity mask of the calling thread; and of thread |id|. */
ox_cpu_mask ox_thread_mask(void);
ox_cpu_mask ox_thread_mask_of(int id);
/* Calls |fn| in the child of every fork from now on; calling it again with the same |fn| changes nothing. */
typedef void (*ox_thread_hook)(void);
void ox_thread_at_fork(ox_thread_hook fn);

static inline void ox_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory"); /* yield is a no-op on most cores; isb waits about as long as x86's pause */
#endif
}

/* A clock that is cheap to read and good for comparing short times only: counts at any rate, may stop. */
static inline uint64_t ox_ticks(void) {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t t;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return ox_thread_now_ns();
#endif
}

#endif
