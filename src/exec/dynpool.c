/* SPDX-License-Identifier: Apache-2.0
 * exec/dynpool.c - the smallest free block that fits and is not four times too large, else a new one. */
#include "exec/dynpool.h"

#include "base/cksize.h"
#include "base/macros.h"

void ox_dynpool_init_with(ox_dynpool *p, ox_alloc alloc, ox_alloc data) {
  *p = (ox_dynpool){.alloc = alloc, .data = data};
}

void ox_dynpool_init(ox_dynpool *p, ox_alloc alloc) { ox_dynpool_init_with(p, alloc, alloc); }

void ox_dynpool_deinit(ox_dynpool *p) {
  for (size_t i = 0; i < p->n; i++) ox_delete(p->data, p->blocks[i].data, p->blocks[i].bytes);
  ox_delete(p->alloc, p->blocks, p->capacity * sizeof *p->blocks);
  *p = (ox_dynpool){.alloc = p->alloc, .data = p->data};
}

void *ox_dynpool_take(ox_dynpool *p, size_t bytes) {
  size_t need;
  if (!ox_add_ok(bytes, OX_PAD_BYTES, &need)) return NULL;
  ox_dynblock *best = NULL;
  for (size_t i = 0; i < p->n; i++) {
    ox_dynblock *b = &p->blocks[i];
    bool fits = !b->used && b->bytes >= need && (b->bytes / 4 <= need || b->bytes <= 4096);
    if (fits && (!best || b->bytes < best->bytes)) best = b;
  }
  if (!best) {
    void *blocks = p->blocks;
    if (!ox_grow(p->alloc, &blocks, &p->capacity, p->n, sizeof *p->blocks)) return NULL;
    p->blocks = blocks;
    void *data = ox_new_aligned(p->data, need, OX_ALIGN_BYTES);
    if (!data) return NULL;
    best = &p->blocks[p->n++];
    *best = (ox_dynblock){data, need, false};
  }
  best->used = true;
  return best->data;
}

void ox_dynpool_give(ox_dynpool *p, void *data) {
  for (size_t i = 0; data && i < p->n; i++)
    if (p->blocks[i].data == data) p->blocks[i].used = false;
}

void ox_dynpool_give_all(ox_dynpool *p) {
  for (size_t i = 0; i < p->n; i++) p->blocks[i].used = false;
}
