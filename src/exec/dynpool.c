/* SPDX-License-Identifier: Apache-2.0
 * exec/dynpool.c - the smallest free block that fits and is not four times too large, else a new one. Under a limit
 * blocks fit exactly: what a run may use must not depend on what runs before it left here. */
#include "exec/dynpool.h"

#include "base/cksize.h"
#include "base/macros.h"

/* Free blocks kept under a limit, where every size has a block of its own. */
enum { MOST_EXACT = 64 };

void ox_dynpool_init_with(ox_dynpool *p, ox_alloc alloc, ox_alloc data) {
  *p = (ox_dynpool){.alloc = alloc, .data = data};
}

void ox_dynpool_init(ox_dynpool *p, ox_alloc alloc, ox_workspace *account) {
  *p = (ox_dynpool){.alloc = alloc, .data = alloc, .account = account};
}

static void free_block(ox_dynpool *p, const ox_dynblock *b) {
  ox_delete(p->data, b->data, b->bytes);
  if (p->account) ox_workspace_give(p->account, b->bytes);
}

void ox_dynpool_trim(ox_dynpool *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) {
    if (p->blocks[i].used)
      p->blocks[n++] = p->blocks[i];
    else
      free_block(p, &p->blocks[i]);
  }
  p->n = n;
}

void ox_dynpool_deinit(ox_dynpool *p) {
  ox_dynpool_give_all(p);
  ox_dynpool_trim(p);
  ox_delete(p->alloc, p->blocks, p->capacity * sizeof *p->blocks);
  p->blocks = NULL, p->capacity = 0;
}

static ox_dynblock *find(const ox_dynpool *p, size_t need, bool exact) {
  ox_dynblock *best = NULL;
  for (size_t i = 0; i < p->n; i++) {
    ox_dynblock *b = &p->blocks[i];
    bool fits = exact ? b->bytes == need : b->bytes >= need && (b->bytes / 4 <= need || b->bytes <= 4096);
    if (!b->used && fits && (!best || b->bytes < best->bytes)) best = b;
  }
  return best;
}

static ox_dynblock *add(ox_dynpool *p, size_t need) {
  void *blocks = p->blocks;
  if (!ox_grow(p->alloc, &blocks, &p->capacity, p->n, sizeof *p->blocks)) return NULL;
  p->blocks = blocks;
  if (p->account && !ox_workspace_take(p->account, need)) return NULL; /* this may have trimmed the pool */
  void *data = ox_new_aligned(p->data, need, OX_ALIGN_BYTES);
  if (!data && p->account) {
    p->account->trim(p->account->ctx);
    data = ox_new_aligned(p->data, need, OX_ALIGN_BYTES);
  }
  if (!data) {
    if (p->account) ox_workspace_give(p->account, need);
    return NULL;
  }
  p->blocks[p->n] = (ox_dynblock){data, need, false};
  return &p->blocks[p->n++];
}

void *ox_dynpool_take(ox_dynpool *p, size_t bytes) {
  size_t need;
  bool exact = p->account && p->account->limit;
  if (!ox_add_ok(bytes, OX_PAD_BYTES, &need)) return NULL;
  ox_dynblock *b = find(p, need, exact);
  if (!b && exact && p->n >= MOST_EXACT) ox_dynpool_trim(p);
  if (!b) b = add(p, need);
  if (!b) return NULL;
  b->used = true;
  return b->data;
}

void ox_dynpool_give(ox_dynpool *p, void *data) {
  for (size_t i = 0; data && i < p->n; i++)
    if (p->blocks[i].data == data) p->blocks[i].used = false;
}

void ox_dynpool_give_all(ox_dynpool *p) {
  for (size_t i = 0; i < p->n; i++) p->blocks[i].used = false;
}
