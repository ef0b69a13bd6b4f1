/* SPDX-License-Identifier: Apache-2.0
 * device/lifetimes.c - offsets in work memory: largest first, each at the lowest offset that does not overlap a place
 * alive at the same time. */
#include <stdlib.h>

#include "base/cksize.h"
#include "base/macros.h"
#include "plugins/device/plan.h"

enum { ALIGN = 256 };

static bool is_work(const dev_place *at) { return at->kind == DEV_PLACE_WORK && at->first <= at->last && at->bytes; }

static int larger_first(const void *x, const void *y) {
  const dev_place *a = *(dev_place *const *)x, *b = *(dev_place *const *)y;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->first != b->first ? (a->first < b->first ? -1 : 1) : 0;
}

static int lower_first(const void *x, const void *y) {
  const dev_place *a = *(dev_place *const *)x, *b = *(dev_place *const *)y;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

/* The lowest free offset for |at| among those of |placed| with overlapping lifetimes; |beside| is scratch for them. */
static size_t offset_of(const dev_place *at, dev_place *const *placed, size_t n, dev_place **beside) {
  size_t m = 0, offset = 0;
  for (size_t i = 0; i < n; i++)
    if (placed[i]->first <= at->last && at->first <= placed[i]->last) beside[m++] = placed[i];
  qsort(beside, m, sizeof *beside, lower_first);
  for (size_t i = 0; i < m; i++) {
    if (beside[i]->offset >= offset + at->bytes) break;
    offset = OX_MAX(offset, OX_ROUND_UP(beside[i]->offset + beside[i]->bytes, (size_t)ALIGN));
  }
  return offset;
}

ox_status *dev_lifetimes_assign(dev_plan *p) {
  size_t n = 0, most = p->part->n_values + p->n_temps;
  dev_place **work = OX_ARENA_ARRAY(&p->zone, dev_place *, most),
            **beside = OX_ARENA_ARRAY(&p->zone, dev_place *, most);
  if (!work || !beside) return dev_no_memory(&p->part->ep->host);
  for (size_t v = 0; v < p->part->n_values; v++)
    if (is_work(&p->values[v])) work[n++] = &p->values[v];
  for (size_t t = 0; t < p->n_temps; t++)
    if (is_work(&p->temps[t])) work[n++] = &p->temps[t];
  qsort(work, n, sizeof *work, larger_first);
  for (size_t i = 0; i < n; i++) {
    size_t end;
    work[i]->offset = offset_of(work[i], work, i, beside);
    if (!ox_add_ok(work[i]->offset, OX_ROUND_UP(work[i]->bytes, (size_t)ALIGN), &end))
      return dev_no_memory(&p->part->ep->host);
    p->work_bytes = OX_MAX(p->work_bytes, end);
  }
  return NULL;
}
