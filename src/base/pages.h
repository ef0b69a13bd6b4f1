/* SPDX-License-Identifier: Apache-2.0
 * base/pages.h - hides the time in which a processor looks up the addresses of pages that it reads in order. */
#ifndef OX_BASE_PAGES_H
#define OX_BASE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

enum { OX_PAGE_BYTES = 4096 /* of a small page, on most systems */ };

/* To be called with every |step|th byte |p| of what is read in order: prefetches a line of each of the four pages after
 * the page of |p|, once in four pages. An instruction waits for the address of its page, in a virtual machine for up
 * to 300 ns, and others wait behind it; four pages at a time wait for as long as one. */
OX_INLINE void ox_prefetch_pages(const void *p, size_t step) {
  enum { PAGES = 4 };
  if (OX_UNLIKELY(((uintptr_t)p & (PAGES * OX_PAGE_BYTES - 1)) < step))
    OX_UNROLL for (int i = 1; i <= PAGES; i++) OX_PREFETCH_L2((const char *)p + i * OX_PAGE_BYTES);
}

#endif
