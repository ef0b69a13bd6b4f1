/* SPDX-License-Identifier: Apache-2.0
 * task/spare.c - memory for tasks and calls. */
#include "task/spare.h"

#include <string.h>

#include "task/pool.h"
#include "task/task.h"
#include "task/try_lock.h"

/* Chunks of a few tasks at first; of 2 MiB when a program has many in flight, since the heap puts these on huge pages:
 * on small pages each task costs a page walk. Calls are smaller, so their chunks become large later. */
enum {
  LARGE_BYTES = 2 << 20,
  FEW_TASKS = 32,
  MANY_TASKS = 4096, /* in the pool: chunks get large */
  FEW_BLOCKS = 8,
  MANY_BLOCKS = 128
};

struct ox_chunk {
  struct ox_chunk *next;
  size_t bytes;
  uint32_t n_tasks; /* 0: a chunk of call blocks */
  _Alignas(OX_CACHE_LINE) unsigned char items[];
};

static ox_task *tasks_of(struct ox_chunk *c) { return (ox_task *)(void *)c->items; }

/* A chunk for |few| items of |item_bytes|, or a |large| one; *out_n: how many items it holds. */
static struct ox_chunk *new_chunk(size_t item_bytes, uint32_t few, bool large, uint32_t *out_n) {
  uint32_t n = large ? (uint32_t)((LARGE_BYTES - sizeof(struct ox_chunk)) / item_bytes) : few;
  size_t bytes = large ? LARGE_BYTES : sizeof(struct ox_chunk) + few * item_bytes;
  struct ox_chunk *chunk = ox_new_aligned(ox_alloc_heap(), bytes, OX_CACHE_LINE);
  if (!chunk) return NULL;
  chunk->bytes = bytes, chunk->n_tasks = 0;
  *out_n = n;
  return chunk;
}

/* Publishes a chunk whose items are initialised; destroy goes through them. */
static void keep_chunk(ox_pool *pool, struct ox_chunk *chunk) {
  chunk->next = atomic_load_explicit(&pool->chunks, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&pool->chunks, &chunk->next, chunk, memory_order_release,
                                                memory_order_relaxed)) {
  }
}

/* Locks the spares of queue |own| or, if that lock is taken, of a later one. */
static ox_spares *lock_spares(ox_pool *pool, uint32_t own) {
  for (uint32_t i = own, tries = 0;; i = (i + 1) % pool->n_queues) {
    if (ox_try_lock(&pool->spares[i].lock)) return &pool->spares[i];
    if (++tries % (4 * pool->n_queues) == 0) ox_thread_yield();
  }
}

static ox_task *get_spare(const ox_spares *s) { return atomic_load_explicit(&s->tasks, memory_order_relaxed); }

/* Lock held. */
static void set_spares(ox_spares *s, ox_task *first, uint32_t n) {
  atomic_store_explicit(&s->tasks, first, memory_order_relaxed);
  atomic_store_explicit(&s->n_tasks, n, memory_order_relaxed);
}

/* Puts a chain of |n| spares back. The queue is usually out of them, or the chain is one task. */
static void add_spares(ox_pool *pool, uint32_t own, ox_task *first, uint32_t n) {
  ox_spares *s = lock_spares(pool, own);
  if (get_spare(s)) {
    ox_task *last = first;
    while (last->next) last = last->next;
    last->next = get_spare(s);
  }
  set_spares(s, first, n + atomic_load_explicit(&s->n_tasks, memory_order_relaxed));
  ox_unlock(&s->lock);
}

static ox_task *new_tasks(ox_pool *pool, uint32_t own) {
  uint32_t n;
  bool large = atomic_load_explicit(&pool->n_tasks, memory_order_relaxed) >= MANY_TASKS;
  struct ox_chunk *chunk = new_chunk(sizeof(ox_task), FEW_TASKS, large, &n);
  if (!chunk) return NULL;
  ox_task *tasks = tasks_of(chunk);
  for (uint32_t i = 0; i < n; i++) {
    memset(&tasks[i], 0, offsetof(ox_task, own));
    tasks[i].next = i && i + 1 < n ? &tasks[i + 1] : NULL;
  }
  atomic_fetch_add_explicit(&pool->n_tasks, n, memory_order_relaxed);
  chunk->n_tasks = n;
  keep_chunk(pool, chunk);
  add_spares(pool, own, &tasks[1], n - 1);
  return &tasks[0];
}

/* One of our own spares. */
static ox_task *own_spare(ox_spares *s) {
  if (!get_spare(s) || !ox_try_lock(&s->lock)) return NULL;
  ox_task *t = get_spare(s);
  if (t) set_spares(s, t->next, atomic_load_explicit(&s->n_tasks, memory_order_relaxed) - 1);
  ox_unlock(&s->lock);
  if (t && t->next) OX_PREFETCH_WRITE(t->next);
  return t;
}

/* Moves all spares of another queue to our own, but for the one returned. */
static ox_task *fetch_spares(ox_pool *pool, uint32_t own, ox_spares *s) {
  if (!ox_try_lock(&s->lock)) return NULL;
  ox_task *t = get_spare(s);
  uint32_t n = atomic_load_explicit(&s->n_tasks, memory_order_relaxed);
  set_spares(s, NULL, 0);
  ox_unlock(&s->lock);
  if (t && t->next) add_spares(pool, own, t->next, n - 1);
  return t;
}

/* The submitter's spares end up with the threads that run its tasks. It takes them back all at once, and only if there
 * are enough to be worth it. */
ox_task *ox_spare_take_task(ox_pool *pool, uint32_t own) {
  ox_task *t = own_spare(&pool->spares[own]);
  if (OX_LIKELY(t != NULL)) return t;
  for (uint32_t k = 1; k < pool->n_queues; k++) {
    ox_spares *s = &pool->spares[(own + k) % pool->n_queues];
    if (atomic_load_explicit(&s->n_tasks, memory_order_relaxed) < FEW_TASKS) continue;
    if ((t = fetch_spares(pool, own, s))) return t;
  }
  return new_tasks(pool, own);
}

void ox_spare_give_task(ox_pool *pool, uint32_t own, ox_task *task) {
  ox_spares *s = lock_spares(pool, own);
  task->next = get_spare(s);
  set_spares(s, task, atomic_load_explicit(&s->n_tasks, memory_order_relaxed) + 1);
  ox_unlock(&s->lock);
}

static void add_block(ox_spares *s, ox_call_block *block) { block->next = s->blocks, s->blocks = block; }

static ox_call_block *new_blocks(ox_pool *pool, uint32_t own) {
  uint32_t n;
  bool large = atomic_load_explicit(&pool->n_blocks, memory_order_relaxed) >= MANY_BLOCKS;
  struct ox_chunk *chunk = new_chunk(sizeof(ox_call_block), FEW_BLOCKS, large, &n);
  if (!chunk) return NULL;
  ox_call_block *blocks = (ox_call_block *)(void *)chunk->items;
  atomic_fetch_add_explicit(&pool->n_blocks, n, memory_order_relaxed);
  keep_chunk(pool, chunk);
  ox_spares *s = lock_spares(pool, own);
  for (uint32_t i = n; i-- > 0;) {
    blocks[i].home = own, blocks[i].begin = blocks[i].end = 0;
    if (i) add_block(s, &blocks[i]);
  }
  ox_unlock(&s->lock);
  return &blocks[0];
}

ox_call_block *ox_spare_take_block(ox_pool *pool, uint32_t own) {
  ox_spares *s = lock_spares(pool, own);
  ox_call_block *block = s->blocks;
  if (block) s->blocks = block->next;
  ox_unlock(&s->lock);
  return block ? block : new_blocks(pool, own);
}

void ox_spare_give_block(ox_pool *pool, ox_call_block *block) {
  if (!block) return;
  ox_spares *s = lock_spares(pool, block->home);
  add_block(s, block);
  ox_unlock(&s->lock);
}

void ox_spare_free_all(ox_pool *pool, void (*discard)(ox_task *task)) {
  struct ox_chunk *chunk = atomic_load_explicit(&pool->chunks, memory_order_acquire);
  while (chunk) {
    struct ox_chunk *next = chunk->next;
    for (uint32_t i = 0; i < chunk->n_tasks; i++) discard(&tasks_of(chunk)[i]);
    ox_delete(ox_alloc_heap(), chunk, chunk->bytes);
    chunk = next;
  }
}
