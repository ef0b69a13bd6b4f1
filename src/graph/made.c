/* SPDX-License-Identifier: Apache-2.0
 * graph/made.c - see made.h. Only Linux takes pages back from the middle of a heap; elsewhere they stay. */
#if defined(__linux__)
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#endif

#include "graph/made.h"

#include "base/alloc.h"
#include "base/macros.h"

enum { PAGE = 4096, LEAST = 64 << 10 /* bytes that are worth it */ };

void ox_model_drop_pages(const ox_model *m, const ox_tensor *t) {
  for (uint32_t i = 0; i < m->n_files; i++) ox_file_map_drop(m->files[i].map, t->data, t->bytes);
}

static void fill(const ox_model *m, const ox_made *k) {
  k->make(k->from, k->arg, k->data);
  ox_model_drop_pages(m, k->from);
}

ox_status *ox_made_add(ox_model *m, size_t bytes, const ox_tensor *from, ox_make_fn make, const void *arg,
                       void **out_data) {
  ox_made *k = OX_ARENA_NEW(&m->arena, ox_made);
  *out_data = NULL;
  if (!k) return ox_oom();
  *k = (ox_made){.bytes = bytes, .from = from, .make = make, .arg = arg};
  k->data = bytes < LEAST ? ox_arena_alloc(&m->arena, bytes) : ox_new_aligned(m->alloc, bytes, PAGE);
  if (!k->data) return ox_oom();
  if (bytes >= LEAST) k->next = m->made->first, m->made->first = k;
  fill(m, k);
  *out_data = k->data;
  return NULL;
}

static ox_made *find(const ox_model *m, const ox_tensor *t) {
  ox_made *k = t ? m->made->first : NULL;
  while (k && k->data != t->data) k = k->next;
  return k;
}

void ox_made_spent(const ox_model *m, const ox_tensor *t) {
  ox_made *k = find(m, t);
  if (!k) return;
  pthread_mutex_lock(&m->made->lock);
  k->spent = true;
  pthread_mutex_unlock(&m->made->lock);
}

void ox_made_open(const ox_model *m, const ox_tensor *t) {
  ox_made *k = find(m, t);
  if (!k) return;
  pthread_mutex_lock(&m->made->lock);
  k->readers++;
  if (k->gone) fill(m, k), k->gone = false;
  pthread_mutex_unlock(&m->made->lock);
}

/* Whole pages: what shares one with a neighbour stays, and is written again with the same bytes. */
static bool give_back(const ox_made *k) {
#if defined(__linux__) && defined(MADV_DONTNEED)
  return madvise(k->data, k->bytes / PAGE * PAGE, MADV_DONTNEED) == 0;
#else
  (void)k;
  return false;
#endif
}

void ox_made_close(const ox_model *m, const ox_tensor *t) {
  ox_made *k = find(m, t);
  if (!k) return;
  pthread_mutex_lock(&m->made->lock);
  if (!--k->readers && k->spent && !k->gone) k->gone = give_back(k);
  pthread_mutex_unlock(&m->made->lock);
}

ox_status *ox_made_init(ox_model *m) {
  m->made = OX_ARENA_NEW(&m->arena, ox_made_list);
  if (!m->made) return ox_oom();
  pthread_mutex_init(&m->made->lock, NULL);
  return NULL;
}

void ox_made_deinit(ox_model *m) {
  if (!m->made) return;
  for (ox_made *k = m->made->first; k; k = k->next) ox_delete(m->alloc, k->data, k->bytes);
  pthread_mutex_destroy(&m->made->lock);
}
