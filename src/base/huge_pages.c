/* SPDX-License-Identifier: Apache-2.0
 * base/huge_pages.c - see huge_pages.h.
 *
 * The first write to a page costs a page fault; huge pages mean 512 times fewer of them, which counts when hundreds of
 * megabytes of weights are packed. Not always so in a virtual machine with free page reporting: its kernel gives free
 * blocks of the size of a huge page back to the host, two seconds after they became free, and the host has to find
 * memory for each that is touched again. In a guest of two processors 2 MB took 0.13 ms as a huge page that the host
 * had not taken yet, 0.6 ms as small pages, 2.5 ms and more as a huge page that it had. Blocks that are still there are
 * handed out first, so huge pages are good there until the first slow one. */
#if defined(__linux__)
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#endif

#include "base/huge_pages.h"

#include "base/macros.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

bool ox_host_takes_free_blocks(const char *text) {
  enum { LARGEST_ORDER = 30 };
  char *end;
  long long order = strtoll(text, &end, 10);
  return end != text && order >= 0 && order <= LARGEST_ORDER;
}

#if defined(__linux__) && defined(MADV_HUGEPAGE)
static bool host_takes_free_blocks(void) {
  char text[32];
  int file = open("/sys/module/page_reporting/parameters/page_reporting_order", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t n = read(file, text, sizeof text - 1);
  close(file);
  text[n > 0 ? n : 0] = 0;
  return ox_host_takes_free_blocks(text);
}

static int general_advice(void) {
  static _Atomic int advice; /* 0: not chosen yet; threads that choose at a time choose the same */
  int chosen = atomic_load_explicit(&advice, memory_order_relaxed);
  if (!chosen) {
    chosen = host_takes_free_blocks() ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
    atomic_store_explicit(&advice, chosen, memory_order_relaxed);
  }
  return chosen;
}

void ox_huge_pages_advise(void *p, size_t bytes) {
  (void)madvise(p, bytes & ~(size_t)(OX_HUGE_PAGE_BYTES - 1), general_advice());
}

void ox_huge_pages_unadvise(void *p, size_t bytes) {
  (void)madvise(p, bytes & ~(size_t)(OX_HUGE_PAGE_BYTES - 1), MADV_NOHUGEPAGE);
}

/* Of this thread only: others may have the processor meanwhile, the host's work counts. */
static int64_t own_ns(void) {
  struct timespec t;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

void ox_huge_pages_touch(void *p, size_t bytes) {
  enum { SLOW_NS = 500 * 1000 };
  static atomic_bool slow; /* relaxed: a thread that sees it late has one more slow page */
  if (general_advice() == MADV_HUGEPAGE) return;
  uintptr_t piece = OX_HUGE_PAGE_BYTES, at = OX_ROUND_UP((uintptr_t)p, piece);
  uintptr_t end = ((uintptr_t)p + bytes) & ~(piece - 1);
  for (; at < end && !atomic_load_explicit(&slow, memory_order_relaxed); at += piece) {
    if (madvise((void *)at, piece, MADV_HUGEPAGE) != 0) return;
    int64_t start = own_ns();
    atomic_fetch_or_explicit((_Atomic unsigned char *)at, 0, memory_order_relaxed); /* a write that changes nothing */
    if (own_ns() - start > SLOW_NS) atomic_store_explicit(&slow, true, memory_order_relaxed);
  }
}
#else
void ox_huge_pages_advise(void *p, size_t bytes) { (void)p, (void)bytes; }
void ox_huge_pages_touch(void *p, size_t bytes) { (void)p, (void)bytes; }
void ox_huge_pages_unadvise(void *p, size_t bytes) { (void)p, (void)bytes; }
#endif
