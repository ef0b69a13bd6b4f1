/* SPDX-License-Identifier: Apache-2.0
 * plan/memplan.c - walks the steps in order: an item takes the smallest hole that holds it, or extends the slab. Ends
 * are kept in a heap, holes in an array sorted by offset (few holes exist at a time). With this order small items can
 * leave no hole that a large one fits. So if the slab is larger than what lives at once, and there are not too many
 * items, they are placed again, the largest first, each at the lowest possible offset; the smaller of the two slabs is
 * taken. */
#include "plan/memplan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

typedef struct {
  size_t offset, bytes;
} hole;

typedef struct {
  ox_lifetime *items;
  uint32_t *heap; /* live items, the earliest |last| on top */
  size_t n_live;
  hole *holes; /* sorted by offset, never adjacent */
  size_t n_holes;
  size_t end; /* of the slab */
  size_t live, most_live;
} planner;

static void heap_swap(planner *p, size_t a, size_t b) {
  uint32_t t = p->heap[a];
  p->heap[a] = p->heap[b], p->heap[b] = t;
}

static uint32_t key(const planner *p, size_t i) { return p->items[p->heap[i]].last; }

static void push(planner *p, uint32_t item) {
  size_t i = p->n_live++;
  p->heap[i] = item;
  for (; i && key(p, i) < key(p, (i - 1) / 2); i = (i - 1) / 2) heap_swap(p, i, (i - 1) / 2);
}

static uint32_t pop(planner *p) {
  uint32_t top = p->heap[0];
  p->heap[0] = p->heap[--p->n_live];
  for (size_t i = 0;;) {
    size_t least = i, l = 2 * i + 1, r = l + 1;
    if (l < p->n_live && key(p, l) < key(p, least)) least = l;
    if (r < p->n_live && key(p, r) < key(p, least)) least = r;
    if (least == i) return top;
    heap_swap(p, i, least), i = least;
  }
}

static size_t rounded(size_t bytes) { return OX_ROUND_UP(bytes + OX_PAD_BYTES, (size_t)OX_ALIGN_BYTES); }

static void release(planner *p, size_t offset, size_t bytes) {
  size_t i = p->n_holes;
  while (i && p->holes[i - 1].offset > offset) i--;
  bool joins_left = i && p->holes[i - 1].offset + p->holes[i - 1].bytes == offset;
  bool joins_right = i < p->n_holes && offset + bytes == p->holes[i].offset;
  if (joins_left && joins_right) {
    p->holes[i - 1].bytes += bytes + p->holes[i].bytes;
    memmove(&p->holes[i], &p->holes[i + 1], (--p->n_holes - i) * sizeof *p->holes);
  } else if (joins_left) {
    p->holes[i - 1].bytes += bytes;
  } else if (joins_right) {
    p->holes[i].offset = offset, p->holes[i].bytes += bytes;
  } else {
    memmove(&p->holes[i + 1], &p->holes[i], (p->n_holes++ - i) * sizeof *p->holes);
    p->holes[i] = (hole){offset, bytes};
  }
}

static bool place(planner *p, ox_lifetime *item) {
  size_t bytes = rounded(item->bytes), best = SIZE_MAX;
  for (size_t i = 0; i < p->n_holes; i++)
    if (p->holes[i].bytes >= bytes && (best == SIZE_MAX || p->holes[i].bytes < p->holes[best].bytes)) best = i;
  if (best == SIZE_MAX && p->n_holes && p->holes[p->n_holes - 1].offset + p->holes[p->n_holes - 1].bytes == p->end) {
    best = p->n_holes - 1; /* a hole at the end grows with the slab */
    if (!ox_add_ok(p->holes[best].offset, bytes, &p->end)) return false;
    p->holes[best].bytes = bytes;
  }
  if (best == SIZE_MAX) {
    item->offset = p->end;
    return ox_add_ok(p->end, bytes, &p->end);
  }
  hole *h = &p->holes[best];
  item->offset = h->offset;
  h->offset += bytes, h->bytes -= bytes;
  if (!h->bytes) memmove(h, h + 1, (--p->n_holes - best) * sizeof *h);
  return true;
}

/* ---- the largest first ---- */

enum { MOST_AGAIN = 1024 /* items: placing them takes quadratic time */ };

typedef struct {
  const ox_lifetime *item;
  size_t offset;
} placed;

/* Equal sizes in the order of the steps. */
static int larger_first(const void *a, const void *b) {
  const ox_lifetime *x = ((const placed *)a)->item, *y = ((const placed *)b)->item;
  return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : (x > y) - (x < y);
}

/* The lowest offset where all[i] fits among those before it, which are sorted by offset. */
static size_t lowest(const placed *all, size_t i) {
  const ox_lifetime *item = all[i].item;
  size_t at = 0;
  for (size_t k = 0; k < i; k++) {
    const ox_lifetime *other = all[k].item;
    if (other->first > item->last || item->first > other->last) continue;
    if (all[k].offset >= at && all[k].offset - at >= rounded(item->bytes)) break;
    at = OX_MAX(at, all[k].offset + rounded(other->bytes));
  }
  return at;
}

/* Sets the offsets and *end if that makes the slab smaller. It cannot overflow, since it stops before it reaches the
 * old end. */
static ox_status *place_again(ox_alloc alloc, ox_lifetime *items, size_t n, size_t *end) {
  placed *all = ox_new(alloc, n * sizeof *all);
  if (!all) return ox_oom();
  size_t most = 0, i = 0;
  for (size_t k = 0; k < n; k++) all[k].item = &items[k];
  qsort(all, n, sizeof *all, larger_first);
  for (; i < n && most < *end; i++) {
    placed p = all[i];
    p.offset = lowest(all, i);
    if (p.offset >= *end) break;
    most = OX_MAX(most, p.offset + rounded(p.item->bytes));
    size_t k = i;
    for (; k && all[k - 1].offset > p.offset; k--) all[k] = all[k - 1];
    all[k] = p;
  }
  bool smaller = i == n && most < *end;
  for (size_t k = 0; k < n && smaller; k++) items[all[k].item - items].offset = all[k].offset;
  if (smaller) *end = most;
  ox_delete(alloc, all, n * sizeof *all);
  return NULL;
}

ox_status *ox_memplan(ox_alloc alloc, ox_lifetime *items, size_t n, size_t *out_bytes) {
  *out_bytes = 0;
  planner p = {.items = items};
  size_t heap_bytes = (n + 1) * sizeof *p.heap, hole_bytes = (n + 1) * sizeof *p.holes;
  p.heap = ox_new(alloc, heap_bytes), p.holes = ox_new(alloc, hole_bytes);
  ox_status *st = p.heap && p.holes ? NULL : ox_oom();
  for (size_t i = 0; i < n && !st; i++) {
    while (p.n_live && key(&p, 0) < items[i].first) {
      const ox_lifetime *dead = &items[pop(&p)];
      release(&p, dead->offset, rounded(dead->bytes));
      p.live -= rounded(dead->bytes);
    }
    if (items[i].bytes > SIZE_MAX / 4 || !place(&p, &items[i]))
      st = ox_fail(OX_LIMIT, "intermediate values need more memory than the address space has");
    push(&p, (uint32_t)i);
    p.live += rounded(items[i].bytes), p.most_live = OX_MAX(p.most_live, p.live);
  }
  if (!st && p.end > p.most_live && n <= MOST_AGAIN) st = place_again(alloc, items, n, &p.end);
  *out_bytes = p.end;
  ox_delete(alloc, p.heap, heap_bytes);
  ox_delete(alloc, p.holes, hole_bytes);
  return st;
}
