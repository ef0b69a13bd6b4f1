/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_arena.c - offsets of a plan's blocks: largest first, each at the lowest offset that is free from
 * its first step to its last. */
#include <stdlib.h>

#include "od_plan.h"

enum { ALIGN = 64 };

static int larger_first(const void *a, const void *b) {
  const od_buf *x = *(od_buf *const *)a, *y = *(od_buf *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x < y ? -1 : x > y;
}

static bool meet(const od_buf *x, const od_buf *y) { return x->first <= y->last && y->first <= x->last; }

/* Moves |buf| past every placed block that it overlaps in time and space, until there is none. */
static void place(od_buf *buf, od_buf *const *placed, size_t n) {
  size_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < n; i++) {
      const od_buf *p = placed[i];
      if (!meet(buf, p) || at + buf->bytes <= p->offset || p->offset + p->bytes <= at) continue;
      at = p->offset + p->bytes, moved = true;
    }
  }
  buf->offset = at;
}

ox_status *od_arena_lay(ox_ep *ep, od_plan *plan) {
  size_t n = 0;
  od_buf **order = od_alloc(ep, (plan->n_bufs + 1) * sizeof *order);
  if (!order) return od_no_memory(ep);
  for (size_t i = 0; i < plan->n_bufs; i++) {
    od_buf *buf = &plan->bufs[i];
    if (buf->place != OD_ARENA || buf->first == UINT32_MAX) continue; /* UINT32_MAX: no step uses it */
    if (buf->bytes > SIZE_MAX / 2) {
      od_free(ep, order);
      return od_fail(ep, OX_LIMIT, "oneDNN: a tensor of %zu bytes", buf->bytes);
    }
    buf->bytes = (buf->bytes + ALIGN - 1) / ALIGN * ALIGN;
    order[n++] = buf;
  }
  qsort(order, n, sizeof *order, larger_first);
  for (size_t i = 0; i < n; i++) {
    place(order[i], order, i);
    plan->arena_bytes = OD_MAX(plan->arena_bytes, order[i]->offset + order[i]->bytes);
  }
  od_free(ep, order);
  return NULL;
}
