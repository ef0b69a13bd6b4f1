/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_memory.c - the library's allocator. Large blocks, which are packed weights, get huge pages, as each run
 * reads all of them once. The plug-in stays loaded (-z nodelete) because the library keeps pointers to these functions.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "xp.h"

enum { LARGE = 1 << 20, HUGE_PAGE = 1 << 21, LOAN_ALIGN = 64 };

/* What is left of the loan is |lent->at| to |lent->end|; blocks that came from it lie between |lent_from| and the end.
 */
static _Thread_local xp_loan *lent;
static _Thread_local char *lent_from;

void xp_lend(xp_loan *loan) { lent = loan, lent_from = loan ? loan->at : NULL; }

static void *borrow(size_t size) {
  if (!lent || size > (size_t)(lent->end - lent->at)) return NULL;
  size_t step = (size + LOAN_ALIGN - 1) / LOAN_ALIGN * LOAN_ALIGN, left = (size_t)(lent->end - lent->at);
  void *p = lent->at;
  lent->at += step < left ? step : left;
  return p;
}

static void *get(void *ctx, size_t size) {
  void *p = borrow(size);
  (void)ctx;
  return p ? p : malloc(size);
}
static void *change(void *ctx, void *p, size_t size) {
  (void)ctx;
  return realloc(p, size);
}
static void give(void *ctx, void *p) {
  (void)ctx;
  if (!lent || (char *)p < lent_from || (char *)p >= lent->end) free(p);
}
static void *get_aligned(void *ctx, size_t alignment, size_t size) {
  void *p;
  (void)ctx;
  if (alignment <= LOAN_ALIGN && (p = borrow(size))) return p;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (size >= LARGE && alignment < HUGE_PAGE) alignment = HUGE_PAGE;
  if (posix_memalign(&p, alignment, size)) return NULL;
  if (size >= LARGE) (void)madvise(p, size, MADV_HUGEPAGE); /* if that fails, small pages will do */
  return p;
}

const struct xnn_allocator xp_allocator = {NULL, get, change, give, get_aligned, give};
