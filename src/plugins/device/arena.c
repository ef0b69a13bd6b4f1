/* SPDX-License-Identifier: Apache-2.0
 * device/arena.c - see arena.h. Chunks are a list; the first free one that fits is cut. There are few: weights, slabs
 * of sessions, work memory of streams. */
#include "plugins/device/arena.h"

#include "base/alloc.h"
#include "base/cksize.h"
#include "base/macros.h"
#include "plugins/device/core.h"

enum { FIRST_BLOCK = 1 << 20 };

struct dev_chunk {
  dev_chunk *next;
  char *address;
  size_t bytes;
  bool taken, first; /* first: the block begins here */
};

ox_status *dev_arena_init(dev_arena *a, const ox_ep_host *host, dev_device *d, size_t limit, dev_extend extend) {
  *a = (dev_arena){.host = host, .device = d, .limit = limit, .extend = extend, .next_block = FIRST_BLOCK};
  a->align = OX_MAX(dev_the_driver.info(d)->align, 256u);
  if (pthread_mutex_init(&a->lock, NULL)) return dev_fail(host, OX_FAIL, "a lock cannot be made");
  return NULL;
}

/* Runs take and give the same again and again: the bookkeeping is kept. */
static dev_chunk *chunk_new(dev_arena *a) {
  dev_chunk *c = a->spare;
  if (!c) return ox_new_zeroed(a->host->alloc, sizeof *c);
  a->spare = c->next;
  return c;
}

static void chunk_free(dev_arena *a, dev_chunk *c) { c->next = a->spare, a->spare = c; }

/* A whole block: the next chunk begins another one. */
static bool is_block(const dev_chunk *c) { return c->first && (!c->next || c->next->first); }

void dev_arena_shrink(dev_arena *a) {
  pthread_mutex_lock(&a->lock);
  for (dev_chunk **at = &a->chunks; *at;) {
    dev_chunk *c = *at;
    if (c->taken || !is_block(c)) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    a->total -= c->bytes;
    dev_the_driver.free(a->device, c->address, c->bytes);
    chunk_free(a, c);
  }
  pthread_mutex_unlock(&a->lock);
}

void dev_arena_deinit(dev_arena *a) {
  if (!a->host) return;
  dev_arena_shrink(a);
  for (dev_chunk *next, *c = a->spare; c; c = next) {
    next = c->next;
    ox_delete(a->host->alloc, c, sizeof *c);
  }
  pthread_mutex_destroy(&a->lock);
}

/* Cuts |bytes| off the front of |c|; what is left is a chunk of its own if there is memory for its bookkeeping. */
static void cut(dev_arena *a, dev_chunk *c, size_t bytes) {
  dev_chunk *rest = c->bytes > bytes ? chunk_new(a) : NULL;
  c->taken = true;
  if (!rest) return;
  *rest = (dev_chunk){c->next, c->address + bytes, c->bytes - bytes, false, false};
  c->next = rest, c->bytes = bytes;
}

/* Of the block to add: what the strategy says, but no more than the limit leaves. */
static size_t block_bytes(const dev_arena *a, size_t bytes) {
  size_t want = a->extend == DEV_SAME_AS_REQUESTED ? bytes : OX_MAX(bytes, a->next_block);
  size_t room = a->limit ? a->limit - OX_MIN(a->limit, a->total) : SIZE_MAX;
  return OX_MAX(bytes, OX_MIN(want, room / a->align * a->align));
}

static ox_status *add_block(dev_arena *a, size_t bytes, dev_chunk **out) {
  size_t block = block_bytes(a, bytes);
  void *address = NULL;
  if (a->limit && (bytes > a->limit || a->total > a->limit - bytes))
    return dev_fail(a->host, OX_OUT_OF_MEMORY, "%zu bytes of device memory: %zu of at most %zu are in use", bytes,
                    a->taken, a->limit);
  dev_chunk *c = chunk_new(a);
  if (!c) return dev_no_memory(a->host);
  ox_status *st = dev_the_driver.alloc(a->device, block, &address);
  if (st && block > bytes) { /* less will do */
    ox_status *again = dev_the_driver.alloc(a->device, block = bytes, &address);
    if (!again) a->host->log_text(a->host, 0, "device: the arena grows by what is asked for only");
    a->host->status_free(st);
    st = again;
  }
  if (st) {
    chunk_free(a, c);
    return st;
  }
  *c = (dev_chunk){NULL, address, block, false, true};
  dev_chunk **at = &a->chunks;
  while (*at) at = &(*at)->next;
  *at = c;
  a->total += block;
  if (block >= a->next_block && a->next_block <= SIZE_MAX / 4) a->next_block *= 2;
  *out = c;
  return NULL;
}

static ox_status *take(dev_arena *a, size_t bytes, void **out_address) {
  dev_chunk *c = a->chunks;
  while (c && (c->taken || c->bytes < bytes)) c = c->next;
  if (!c) DEV_TRY(add_block(a, bytes, &c));
  cut(a, c, bytes);
  a->taken += c->bytes;
  a->most_taken = OX_MAX(a->most_taken, a->taken);
  *out_address = c->address;
  return NULL;
}

ox_status *dev_arena_take(dev_arena *a, size_t bytes, void **out_address) {
  size_t rounded;
  if (!ox_add_ok(OX_MAX(bytes, 1u), a->align - 1, &rounded)) return dev_no_memory(a->host);
  pthread_mutex_lock(&a->lock);
  ox_status *st = take(a, rounded / a->align * a->align, out_address);
  pthread_mutex_unlock(&a->lock);
  return st;
}

/* Joins |c| with the free chunk behind it, of the same block. */
static void join(dev_arena *a, dev_chunk *c) {
  dev_chunk *next = c->next;
  if (c->taken || !next || next->taken || next->first) return;
  c->bytes += next->bytes, c->next = next->next;
  chunk_free(a, next);
}

void dev_arena_give(dev_arena *a, void *address) {
  if (!address) return;
  pthread_mutex_lock(&a->lock);
  dev_chunk *before = NULL, *c = a->chunks;
  while (c && c->address != address) before = c, c = c->next;
  if (c && c->taken) {
    c->taken = false;
    a->taken -= c->bytes;
    join(a, c);
    if (before && !c->first) join(a, before);
  }
  pthread_mutex_unlock(&a->lock);
}
