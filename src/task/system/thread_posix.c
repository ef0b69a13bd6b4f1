/* SPDX-License-Identifier: Apache-2.0
 * task/system/thread_posix.c - threads, clock and fork on POSIX. */
#if !defined(_WIN32)
#define _GNU_SOURCE /* pthread_setname_np */
#define _DARWIN_C_SOURCE
#include "task/system/thread.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#endif

typedef struct start {
  void (*main)(void *);
  void *arg;
} start;

static void *run(void *p) {
  start s = *(start *)p;
  free(p);
  s.main(s.arg);
  return NULL;
}

_Static_assert(sizeof(pthread_t) <= sizeof(void *), "a thread's handle fits a pointer");

ox_status *ox_thread_start(const ox_pool_opts *opts, void (*main)(void *), void *arg, ox_thread *out_thread) {
  out_thread->handle = NULL;
  if (opts->thread_create) {
    out_thread->handle = opts->thread_create(opts->thread_ctx, main, arg);
    return out_thread->handle ? NULL : ox_fail(OX_FAIL, "the thread_create hook returned NULL");
  }
  size_t page = (size_t)sysconf(_SC_PAGESIZE), least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
  size_t stack = opts->stack_bytes < least ? least : opts->stack_bytes;
  if (stack > SIZE_MAX / 2) return ox_fail(OX_INVALID_ARGUMENT, "stack_bytes is %zu", stack);
  start *s = malloc(sizeof *s);
  if (!s) return ox_oom();
  *s = (start){main, arg};
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  if (opts->stack_bytes) (void)pthread_attr_setstacksize(&attr, (stack + page - 1) / page * page);
  pthread_t thread;
  int err = pthread_create(&thread, &attr, run, s);
  pthread_attr_destroy(&attr);
  if (err) {
    free(s);
    return ox_fail(OX_FAIL, "cannot make a thread: %s", strerror(err));
  }
  memcpy(&out_thread->handle, &thread, sizeof thread);
  return NULL;
}

void ox_thread_join(const ox_pool_opts *opts, ox_thread thread) {
  if (opts->thread_create) {
    opts->thread_join(opts->thread_ctx, thread.handle);
    return;
  }
  pthread_t t;
  memcpy(&t, &thread.handle, sizeof t);
  (void)pthread_join(t, NULL);
}

void ox_thread_set_name(const char *name) {
#if defined(__linux__)
  (void)pthread_setname_np(pthread_self(), name);
#elif defined(__APPLE__)
  (void)pthread_setname_np(name);
#else
  (void)name;
#endif
}

void ox_thread_yield(void) { (void)sched_yield(); }

void ox_thread_nap(uint64_t ns) {
  struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  (void)nanosleep(&t, NULL);
}

static uint64_t clock_ns(clockid_t clock) {
  struct timespec t;
  return clock_gettime(clock, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec : 0;
}

uint64_t ox_thread_now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

uint64_t ox_thread_cpu_ns(void) {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
#else
  return 0;
#endif
}

bool ox_thread_get_usage(ox_thread_usage *out) {
#if defined(RUSAGE_THREAD)
  struct rusage u;
  if (getrusage(RUSAGE_THREAD, &u)) return false;
  out->cpu_ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u +
                (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
  out->sleeps = (uint64_t)u.ru_nvcsw;
  return true;
#else
  (void)out;
  return false;
#endif
}

uint64_t ox_process_cpu_ns(void) {
#if defined(CLOCK_PROCESS_CPUTIME_ID)
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
#else
  return 0;
#endif
}

#if defined(__linux__)
int ox_thread_cpu(void) { return sched_getcpu(); }
int ox_thread_id(void) { return (int)syscall(SYS_gettid); } /* gettid() came with glibc 2.30 */

ox_cpu_mask ox_thread_mask(void) { return ox_thread_mask_of(0); }

ox_cpu_mask ox_thread_mask_of(int id) {
  ox_cpu_mask mask = {{0}};
  cpu_set_t set;
  if (sched_getaffinity(id, sizeof set, &set) != 0) return mask;
  for (int i = 0; i < CPU_SETSIZE && i < 1024; i++)
    if (CPU_ISSET(i, &set)) mask.bits[i / 64] |= (uint64_t)1 << i % 64;
  return mask;
}

/* On Linux, unlike POSIX, each thread has its own nice value. */
bool ox_thread_set_priority(int32_t priority) {
  int nice = priority > 20 ? -20 : priority < -19 ? 19 : -(int)priority;
  return setpriority(PRIO_PROCESS, (id_t)ox_thread_id(), nice) == 0;
}

/* The CPU clock of a thread, encoded as pthread_getcpuclockid() does it, but from the kernel's thread number: bit 2: of
 * one thread; bit 1: exact. */
uint64_t ox_thread_cpu_ns_of(int thread_id) { return clock_ns((clockid_t)(~(unsigned)thread_id << 3 | 6)); }

bool ox_thread_avoid_cpu(int id, const ox_cpu_mask *allowed, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < CPU_SETSIZE && i < 1024; i++)
    if (i != cpu && (allowed->bits[i / 64] >> i % 64 & 1)) CPU_SET(i, &set);
  return CPU_COUNT(&set) && sched_setaffinity(id, sizeof set, &set) == 0;
}
#else
uint64_t ox_thread_cpu_ns_of(int thread_id) { return (void)thread_id, 0; }
int ox_thread_cpu(void) { return -1; }
int ox_thread_id(void) { return 0; }
ox_cpu_mask ox_thread_mask(void) { return (ox_cpu_mask){{0}}; }
ox_cpu_mask ox_thread_mask_of(int id) { return (void)id, (ox_cpu_mask){{0}}; }
bool ox_thread_set_priority(int32_t priority) {
  (void)priority;
  return false;
}
bool ox_thread_avoid_cpu(int id, const ox_cpu_mask *allowed, int cpu) {
  (void)id, (void)allowed, (void)cpu;
  return false;
}
#endif

static _Atomic(ox_thread_hook) in_child;
static void child(void) { atomic_load_explicit(&in_child, memory_order_acquire)(); }
static void install(void) { (void)pthread_atfork(NULL, NULL, child); }

void ox_thread_at_fork(ox_thread_hook fn) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  atomic_store_explicit(&in_child, fn, memory_order_release); /* pairs with the acquire in child */
  (void)pthread_once(&once, install);
}
#else
typedef int ox_thread_posix_unused;
#endif
