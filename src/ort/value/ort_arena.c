/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_arena.c - a best-fit allocator with coalescing. A region is divided into chunks of multiples of 256
 * bytes, one next to the other; a free chunk never has a free neighbour, so the largest hole is a chunk. Free chunks
 * lie in bins by the power of two below their size, sorted, so that the first that fits is the best. What describes
 * chunks is not in the regions: a client that writes past its end breaks nobody's lists. */
#include "ort/value/ort_arena.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "ort/ort_pairs.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"

enum { UNIT = 256, N_BINS = 21 };

typedef struct chunk {
  char *p;
  size_t bytes;
  size_t requested;              /* by the client; 0: free */
  struct chunk *before, *behind; /* in the region */
  struct chunk *prev, *next;     /* in the bin, if free */
} chunk;

typedef struct region {
  struct region *next; /* in the order in which they were made */
  char *base;
  size_t bytes;
  bool first;
  chunk *at[]; /* by unit: the chunk that begins there, or NULL */
} region;

typedef struct reserved {
  struct reserved *next;
  void *p;
  size_t bytes;
} reserved;

struct ort_arena {
  size_t refs; /* under |lock|, as all that follows */
  pthread_mutex_t lock;
  OrtArenaCfg config;
  size_t next_region; /* its bytes, if they double */
  bool had_region;
  region *regions;
  reserved *reserved;
  chunk *bins[N_BINS];
  size_t in_use, requested, total, region_bytes, max_in_use, max_alloc;
  size_t n_allocs, n_reserves, n_extensions, n_shrinkages;
};

/* ---- bins ---- */

static size_t bin_of(size_t bytes) {
  size_t b = 0;
  for (size_t units = bytes / UNIT; units > 1 && b < N_BINS - 1; units /= 2) b++;
  return b;
}

static void bin_insert(ort_arena *a, chunk *c) {
  chunk *prev = NULL, *next = a->bins[bin_of(c->bytes)];
  while (next != NULL && (next->bytes < c->bytes || (next->bytes == c->bytes && next->p < c->p)))
    prev = next, next = next->next;
  c->prev = prev, c->next = next;
  if (next != NULL) next->prev = c;
  if (prev != NULL)
    prev->next = c;
  else
    a->bins[bin_of(c->bytes)] = c;
}

static void bin_remove(ort_arena *a, chunk *c) {
  if (c->next != NULL) c->next->prev = c->prev;
  if (c->prev != NULL)
    c->prev->next = c->next;
  else
    a->bins[bin_of(c->bytes)] = c->next;
}

static chunk *find_fit(const ort_arena *a, size_t bytes) {
  for (size_t b = bin_of(bytes); b < N_BINS; b++)
    for (chunk *c = a->bins[b]; c != NULL; c = c->next)
      if (c->bytes >= bytes) return c;
  return NULL;
}

/* ---- regions ---- */

static region *region_of(const ort_arena *a, const void *p) {
  region *r = a->regions;
  while (r != NULL && ((uintptr_t)p < (uintptr_t)r->base || (uintptr_t)p >= (uintptr_t)r->base + r->bytes)) r = r->next;
  return r;
}

static chunk **slot_of(region *r, const char *p) { return &r->at[(size_t)(p - r->base) / UNIT]; }

static void region_free(region *r) {
  for (size_t i = 0; i < r->bytes / UNIT; i++) free(r->at[i]);
  free(r->base);
  free(r);
}

/* A region of one free chunk. */
static region *region_make(size_t bytes) {
  size_t n = bytes / UNIT;
  region *r = calloc(1, sizeof *r + n * sizeof *r->at);
  chunk *c = calloc(1, sizeof *c);
  char *base = aligned_alloc(UNIT, bytes);
  if (r == NULL || c == NULL || base == NULL) {
    free(r);
    free(c);
    free(base);
    return NULL;
  }
  *c = (chunk){.p = base, .bytes = bytes};
  r->base = base, r->bytes = bytes, r->at[0] = c;
  return r;
}

/* |*out| is |bytes| in whole units. */
static bool round_up(size_t bytes, size_t *out) {
  bool fits = ort_add_ok(bytes, UNIT - 1, out);
  *out &= ~(size_t)(UNIT - 1);
  return fits && *out < SIZE_MAX / 4;
}

static size_t room_left(const ort_arena *a) {
  size_t left = a->config.max_mem > a->region_bytes ? a->config.max_mem - a->region_bytes : 0;
  return left & ~(size_t)(UNIT - 1);
}

/* The bytes of a region that has room for |wanted|; the one after it will be larger. */
static size_t next_region(ort_arena *a, size_t wanted) {
  size_t left = room_left(a);
  if (a->config.strategy == ORT_ARENA_AS_REQUESTED) return wanted;
  bool grown = a->next_region < wanted;
  while (a->next_region < wanted) a->next_region *= 2;
  size_t bytes = a->next_region < left ? a->next_region : left;
  if (!grown && a->next_region < a->config.max_extend) a->next_region *= 2;
  return bytes;
}

/* One more region, if limit and system allow. A system with little left is asked for less and less. */
static bool extend(ort_arena *a, size_t wanted) {
  if (wanted > room_left(a)) return false;
  size_t bytes = next_region(a, wanted);
  region *r = region_make(bytes);
  while (r == NULL && (bytes = (bytes / 10 * 9) & ~(size_t)(UNIT - 1)) >= wanted) r = region_make(bytes);
  if (r == NULL) return false;
  region **end = &a->regions;
  while (*end != NULL) end = &(*end)->next;
  *end = r;
  r->first = !a->had_region, a->had_region = true;
  a->total += bytes, a->region_bytes += bytes, a->n_extensions++;
  bin_insert(a, r->at[0]);
  return true;
}

/* ---- chunks ---- */

/* What is behind the first |bytes| of |c| becomes a free chunk. Without memory for it the chunk stays as it is. */
static void split(ort_arena *a, chunk *c, size_t bytes) {
  chunk *rest = calloc(1, sizeof *rest);
  if (rest == NULL) return;
  *rest = (chunk){.p = c->p + bytes, .bytes = c->bytes - bytes, .before = c, .behind = c->behind};
  if (c->behind != NULL) c->behind->before = rest;
  c->behind = rest, c->bytes = bytes;
  *slot_of(region_of(a, rest->p), rest->p) = rest;
  bin_insert(a, rest);
}

/* |c| gets the chunk behind it, which is in no bin. */
static void join(ort_arena *a, chunk *c) {
  chunk *behind = c->behind;
  c->bytes += behind->bytes, c->behind = behind->behind;
  if (c->behind != NULL) c->behind->before = c;
  *slot_of(region_of(a, behind->p), behind->p) = NULL;
  free(behind);
}

static void count_alloc(ort_arena *a, size_t bytes, size_t requested) {
  a->in_use += bytes, a->requested += requested, a->n_allocs++;
  if (a->in_use > a->max_in_use) a->max_in_use = a->in_use;
  if (bytes > a->max_alloc) a->max_alloc = bytes;
}

void *ort_arena_alloc(ort_arena *a, size_t bytes) {
  size_t rounded;
  if (bytes == 0 || !round_up(bytes, &rounded)) return NULL;
  pthread_mutex_lock(&a->lock);
  chunk *c = find_fit(a, rounded);
  if (c == NULL && extend(a, rounded)) c = find_fit(a, rounded);
  if (c != NULL) {
    bin_remove(a, c);
    if (c->bytes / 2 >= rounded || c->bytes - rounded >= a->config.max_dead_bytes)
      if (c->bytes > rounded) split(a, c, rounded);
    c->requested = bytes;
    count_alloc(a, c->bytes, bytes);
  }
  pthread_mutex_unlock(&a->lock);
  return c != NULL ? c->p : NULL;
}

static void free_chunk(ort_arena *a, chunk *c) {
  a->in_use -= c->bytes, a->requested -= c->requested;
  c->requested = 0;
  if (c->behind != NULL && c->behind->requested == 0) {
    bin_remove(a, c->behind);
    join(a, c);
  }
  if (c->before != NULL && c->before->requested == 0) {
    c = c->before;
    bin_remove(a, c);
    join(a, c);
  }
  bin_insert(a, c);
}

void *ort_arena_reserve(ort_arena *a, size_t bytes) {
  size_t rounded;
  if (bytes == 0 || !round_up(bytes, &rounded)) return NULL;
  reserved *r = malloc(sizeof *r);
  void *p = r != NULL ? aligned_alloc(UNIT, rounded) : NULL;
  if (p == NULL) {
    free(r);
    return NULL;
  }
  pthread_mutex_lock(&a->lock);
  *r = (reserved){a->reserved, p, bytes};
  a->reserved = r;
  a->total += bytes, a->n_reserves++;
  count_alloc(a, bytes, bytes);
  pthread_mutex_unlock(&a->lock);
  return p;
}

static void free_reserved(ort_arena *a, const void *p) {
  for (reserved **at = &a->reserved; *at != NULL; at = &(*at)->next) {
    reserved *r = *at;
    if (r->p != p) continue;
    *at = r->next;
    a->in_use -= r->bytes, a->requested -= r->bytes, a->total -= r->bytes;
    free(r->p);
    free(r);
    return;
  }
}

void ort_arena_free(ort_arena *a, void *p) {
  if (p == NULL) return;
  pthread_mutex_lock(&a->lock);
  region *r = region_of(a, p);
  chunk *c = r != NULL ? *slot_of(r, p) : NULL;
  if (c != NULL && c->p == p && c->requested > 0)
    free_chunk(a, c);
  else if (r == NULL)
    free_reserved(a, p);
  pthread_mutex_unlock(&a->lock);
}

void ort_arena_shrink(ort_arena *a) {
  pthread_mutex_lock(&a->lock);
  for (region **at = &a->regions; *at != NULL;) {
    region *r = *at;
    chunk *c = r->at[0];
    bool kept = r->first && a->config.strategy == ORT_ARENA_DOUBLE;
    if (kept || c->requested > 0 || c->bytes < r->bytes) {
      at = &r->next;
      continue;
    }
    *at = r->next;
    bin_remove(a, c);
    a->total -= r->bytes, a->region_bytes -= r->bytes, a->n_shrinkages++;
    region_free(r);
  }
  a->next_region = a->config.initial_growth_chunk;
  pthread_mutex_unlock(&a->lock);
}

/* ---- the arena ---- */

OrtArenaCfg ort_arena_config(void) {
  return (OrtArenaCfg){.max_mem = SIZE_MAX,
                       .strategy = ORT_ARENA_DOUBLE,
                       .initial_chunk = (size_t)1 << 20,
                       .max_dead_bytes = (size_t)128 << 20,
                       .initial_growth_chunk = (size_t)2 << 20,
                       .max_extend = (size_t)1 << 30};
}

OrtStatus *ort_arena_create(const OrtArenaCfg *config, ort_arena **out) {
  ort_arena *a = calloc(1, sizeof *a);
  *out = a;
  if (a == NULL) return ort_out_of_memory();
  a->refs = 1, a->config = config != NULL ? *config : ort_arena_config();
  OrtArenaCfg *c = &a->config;
  if (!round_up(c->initial_chunk, &c->initial_chunk) || c->initial_chunk == 0) c->initial_chunk = UNIT;
  if (!round_up(c->initial_growth_chunk, &c->initial_growth_chunk) || c->initial_growth_chunk == 0)
    c->initial_growth_chunk = UNIT;
  a->next_region = c->initial_chunk;
  pthread_mutex_init(&a->lock, NULL);
  return NULL;
}

ort_arena *ort_arena_retain(ort_arena *a) {
  pthread_mutex_lock(&a->lock);
  a->refs++;
  pthread_mutex_unlock(&a->lock);
  return a;
}

void ort_arena_release(ort_arena *a) {
  if (a == NULL) return;
  pthread_mutex_lock(&a->lock);
  bool last = --a->refs == 0;
  pthread_mutex_unlock(&a->lock);
  if (!last) return;
  for (region *r = a->regions, *next; r != NULL; r = next) {
    next = r->next;
    region_free(r);
  }
  while (a->reserved != NULL) free_reserved(a, a->reserved->p);
  pthread_mutex_destroy(&a->lock);
  free(a);
}

OrtStatus *ort_arena_stats(ort_arena *a, OrtKeyValuePairs **out) {
  ORT_TRY(ort_pairs_create(out));
  pthread_mutex_lock(&a->lock);
  const struct {
    const char *key;
    int64_t value;
  } rows[] = {{"InUse", (int64_t)a->in_use},
              {"Limit", (int64_t)a->config.max_mem}, /* -1: none */
              {"MaxAllocSize", (int64_t)a->max_alloc},
              {"MaxInUse", (int64_t)a->max_in_use},
              {"NumAllocs", (int64_t)a->n_allocs},
              {"NumArenaExtensions", (int64_t)a->n_extensions},
              {"NumArenaShrinkages", (int64_t)a->n_shrinkages},
              {"NumReserves", (int64_t)a->n_reserves},
              {"RequestedInUse", (int64_t)a->requested},
              {"TotalAllocated", (int64_t)a->total}};
  pthread_mutex_unlock(&a->lock);
  OrtStatus *st = NULL;
  for (size_t i = 0; st == NULL && i < sizeof rows / sizeof *rows; i++) {
    char value[24];
    snprintf(value, sizeof value, "%lld", (long long)rows[i].value);
    st = ort_pairs_set(*out, rows[i].key, value);
  }
  if (st == NULL) return NULL;
  ort_pairs_deinit(*out);
  free(*out);
  *out = NULL;
  return st;
}

OrtStatus *ort_arena_refusal(ort_arena *a, size_t bytes) {
  size_t rounded;
  pthread_mutex_lock(&a->lock);
  size_t left = room_left(a), limit = a->config.max_mem, used = a->region_bytes;
  pthread_mutex_unlock(&a->lock);
  if (limit != SIZE_MAX && (!round_up(bytes, &rounded) || rounded > left))
    return ort_fail(ORT_FAIL, "the arena has no %zu bytes: its limit, max_mem, is %zu, its regions have %zu", bytes,
                    limit, used);
  return ort_fail(ORT_RUNTIME_EXCEPTION, "out of memory: the arena has no %zu bytes", bytes);
}
