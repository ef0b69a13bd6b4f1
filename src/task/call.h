/* SPDX-License-Identifier: Apache-2.0
 * task/call.h - calls: units that need no ox_task, because there is no handle to them.
 *
 * Most single tasks have no handle, no parents, one unit and nothing to free. Such a task is stored as a call: half a
 * cache line in an array instead of seven lines that another processor used last. The processor prefetches an array; in
 * a list each task is a cache miss whose address comes from the one before. Two processors run 8 to 18 million single
 * tasks a second, 18 to 28 as calls. If the unit calls ox_task_current(), the call becomes a task then.
 *
 * The arrays are blocks, chained oldest first; a chain is part of a queue and under its lock (queue.h). */
#ifndef OX_TASK_CALL_H
#define OX_TASK_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "onyx/task.h"

enum { OX_CALL_BYTES = 16, OX_CALLS_PER_BLOCK = 127 };

typedef struct ox_task_call {
  ox_unit_fn fn;
  size_t is_copied;
  union {
    void *payload;
    _Alignas(16) unsigned char bytes[OX_CALL_BYTES]; /* is_copied: these are the payload */
  };
} ox_task_call;

typedef struct ox_call_block {
  struct ox_call_block *next;
  uint32_t home;       /* the queue whose spare it was */
  uint32_t begin, end; /* calls[begin .. end) are to be run */
  ox_task_call calls[OX_CALLS_PER_BLOCK];
} ox_call_block;

/* No block is empty unless it is the only one: that one waits for more. */
typedef struct ox_call_chain {
  ox_call_block *first, *last; /* NULL: no block */
} ox_call_chain;

static inline bool ox_calls_are_full(const ox_call_chain *c) { return !c->last || c->last->end == OX_CALLS_PER_BLOCK; }

/* Adds a block at the end. Returns the one it replaces, which was empty, or NULL. */
static inline ox_call_block *ox_calls_add_block(ox_call_chain *c, ox_call_block *block) {
  ox_call_block *empty = c->first && c->first->begin == c->first->end ? c->first : NULL;
  block->next = NULL;
  if (!c->first || empty)
    c->first = block;
  else
    c->last->next = block;
  c->last = block;
  return empty;
}

/* The chain must not be full. |bytes| of payload are copied; 0: it is only pointed to. */
static inline void ox_calls_append(ox_call_chain *c, ox_unit_fn fn, void *payload, size_t bytes) {
  ox_task_call *call = &c->last->calls[c->last->end++];
  OX_PREFETCH_WRITE(call + 8); /* another processor has that line, as it ran the calls there; 8 calls: 300 ns ahead */
  call->fn = fn, call->is_copied = bytes != 0;
  if (bytes)
    memcpy(call->bytes, payload, bytes);
  else
    call->payload = payload;
}

/* Takes the first block off; there must be another. */
static inline ox_call_block *ox_calls_cut_first(ox_call_chain *c) {
  ox_call_block *block = c->first;
  c->first = block->next;
  return block;
}

/* Takes the oldest call; there must be one. Returns the block if it is now empty and no longer in the chain, else NULL.
 */
static inline ox_call_block *ox_calls_take(ox_call_chain *c, ox_task_call *out) {
  ox_call_block *block = c->first;
  *out = block->calls[block->begin++];
  if (block->begin != block->end) return NULL;
  block->begin = block->end = 0;
  return block->next ? ox_calls_cut_first(c) : NULL;
}

/* Copies the older half of the first block's calls, of which there must be two, to |out|, which must be empty. */
static inline void ox_calls_cut_half(ox_call_chain *c, ox_call_block *out) {
  ox_call_block *block = c->first;
  out->end = (block->end - block->begin) / 2;
  memcpy(out->calls, &block->calls[block->begin], out->end * sizeof(ox_task_call));
  block->begin += out->end;
}

#endif
