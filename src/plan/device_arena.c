/* SPDX-License-Identifier: Apache-2.0
 * plan/device_arena.c - see device_arena.h. One list of pieces, by region and address: the best free piece that fits is
 * cut, and free neighbours are merged. */
#include "plan/device_arena.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "onyx/onyx.h"

enum { FIRST_REGION = 1 << 20 };

typedef struct piece {
  char *data;
  size_t bytes;
  bool used, first; /* first: a region begins here */
} piece;

struct ox_device_arena {
  atomic_size_t refs;
  ox_alloc alloc;
  const ox_ep_api *api;
  ox_ep *ep;
  uint32_t memory;
  ox_device_arena_opts opts;
  size_t align, next_region;
  pthread_mutex_t lock; /* guards all below */
  piece *pieces;
  size_t n, capacity;
  ox_memory_stats stats;
};

ox_status *ox_device_arena_create(ox_alloc alloc, const ox_ep_api *api, ox_ep *ep, uint32_t memory,
                                  const ox_device_arena_opts *opts, ox_device_arena **out_arena) {
  ox_device_arena *a = *out_arena = ox_new_zeroed(alloc, sizeof *a);
  if (!a) return ox_oom();
  atomic_init(&a->refs, 1);
  a->alloc = alloc, a->api = api, a->ep = ep, a->memory = memory, a->opts = *opts;
  a->align = OX_MAX(api->memories[memory - 1].align, OX_ALIGN_BYTES), a->next_region = FIRST_REGION;
  a->stats.limit = opts->limit;
  pthread_mutex_init(&a->lock, NULL);
  return NULL;
}

ox_device_arena *ox_device_arena_retain(ox_device_arena *a) {
  if (a) atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
  return a;
}

/* ---- pieces ---- */

static ox_status *insert(ox_device_arena *a, size_t at, piece p) {
  void *pieces = a->pieces;
  if (!ox_grow(a->alloc, &pieces, &a->capacity, a->n, sizeof *a->pieces)) return ox_oom();
  a->pieces = pieces;
  memmove(&a->pieces[at + 1], &a->pieces[at], (a->n++ - at) * sizeof *a->pieces);
  a->pieces[at] = p;
  return NULL;
}

static void drop(ox_device_arena *a, size_t at) {
  memmove(&a->pieces[at], &a->pieces[at + 1], (--a->n - at) * sizeof *a->pieces);
}

static size_t best_fit(const ox_device_arena *a, size_t bytes) {
  size_t best = a->n;
  for (size_t i = 0; i < a->n; i++)
    if (!a->pieces[i].used && a->pieces[i].bytes >= bytes &&
        (best == a->n || a->pieces[i].bytes < a->pieces[best].bytes))
      best = i;
  return best;
}

static bool is_whole_region(const ox_device_arena *a, size_t i) {
  return a->pieces[i].first && (i + 1 == a->n || a->pieces[i + 1].first);
}

static void free_regions(ox_device_arena *a) {
  for (size_t i = a->n; i-- > 0;) {
    const piece p = a->pieces[i];
    if (p.used || !is_whole_region(a, i)) continue;
    drop(a, i);
    a->stats.total -= p.bytes, a->stats.n_shrinkages++;
    a->api->memory_free(a->ep, a->memory, p.data, p.bytes);
  }
}

/* ---- regions ---- */

static ox_status *try_region(ox_device_arena *a, size_t bytes, void **out_data) {
  *out_data = NULL;
  if (a->opts.limit && (bytes > a->opts.limit || a->stats.total > a->opts.limit - bytes))
    return ox_fail(OX_LIMIT, "wanted %zu bytes; %zu are in use, the limit is %zu", bytes, a->stats.in_use,
                   a->opts.limit);
  ox_status *st = a->api->memory_alloc(a->ep, a->memory, bytes, out_data);
  if (!st && !*out_data) st = ox_fail(OX_OUT_OF_MEMORY, "no memory");
  if (st) *out_data = NULL; /* whatever a failed call left there is ignored */
  return st;
}

/* A region for |bytes|: as large as the strategy says, else just as large, else after giving back what is free. */
static ox_status *extend(ox_device_arena *a, size_t bytes) {
  size_t sizes[] = {bytes, bytes, bytes};
  void *data = NULL;
  ox_status *st = NULL;
  if (a->opts.extend == OX_ARENA_NEXT_POWER_OF_TWO)
    for (sizes[0] = a->next_region; sizes[0] < bytes && sizes[0] <= SIZE_MAX / 4;) sizes[0] *= 2;
  size_t got = 0;
  for (size_t i = 0; i < OX_COUNT(sizes) && !data; i++) {
    if (sizes[i] < bytes || (i == 1 && sizes[0] == bytes)) continue;
    ox_status_free(st);
    if (i == 2) free_regions(a);
    st = try_region(a, got = sizes[i], &data);
  }
  if (st) return st;
  st = insert(a, a->n, (piece){data, got, false, true});
  if (st) {
    a->api->memory_free(a->ep, a->memory, data, got);
    return st;
  }
  if (got == sizes[0] && a->next_region <= SIZE_MAX / 4) a->next_region = OX_MAX(a->next_region, got) * 2;
  a->stats.total += got, a->stats.n_extensions++;
  return NULL;
}

static ox_status *take(ox_device_arena *a, size_t bytes, void **out_data) {
  size_t at = best_fit(a, bytes);
  if (at == a->n) OX_TRY(extend(a, bytes));
  at = best_fit(a, bytes);
  size_t rest = a->pieces[at].bytes - bytes;
  if (rest >= a->align) {
    OX_TRY(insert(a, at + 1, (piece){a->pieces[at].data + bytes, rest, false, false}));
    a->pieces[at].bytes = bytes;
  }
  a->pieces[at].used = true;
  *out_data = a->pieces[at].data;
  ox_memory_stats *s = &a->stats;
  s->in_use += a->pieces[at].bytes, s->n_allocs++;
  s->max_in_use = OX_MAX(s->max_in_use, s->in_use);
  s->max_alloc = OX_MAX(s->max_alloc, a->pieces[at].bytes);
  return NULL;
}

/* ---- calls ---- */

ox_status *ox_device_arena_take(ox_device_arena *a, size_t bytes, void **out_data) {
  *out_data = NULL;
  if (!bytes) return NULL;
  if (bytes > SIZE_MAX - a->align) return ox_fail(OX_LIMIT, "%zu bytes", bytes);
  pthread_mutex_lock(&a->lock);
  ox_status *st = take(a, OX_ROUND_UP(bytes, a->align), out_data);
  pthread_mutex_unlock(&a->lock);
  return st;
}

void ox_device_arena_give(ox_device_arena *a, void *data) {
  pthread_mutex_lock(&a->lock);
  size_t i = 0;
  while (data && i < a->n && a->pieces[i].data != data) i++;
  if (data && i < a->n && a->pieces[i].used) {
    a->pieces[i].used = false, a->stats.in_use -= a->pieces[i].bytes;
    if (i + 1 < a->n && !a->pieces[i + 1].used && !a->pieces[i + 1].first)
      a->pieces[i].bytes += a->pieces[i + 1].bytes, drop(a, i + 1);
    if (!a->pieces[i].first && !a->pieces[i - 1].used) a->pieces[i - 1].bytes += a->pieces[i].bytes, drop(a, i);
  }
  pthread_mutex_unlock(&a->lock);
}

void ox_device_arena_shrink(ox_device_arena *a) {
  pthread_mutex_lock(&a->lock);
  free_regions(a);
  a->next_region = FIRST_REGION;
  pthread_mutex_unlock(&a->lock);
}

void ox_device_arena_stats(ox_device_arena *a, ox_memory_stats *out) {
  pthread_mutex_lock(&a->lock);
  *out = a->stats;
  pthread_mutex_unlock(&a->lock);
}

void ox_device_arena_release(ox_device_arena *a) {
  /* acq_rel: the last holder sees every use by the others */
  if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
  for (size_t i = 0; i < a->n; i++) a->pieces[i].used = false; /* no user of a block is left */
  while (a->n) {
    size_t bytes = 0, end = a->n;
    size_t i = end - 1;
    while (!a->pieces[i].first) i--;
    for (size_t k = i; k < end; k++) bytes += a->pieces[k].bytes;
    a->api->memory_free(a->ep, a->memory, a->pieces[i].data, bytes);
    a->n = i;
  }
  ox_delete(a->alloc, a->pieces, a->capacity * sizeof *a->pieces);
  pthread_mutex_destroy(&a->lock);
  ox_delete(a->alloc, a, sizeof *a);
}
