/* SPDX-License-Identifier: Apache-2.0
 * support/device_memory.c - see device_memory.h. The bytes are those of a temporary file; blocks are found first-fit.
 */
#include "support/device_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { REGION_BYTES = 64 << 20, GUARD_BYTES = 1 << 16, MOST_BLOCKS = 1 << 14, JUNK = 0xb5 };

typedef struct {
  size_t begin, end;
} block;

static struct {
  pthread_mutex_t lock;
  char *closed, *open;
  block *blocks; /* in order */
  size_t n_blocks;
} region = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void die(const char *what) {
  fprintf(stderr, "device memory: %s\n", what);
  abort();
}

static void map_region(void) {
  FILE *file = tmpfile();
  if (!file || ftruncate(fileno(file), REGION_BYTES + GUARD_BYTES)) die("no temporary file");
  region.open = mmap(NULL, REGION_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  region.closed = mmap(NULL, REGION_BYTES + GUARD_BYTES, PROT_NONE, MAP_SHARED, fileno(file), 0);
  region.blocks = malloc(MOST_BLOCKS * sizeof *region.blocks);
  if (region.open == MAP_FAILED || region.closed == MAP_FAILED || !region.blocks) die("cannot be mapped");
  fclose(file); /* the mappings keep it */
}

/* Where |bytes| fit; |*at| is the place of the new block in the list. */
static bool find_gap(size_t bytes, size_t align, size_t *begin, size_t *at) {
  size_t from = 0;
  for (*at = 0; *at <= region.n_blocks; ++*at) {
    size_t to = *at < region.n_blocks ? region.blocks[*at].begin : REGION_BYTES;
    *begin = (from + align - 1) & ~(align - 1);
    if (*begin <= to && to - *begin >= bytes) return region.n_blocks < MOST_BLOCKS;
    if (*at < region.n_blocks) from = region.blocks[*at].end;
  }
  return false;
}

void *device_memory_take(size_t bytes, size_t align) {
  size_t begin, at;
  char *p = NULL;
  pthread_mutex_lock(&region.lock);
  if (!region.open) map_region();
  if (find_gap(bytes ? bytes : 1, align, &begin, &at)) {
    memmove(&region.blocks[at + 1], &region.blocks[at], (region.n_blocks++ - at) * sizeof *region.blocks);
    region.blocks[at] = (block){begin, begin + (bytes ? bytes : 1)};
    memset(region.open + begin, JUNK, bytes);
    p = region.closed + begin;
  }
  pthread_mutex_unlock(&region.lock);
  return p;
}

void device_memory_give(void *p, size_t bytes) {
  size_t begin = (size_t)((char *)p - region.closed), at = 0;
  pthread_mutex_lock(&region.lock);
  while (at < region.n_blocks && region.blocks[at].begin != begin) at++;
  if (at == region.n_blocks) die("what is given back was not taken");
  if (region.blocks[at].end != begin + (bytes ? bytes : 1)) die("given back with another size");
  memset(region.open + begin, JUNK, bytes);
  memmove(&region.blocks[at], &region.blocks[at + 1], (--region.n_blocks - at) * sizeof *region.blocks);
  pthread_mutex_unlock(&region.lock);
}

bool device_memory_holds(const void *p) {
  uintptr_t at = (uintptr_t)p, begin = (uintptr_t)region.closed;
  return region.closed && at >= begin && at < begin + REGION_BYTES + GUARD_BYTES;
}

void *device_memory_open(const void *p) {
  if (!device_memory_holds(p)) return (void *)p;
  return region.open + ((const char *)p - region.closed);
}
