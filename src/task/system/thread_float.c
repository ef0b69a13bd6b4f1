/* SPDX-License-Identifier: Apache-2.0
 * task/system/thread_float.c - the processor's floating-point mode; the same on every system. */
#include "task/system/thread.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

unsigned ox_thread_flush_denormals(void) {
#if defined(__SSE__)
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); /* flush to zero, denormals are zero */
  return before;
#elif defined(__aarch64__)
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | 1u << 24));
  return (unsigned)fpcr;
#else
  return 0;
#endif
}

void ox_thread_restore_denormals(unsigned mode) {
#if defined(__SSE__)
  _mm_setcsr((_mm_getcsr() & ~0x8040u) | (mode & 0x8040u)); /* the sticky flags raised meanwhile stay */
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)mode));
#else
  (void)mode;
#endif
}
