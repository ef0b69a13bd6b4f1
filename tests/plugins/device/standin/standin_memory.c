/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/standin/standin_memory.c - memory of the device and pinned memory of the host. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "plugins/device/standin/standin.h"

typedef struct block {
  struct block *next;
  char *address; /* reserved, faults; pinned memory: what it says */
  size_t bytes;
  char *bytes_at; /* NULL: pinned */
} block;

static block *blocks, *pinned;
static size_t used, limit = (size_t)4 << 30;
static atomic_long allocations;

long standin_allocations(void) { return atomic_exchange(&allocations, 0); }

void standin_limit(size_t bytes) { limit = bytes; }

STANDIN_API int cuDeviceTotalMem_v2(size_t *bytes, cu_device device);
int cuDeviceTotalMem_v2(size_t *bytes, cu_device device) {
  int code = standin_gate(false);
  *bytes = limit;
  return code ? code : device ? INVALID_DEVICE : OK;
}

static int make(block *b) {
  void *reserved = mmap(NULL, b->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  b->bytes_at = malloc(b->bytes);
  b->address = reserved;
  if (reserved == MAP_FAILED || !b->bytes_at) {
    if (reserved != MAP_FAILED) munmap(reserved, b->bytes);
    free(b->bytes_at);
    return CU_OUT_OF_MEMORY;
  }
  memset(b->bytes_at, 0xff, b->bytes); /* NaN: nobody may read what nobody wrote */
  return OK;
}

STANDIN_API int cuMemAlloc_v2(cu_address *address, size_t bytes);
int cuMemAlloc_v2(cu_address *address, size_t bytes) {
  int code = standin_gate(true);
  if (!code && !bytes) code = INVALID_VALUE;
  if (code) return code;
  atomic_fetch_add(&allocations, 1);
  pthread_mutex_lock(&standin_lock);
  block *b = calloc(1, sizeof *b);
  b->bytes = bytes;
  code = bytes > limit || used > limit - bytes ? CU_OUT_OF_MEMORY : make(b);
  if (code) {
    free(b);
  } else {
    used += bytes;
    b->next = blocks;
    blocks = b;
    *address = (cu_address)(uintptr_t)b->address;
    standin_made(1);
  }
  pthread_mutex_unlock(&standin_lock);
  return code;
}

static block *remove_from(block **list, const void *address) {
  for (block **at = list; *at; at = &(*at)->next)
    if ((*at)->address == address) {
      block *b = *at;
      *at = b->next;
      return b;
    }
  return NULL;
}

/* Waits for all work, as the real one does. */
STANDIN_API int cuMemFree_v2(cu_address address);
int cuMemFree_v2(cu_address address) {
  pthread_mutex_lock(&standin_lock);
  standin_drain(NULL);
  block *b = remove_from(&blocks, (void *)(uintptr_t)address);
  if (b) {
    munmap(b->address, b->bytes);
    used -= b->bytes;
    free(b->bytes_at);
    free(b);
    standin_made(-1);
  }
  pthread_mutex_unlock(&standin_lock);
  return standin_lost() ? standin_lost() : b ? OK : INVALID_VALUE;
}

STANDIN_API int cuMemHostAlloc(void **p, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
  int code = standin_gate(true);
  if (code || flags) return code ? code : INVALID_VALUE;
  block *b = calloc(1, sizeof *b);
  b->address = *p = malloc(bytes);
  b->bytes = bytes;
  pthread_mutex_lock(&standin_lock);
  b->next = pinned;
  pinned = b;
  standin_made(1);
  pthread_mutex_unlock(&standin_lock);
  return OK;
}

STANDIN_API int cuMemFreeHost(void *p);
int cuMemFreeHost(void *p) {
  pthread_mutex_lock(&standin_lock);
  standin_drain(NULL);
  block *b = remove_from(&pinned, p);
  if (b) {
    memset(p, 0xaa, b->bytes);
    free(b->address);
    free(b);
    standin_made(-1);
  }
  pthread_mutex_unlock(&standin_lock);
  return standin_lost() ? standin_lost() : b ? OK : INVALID_VALUE;
}

static const block *holds(const block *list, const void *p) {
  for (const block *b = list; b; b = b->next)
    if ((uintptr_t)p - (uintptr_t)b->address < b->bytes) return b;
  return NULL;
}

bool standin_is_pinned(const void *p) {
  pthread_mutex_lock(&standin_lock);
  bool is = holds(pinned, p) != NULL;
  pthread_mutex_unlock(&standin_lock);
  return is;
}

char *standin_at(cu_address address, size_t bytes) {
  const char *p = (const char *)(uintptr_t)address;
  pthread_mutex_lock(&standin_lock);
  const block *b = holds(blocks, p);
  char *at = b && bytes <= b->bytes - (size_t)(p - b->address) ? b->bytes_at + (p - b->address) : NULL;
  pthread_mutex_unlock(&standin_lock);
  return at;
}

char *standin_begin(cu_address address) { return standin_at(address, 1); }
