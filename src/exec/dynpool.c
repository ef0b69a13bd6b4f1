/* SPDX-License-Identifier: Apache-2.0
 * exec/dynpool.c - the smallest free block that fits and is not four times too large, else a new one, with room to grow
 * where sizes have grown: what a loop appends to would else leave a block of every size behind. Under a limit
 * blocks fit exactly: what a run may use must not depend on what runs before it left here. */
#include "exec/dynpool.h"

#include "base/cksize.h"
#include "base/macros.h"

/* Free blocks kept under a limit, where every size has a block of its own. */
enum { MOST_EXACT = 64 };

void ox_dynpool_init_with(ox_dynpool *p, ox_alloc alloc, ox_alloc data) {
  *p = (ox_dynpool){.alloc = alloc, .data = data, .first_free = OX_NONE};
}

void ox_dynpool_init(ox_dynpool *p, ox_alloc alloc, ox_workspace *account) {
  ox_dynpool_init_with(p, alloc, alloc);
  p->account = account;
}

/* ---- blocks by address ---- */

static void put_index(ox_dynpool *p, uint32_t block) {
  const void *data = p->blocks[block].data;
  size_t i = (size_t)ox_hash(&data, sizeof data, 0) & (p->n_index - 1);
  while (p->index[i] != OX_NONE) i = (i + 1) & (p->n_index - 1);
  p->index[i] = block;
}

static void fill_index(ox_dynpool *p) {
  for (size_t i = 0; i < p->n_index; i++) p->index[i] = OX_NONE;
  for (size_t i = 0; i < p->n; i++) put_index(p, (uint32_t)i);
}

/* Room for one more block. */
static bool grow_index(ox_dynpool *p) {
  if (2 * (p->n + 1) <= p->n_index) return true;
  size_t n = p->n_index ? 2 * p->n_index : 16;
  uint32_t *index = p->n < OX_NONE ? ox_new(p->alloc, n * sizeof *index) : NULL;
  if (!index) return false;
  ox_delete(p->alloc, p->index, p->n_index * sizeof *p->index);
  p->index = index, p->n_index = n;
  fill_index(p);
  return true;
}

static uint32_t block_of(const ox_dynpool *p, const void *data) {
  if (!p->n_index) return OX_NONE;
  size_t i = (size_t)ox_hash(&data, sizeof data, 0) & (p->n_index - 1);
  while (p->index[i] != OX_NONE && p->blocks[p->index[i]].data != data) i = (i + 1) & (p->n_index - 1);
  return p->index[i];
}

/* ---- free blocks ---- */

static void set_free(ox_dynpool *p, uint32_t block) {
  p->blocks[block].used = false;
  p->blocks[block].next = p->first_free, p->first_free = block, p->n_free++;
}

static void free_block(ox_dynpool *p, const ox_dynblock *b) {
  ox_delete(p->data, b->data, b->bytes);
  if (p->account) ox_workspace_give(p->account, b->bytes);
}

void ox_dynpool_trim(ox_dynpool *p) {
  size_t n = 0;
  if (!p->n_free) return;
  for (size_t i = 0; i < p->n; i++) {
    if (p->blocks[i].used)
      p->blocks[n++] = p->blocks[i];
    else
      free_block(p, &p->blocks[i]);
  }
  p->n = n, p->n_free = 0, p->first_free = OX_NONE;
  fill_index(p);
}

void ox_dynpool_deinit(ox_dynpool *p) {
  ox_dynpool_give_all(p);
  ox_dynpool_trim(p);
  ox_delete(p->alloc, p->blocks, p->capacity * sizeof *p->blocks);
  ox_delete(p->alloc, p->index, p->n_index * sizeof *p->index);
  p->blocks = NULL, p->capacity = 0, p->index = NULL, p->n_index = 0;
}

/* The smallest free block that fits, out of the list; one of just this size ends the search. */
static ox_dynblock *take_free(ox_dynpool *p, size_t need, bool exact) {
  uint32_t *at = &p->first_free, *best = NULL;
  for (; *at != OX_NONE && !(best && p->blocks[*best].bytes == need); at = &p->blocks[*at].next) {
    const ox_dynblock *b = &p->blocks[*at];
    bool fits = exact ? b->bytes == need : b->bytes >= need && (b->bytes / 4 <= need || b->bytes <= 4096);
    if (fits && (!best || b->bytes < p->blocks[*best].bytes)) best = at;
  }
  if (!best) return NULL;
  ox_dynblock *b = &p->blocks[*best];
  *best = b->next, p->n_free--;
  return b;
}

/* Two free blocks are a little too small: half as much again, so that the sizes of a growing value are few. */
static size_t with_room(const ox_dynpool *p, size_t need) {
  size_t room, n = 0;
  for (uint32_t i = p->first_free; i != OX_NONE && n < 2; i = p->blocks[i].next)
    n += p->blocks[i].bytes < need && p->blocks[i].bytes >= need / 2;
  return n == 2 && ox_add_ok(need, need / 2, &room) ? OX_ROUND_UP(room, OX_ALIGN_BYTES) : need;
}

static ox_dynblock *add(ox_dynpool *p, size_t need) {
  void *blocks = p->blocks;
  if (!grow_index(p) || !ox_grow(p->alloc, &blocks, &p->capacity, p->n, sizeof *p->blocks)) return NULL;
  p->blocks = blocks;
  if (p->account && !ox_workspace_take(p->account, need)) return NULL; /* this may have trimmed the pool */
  void *data = ox_workspace_new(p->account, p->data, need);
  if (!data) {
    if (p->account) ox_workspace_give(p->account, need);
    return NULL;
  }
  p->blocks[p->n] = (ox_dynblock){data, need, false, OX_NONE};
  put_index(p, (uint32_t)p->n);
  return &p->blocks[p->n++];
}

void *ox_dynpool_take(ox_dynpool *p, size_t bytes) {
  size_t need;
  bool exact = p->account && p->account->limit;
  if (!ox_add_ok(bytes, OX_PAD_BYTES, &need)) return NULL;
  ox_dynblock *b = take_free(p, need, exact);
  if (!b && exact && p->n_free >= MOST_EXACT) ox_dynpool_trim(p);
  if (!b) b = add(p, exact ? need : with_room(p, need));
  if (!b) return NULL;
  b->used = true;
  return b->data;
}

void ox_dynpool_give(ox_dynpool *p, void *data) {
  uint32_t i = data ? block_of(p, data) : OX_NONE;
  if (i != OX_NONE && p->blocks[i].used) set_free(p, i);
}

void ox_dynpool_give_all(ox_dynpool *p) {
  for (size_t i = p->n; i-- > 0;)
    if (p->blocks[i].used) set_free(p, (uint32_t)i);
}
