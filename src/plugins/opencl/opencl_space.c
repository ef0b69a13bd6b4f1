/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_space.c - a device's context and its addresses, shared by all instances of a process, so that one can
 * read in place what another has made. Allocates with malloc, since a space may outlive the host of any instance. */
#include <stdlib.h>
#include <string.h>

#include "plugins/opencl/opencl.h"

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and its members' |refs| */
static opencl_space *spaces;

static opencl_space *find(cl_device_id id) {
  opencl_space *s = spaces;
  while (s && s->id != id) s = s->next;
  return s;
}

static ox_status *make(const ox_ep_host *host, cl_device_id id, opencl_space **out) {
  cl_int code;
  opencl_space *s = calloc(1, sizeof *s);
  if (!s) return dev_no_memory(host);
  s->context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
  if (code != CL_SUCCESS) {
    free(s);
    return opencl_fail(host, "clCreateContext", code);
  }
  s->id = id;
  pthread_mutex_init(&s->lock, NULL);
  atomic_init(&s->version, 0);
  s->next = spaces, spaces = s;
  *out = s;
  return NULL;
}

ox_status *opencl_space_join(const ox_ep_host *host, cl_device_id id, opencl_space **out) {
  ox_status *st = NULL;
  pthread_mutex_lock(&the_lock);
  *out = find(id);
  if (!*out) st = make(host, id, out);
  if (!st) (*out)->refs++;
  pthread_mutex_unlock(&the_lock);
  return st;
}

void opencl_space_leave(opencl_space *s) {
  if (!s) return;
  pthread_mutex_lock(&the_lock);
  bool last = --s->refs == 0;
  opencl_space **at = &spaces;
  while (last && *at != s) at = &(*at)->next;
  if (last) *at = s->next;
  pthread_mutex_unlock(&the_lock);
  if (!last) return;
  clReleaseContext(s->context);
  pthread_mutex_destroy(&s->lock);
  free(s->blocks);
  free(s);
}

/* ---- addresses ---- */

/* The index of the first block that begins after |address|. */
static size_t after(const opencl_space *s, const void *address) {
  size_t low = 0, high = s->n_blocks;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((uintptr_t)s->blocks[middle].begin <= (uintptr_t)address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Makes room for one more block. */
static bool grow(opencl_space *s) {
  if (s->n_blocks < s->room) return true;
  size_t room = s->room ? 2 * s->room : 16;
  opencl_block *more = realloc(s->blocks, room * sizeof *more);
  if (!more) return false;
  s->blocks = more;
  s->room = room;
  return true;
}

bool opencl_space_add(opencl_space *s, opencl_block block) {
  pthread_mutex_lock(&s->lock);
  bool done = grow(s);
  if (done) {
    size_t at = after(s, block.begin);
    memmove(s->blocks + at + 1, s->blocks + at, (s->n_blocks - at) * sizeof block);
    block.serial = ++s->serial;
    s->blocks[at] = block;
    s->n_blocks++;
    atomic_fetch_add_explicit(&s->version, 1, memory_order_release);
  }
  pthread_mutex_unlock(&s->lock);
  return done;
}

cl_mem opencl_space_remove(opencl_space *s, const void *begin) {
  cl_mem mem = NULL;
  pthread_mutex_lock(&s->lock);
  size_t at = after(s, begin);
  if (at && s->blocks[at - 1].begin == begin) {
    mem = s->blocks[at - 1].mem;
    memmove(s->blocks + at - 1, s->blocks + at, (s->n_blocks - at) * sizeof *s->blocks);
    s->n_blocks--;
    atomic_fetch_add_explicit(&s->version, 1, memory_order_release);
  }
  pthread_mutex_unlock(&s->lock);
  return mem;
}

bool opencl_space_find(opencl_space *s, const void *address, opencl_block *out) {
  pthread_mutex_lock(&s->lock);
  size_t at = after(s, address);
  bool found = at && (uintptr_t)address - (uintptr_t)s->blocks[at - 1].begin < s->blocks[at - 1].bytes;
  if (found) *out = s->blocks[at - 1];
  pthread_mutex_unlock(&s->lock);
  return found;
}
