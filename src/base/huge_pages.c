/* SPDX-License-Identifier: Apache-2.0
 * base/huge_pages.c - see huge_pages.h.
 *
 * The first write to a page costs a page fault; huge pages mean 512 times fewer of them, which counts when hundreds of
 * megabytes of weights are packed. Not so in a virtual machine with free page reporting: its kernel gives free blocks
 * of the size of a huge page back to the host, which has to find memory for each that is touched again, while small
 * pages come from blocks that are in use. First runs took up to three times as long with huge pages there, later ones
 * as long as with small ones, or up to 3 % less where weights are read once. */
#if defined(__linux__)
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "base/huge_pages.h"

#include <stdatomic.h>
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

void ox_huge_pages_advise(void *p, size_t bytes) {
  static _Atomic int advice; /* 0: not chosen yet; threads that choose at a time choose the same */
  int chosen = atomic_load_explicit(&advice, memory_order_relaxed);
  if (!chosen) {
    chosen = host_takes_free_blocks() ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
    atomic_store_explicit(&advice, chosen, memory_order_relaxed);
  }
  (void)madvise(p, bytes & ~(size_t)(OX_HUGE_PAGE_BYTES - 1), chosen);
}
#else
void ox_huge_pages_advise(void *p, size_t bytes) { (void)p, (void)bytes; }
#endif
