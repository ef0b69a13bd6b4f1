/* SPDX-License-Identifier: Apache-2.0
 * base/arena.c - a list of blocks; big requests get a block of their own. */
#include "base/arena.h"

#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

struct ox_arena_block {
  ox_arena_block *next, *prev;
  size_t bytes; /* of the whole block, header included */
};

enum { HEADER = 64, FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

void ox_arena_init(ox_arena *a, ox_alloc alloc) { *a = (ox_arena){.alloc = alloc}; }

void ox_arena_deinit(ox_arena *a) {
  for (ox_arena_block *b = a->first, *next; b; b = next) {
    next = b->next;
    ox_delete(a->alloc, b, b->bytes);
  }
  *a = (ox_arena){.alloc = a->alloc};
}

void ox_arena_reset(ox_arena *a) { a->current = a->first, a->used = HEADER; }

ox_arena_place ox_arena_here(const ox_arena *a) { return (ox_arena_place){a->current, a->used}; }

void ox_arena_release(ox_arena *a, ox_arena_place place) {
  if (place.block)
    a->current = place.block, a->used = place.used;
  else
    ox_arena_reset(a);
}

/* The newest first: that is what is asked for. */
bool ox_arena_holds(const ox_arena *a, ox_arena_place place, const void *p) {
  uintptr_t at = (uintptr_t)p;
  for (const ox_arena_block *b = a->current; b; b = b->prev) {
    size_t from = b == place.block ? place.used : HEADER, end = b == a->current ? a->used : b->bytes;
    if (at >= (uintptr_t)b + from && at < (uintptr_t)b + end) return true;
    if (b == place.block) return false;
  }
  return false;
}

void ox_arena_trim(ox_arena *a) {
  ox_arena_block **at = a->current ? &a->current->next : &a->first;
  for (ox_arena_block *b = *at, *next; b; b = next) {
    next = b->next, a->total -= b->bytes;
    ox_delete(a->alloc, b, b->bytes);
  }
  *at = NULL;
}

static bool next_block(ox_arena *a, size_t need) {
  /* reuse a kept block that is large enough; smaller ones are skipped until the next reset */
  for (ox_arena_block *b = a->current ? a->current->next : NULL; b; b = b->next)
    if (b->bytes - HEADER >= need) {
      a->current = b, a->used = HEADER;
      return true;
    }
  size_t bytes, step = OX_MIN(OX_MAX(a->total, FIRST_BLOCK), LARGEST_STEP);
  if (!ox_add_ok(need, HEADER, &bytes)) return false;
  bytes = OX_MAX(bytes, OX_MAX(step, a->total / 16)); /* few blocks, so that ox_arena_holds is quick */
  ox_arena_block *b = ox_new_aligned(a->alloc, bytes, OX_ALIGN_BYTES);
  if (!b) return false;
  b->bytes = bytes, b->prev = a->current;
  if (a->current) {
    b->next = a->current->next, a->current->next = b;
  } else {
    b->next = a->first, a->first = b;
  }
  if (b->next) b->next->prev = b;
  a->current = b, a->used = HEADER, a->total += bytes;
  return true;
}

void *ox_arena_take(ox_arena *a, size_t bytes) {
  size_t align = bytes >= 64 ? 64 : 16, need;
  if (!ox_add_ok(bytes, OX_PAD_BYTES + 64, &need)) return NULL;
  size_t at = a->current ? OX_ROUND_UP(a->used, align) : 0;
  if (!a->current || at + bytes + OX_PAD_BYTES > a->current->bytes) {
    if (!next_block(a, need)) return NULL;
    at = OX_ROUND_UP(a->used, align);
  }
  a->used = at + bytes;
  return (char *)a->current + at;
}

void *ox_arena_alloc(ox_arena *a, size_t bytes) {
  void *p = ox_arena_take(a, bytes);
  return p ? memset(p, 0, bytes) : NULL;
}

void *ox_arena_array(ox_arena *a, size_t n, size_t item_bytes) {
  size_t bytes;
  return ox_mul_ok(n, item_bytes, &bytes) ? ox_arena_alloc(a, bytes) : NULL;
}

void *ox_arena_copy(ox_arena *a, const void *src, size_t bytes) {
  void *p = ox_arena_take(a, bytes);
  if (p && bytes) memcpy(p, src, bytes);
  return p;
}

char *ox_arena_str(ox_arena *a, const char *s, size_t n) {
  char *p = n == SIZE_MAX ? NULL : ox_arena_take(a, n + 1);
  if (p && n) memcpy(p, s, n);
  if (p) p[n] = 0;
  return p;
}
