/* SPDX-License-Identifier: Apache-2.0
 * plan/pack_room.c - see pack_room.h. A shared block is as large as all before it together, so at most half of the
 * memory is unused, and that is untouched except for a huge page. */
#include "plan/pack_room.h"

#include "base/cksize.h"
#include "base/huge_pages.h"
#include "base/macros.h"

typedef struct ox_pack_block {
  struct ox_pack_block *next;
  char *data;
  size_t bytes, touched; /* the end of the pages that are mapped */
} ox_pack_block;

enum {
  LEAST = 256 << 10,
  MOST = 8 << 20,
  ALONE = 2 << 20 /* from this size on, a block of its own, since the rest of a shared one would be too large */
};

void ox_pack_room_init(ox_pack_room *r, ox_alloc alloc) {
  *r = (ox_pack_room){.alloc = alloc};
  pthread_mutex_init(&r->lock, NULL);
}

void ox_pack_room_deinit(ox_pack_room *r) {
  for (ox_pack_block *b = r->blocks, *next; b; b = next) {
    next = b->next;
    ox_delete(r->alloc, b->data, b->bytes);
    ox_delete(r->alloc, b, sizeof *b);
  }
  pthread_mutex_destroy(&r->lock);
}

static ox_pack_block *add_block(ox_pack_room *r, size_t bytes) {
  ox_pack_block *b = ox_new(r->alloc, sizeof *b);
  if (!b) return NULL;
  *b = (ox_pack_block){r->blocks, ox_new_aligned(r->alloc, bytes, OX_ALIGN_BYTES), bytes, 0};
  if (b->data) {
    r->blocks = b;
    return b;
  }
  ox_delete(r->alloc, b, sizeof *b);
  return NULL;
}

/* Forms of a block are packed in the order in which they were taken, or nearly so. */
void ox_pack_room_touch(ox_pack_room *r, void *p, size_t bytes) {
  pthread_mutex_lock(&r->lock);
  ox_pack_block *b = r->blocks;
  while (b && !((char *)p >= b->data && (char *)p < b->data + b->bytes)) b = b->next;
  size_t end = b ? (size_t)((char *)p - b->data) + bytes : 0;
  if (b && end > b->touched) {
    size_t more = OX_MIN(OX_ROUND_UP(end - b->touched, (size_t)OX_HUGE_PAGE_BYTES), b->bytes - b->touched);
    ox_huge_pages_touch(b->data + b->touched, more);
    b->touched += more;
  }
  pthread_mutex_unlock(&r->lock);
}

static void *take(ox_pack_room *r, size_t bytes) {
  ox_pack_block *b = NULL;
  if (bytes > r->left && bytes < ALONE) {
    b = add_block(r, OX_MAX(OX_MIN(OX_MAX(r->total, (size_t)LEAST), (size_t)MOST), bytes));
    if (b) r->at = b->data, r->left = b->bytes, r->total += b->bytes;
  }
  if (bytes > r->left) {
    b = add_block(r, bytes);
    return b ? b->data : NULL;
  }
  r->at += bytes, r->left -= bytes;
  return r->at - bytes;
}

void *ox_pack_room_take(ox_pack_room *r, size_t bytes) {
  size_t rounded;
  if (!ox_add_ok(OX_MAX(bytes, (size_t)1), OX_ALIGN_BYTES - 1, &rounded)) return NULL;
  pthread_mutex_lock(&r->lock);
  void *p = take(r, rounded & ~(size_t)(OX_ALIGN_BYTES - 1));
  pthread_mutex_unlock(&r->lock);
  return p;
}
