/* SPDX-License-Identifier: Apache-2.0
 * task/system/thread_windows.c - threads, clock and processors on Windows.
 * Processors come in groups of at most 64. They are numbered 64 * group + number within the group, so each group is one
 * word of an ox_cpu_mask; groups smaller than 64 leave gaps. A thread is pinned within one group. */
#if defined(_WIN32)
#define _WIN32_WINNT 0x0602
#define WIN32_LEAN_AND_MEAN
#include "task/system/thread.h"

#include <errno.h>
#include <limits.h>
#include <process.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { GROUP_CPUS = 64 };

typedef struct start {
  void (*main)(void *);
  void *arg;
} start;

static unsigned __stdcall run(void *p) {
  start s = *(start *)p;
  free(p);
  s.main(s.arg);
  return 0;
}

/* A system function that older versions lack, or NULL. */
typedef void (*any_function)(void);
static any_function find_function(const char *name) {
  return (any_function)GetProcAddress(GetModuleHandleA("kernel32.dll"), name);
}

ox_status *ox_thread_start(const ox_pool_opts *opts, void (*main)(void *), void *arg, ox_thread *out_thread) {
  out_thread->handle = NULL;
  if (opts->thread_create) {
    out_thread->handle = opts->thread_create(opts->thread_ctx, main, arg);
    return out_thread->handle ? NULL : ox_fail(OX_FAIL, "the thread_create hook returned NULL");
  }
  size_t stack = opts->stack_bytes;
  if (stack > SIZE_MAX / 2) return ox_fail(OX_INVALID_ARGUMENT, "stack_bytes is %zu", stack);
  if (stack > UINT_MAX) return ox_fail(OX_FAIL, "cannot make a thread with a stack of %zu bytes", stack);
  start *s = malloc(sizeof *s);
  if (!s) return ox_oom();
  *s = (start){main, arg};
  HMODULE self; /* workers of the default pool never end: their code must outlast FreeLibrary */
  (void)GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                           (const char *)(uintptr_t)run, &self);
  uintptr_t handle = _beginthreadex(NULL, (unsigned)stack, run, s, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
  if (!handle) {
    free(s);
    return ox_fail(OX_FAIL, "cannot make a thread: %s", strerror(errno));
  }
  out_thread->handle = (void *)handle;
  return NULL;
}

void ox_thread_join(const ox_pool_opts *opts, ox_thread thread) {
  if (opts->thread_create) {
    opts->thread_join(opts->thread_ctx, thread.handle);
    return;
  }
  (void)WaitForSingleObject(thread.handle, INFINITE);
  (void)CloseHandle(thread.handle);
}

void ox_thread_set_name(const char *name) {
  typedef HRESULT(WINAPI * set_description)(HANDLE, PCWSTR); /* since Windows 10, 1607 */
  set_description set = (set_description)find_function("SetThreadDescription");
  wchar_t wide[16];
  int n = MultiByteToWideChar(CP_UTF8, 0, name, (int)strnlen(name, OX_COUNT(wide) - 1), wide, OX_COUNT(wide) - 1);
  wide[n] = 0;
  if (set) (void)set(GetCurrentThread(), wide);
}

bool ox_thread_set_priority(int32_t priority) {
  int step = priority >= 10    ? THREAD_PRIORITY_HIGHEST
             : priority > 0    ? THREAD_PRIORITY_ABOVE_NORMAL
             : priority == 0   ? THREAD_PRIORITY_NORMAL
             : priority > -10  ? THREAD_PRIORITY_BELOW_NORMAL
             : priority >= -19 ? THREAD_PRIORITY_LOWEST
                               : THREAD_PRIORITY_IDLE;
  return SetThreadPriority(GetCurrentThread(), step);
}

/* Sleep counts in time slices of 15 ms; since Windows 10, 1803 timers can do better. */
void ox_thread_nap(uint64_t ns) {
  enum { HIGH_RESOLUTION = 2 }; /* CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, which older headers lack */
  LARGE_INTEGER due = {.QuadPart = -(LONGLONG)OX_CEIL_DIV(ns, 100)}; /* from now, in 100 ns */
  HANDLE timer = CreateWaitableTimerExW(NULL, NULL, HIGH_RESOLUTION, TIMER_ALL_ACCESS);
  if (timer && SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE))
    (void)WaitForSingleObject(timer, INFINITE);
  else
    Sleep((DWORD)OX_CEIL_DIV(ns, 1000000u));
  if (timer) (void)CloseHandle(timer);
}

/* GetThreadTimes counts in whole time slices, which is no use here. */
uint64_t ox_thread_cpu_ns(void) { return 0; }
uint64_t ox_process_cpu_ns(void) { return 0; }
uint64_t ox_thread_cpu_ns_of(int thread_id) { return (void)thread_id, 0; }
bool ox_thread_get_usage(ox_thread_usage *out) { return (void)out, false; }

/* SwitchToThread looks at this processor's queue only. */
void ox_thread_yield(void) {
  if (!SwitchToThread()) Sleep(0);
}

uint64_t ox_thread_now_ns(void) {
  LARGE_INTEGER count, hz;
  (void)QueryPerformanceCounter(&count);
  (void)QueryPerformanceFrequency(&hz); /* a read of a shared page */
  uint64_t n = (uint64_t)count.QuadPart, f = (uint64_t)hz.QuadPart, second = 1000000000u;
  return second % f == 0 ? n * (second / f) : n / f * second + n % f * second / f;
}

int ox_thread_cpu(void) {
  PROCESSOR_NUMBER at;
  GetCurrentProcessorNumberEx(&at);
  return at.Group * GROUP_CPUS + at.Number;
}

int ox_thread_id(void) { return (int)GetCurrentThreadId(); }

static uint64_t whole_group(WORD group) {
  DWORD n = GetActiveProcessorCount(group);
  return n >= GROUP_CPUS ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

ox_cpu_mask ox_thread_mask(void) {
  ox_cpu_mask mask = {{0}};
  GROUP_AFFINITY own;
  if (!GetThreadGroupAffinity(GetCurrentThread(), &own) || own.Group >= OX_COUNT(mask.bits)) return mask;
  mask.bits[own.Group] = own.Mask;
  /* Since Windows 11 a thread that was not told otherwise runs in all groups and reports its first. The function is of
   * the same age. */
  if (own.Mask == whole_group(own.Group) && find_function("SetThreadSelectedCpuSetMasks"))
    for (WORD g = 0; g < GetActiveProcessorGroupCount() && g < OX_COUNT(mask.bits); g++) mask.bits[g] = whole_group(g);
  return mask;
}

ox_cpu_mask ox_thread_mask_of(int id) { return (void)id, (ox_cpu_mask){{0}}; }

bool ox_thread_avoid_cpu(int id, const ox_cpu_mask *allowed, int cpu) {
  GROUP_AFFINITY to = {0};
  for (WORD g = 0; g < OX_COUNT(allowed->bits); g++) {
    uint64_t bits = allowed->bits[g];
    if (cpu / GROUP_CPUS == g && cpu >= 0) bits &= ~((uint64_t)1 << cpu % GROUP_CPUS);
    if (!bits) continue;
    if (to.Mask && cpu >= 0) return false; /* would tie a thread to one group that may run in several */
    if (!to.Mask) to.Mask = (KAFFINITY)bits, to.Group = g;
  }
  HANDLE thread = to.Mask ? OpenThread(THREAD_SET_INFORMATION | THREAD_QUERY_INFORMATION, FALSE, (DWORD)id) : NULL;
  if (!thread) return false;
  bool done = SetThreadGroupAffinity(thread, &to, NULL);
  (void)CloseHandle(thread);
  return done;
}

void ox_thread_at_fork(ox_thread_hook fn) { (void)fn; } /* there is no fork */
#else
typedef int ox_thread_windows_unused;
#endif
