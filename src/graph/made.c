/* SPDX-License-Identifier: Apache-2.0
 * graph/made.c - see made.h, and what graph.h says of constants' contents. Memory for the whole is taken at once, so
 * that no reader can fail, but not touched. Only Linux takes pages back from the middle of a heap; elsewhere they stay.
 */
#if defined(__linux__)
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#endif

#include "graph/made.h"

#include "base/alloc.h"
#include "base/macros.h"

enum { PAGE = 4096, LEAST = 64 << 10 /* bytes that are worth it */ };

ox_status *ox_made_add(ox_graph *g, const char *name, uint32_t dtype, const ox_shape *shape, const ox_tensor *from,
                       ox_make_fn make, const void *arg, ox_id *out_value) {
  ox_model *m = g->model;
  ox_made *k = OX_ARENA_NEW(&m->arena, ox_made);
  *out_value = OX_NONE;
  if (!k) return ox_oom();
  *k = (ox_made){.t = ox_tensor_view(dtype, shape, NULL), .from = from, .make = make, .arg = arg};
  bool now = k->t.bytes < LEAST;
  k->t.data = now ? ox_arena_alloc(&m->arena, k->t.bytes) : ox_new_aligned(m->alloc, k->t.bytes, PAGE);
  if (!k->t.data) return ox_oom();
  if (now) {
    make(from, arg, 0, ox_shape_count(shape), k->t.data);
    return ox_graph_add_const(g, name, &k->t, out_value);
  }
  k->next = m->made->first, m->made->first = k;
  ox_tensor hollow = k->t;
  hollow.data = NULL;
  OX_TRY(ox_graph_add_const(g, name, &hollow, out_value));
  g->values[*out_value].made = k;
  return NULL;
}

ox_made *ox_made_of(const ox_graph *g, ox_id v) {
  for (; v != OX_NONE && g->values[v].outer != OX_NONE; g = g->parent) v = g->values[v].outer;
  return v == OX_NONE ? NULL : g->values[v].made;
}

static void fill(const ox_model *m, ox_made *k) {
  if (k->there) return;
  k->make(k->from, k->arg, 0, ox_shape_count(&k->t.shape), k->t.data);
  ox_model_drop_pages(m, k->from);
  k->there = true;
}

static const ox_tensor *keep(const ox_model *m, ox_made *k) {
  pthread_mutex_lock(&m->made->lock);
  fill(m, k);
  k->kept = true;
  pthread_mutex_unlock(&m->made->lock);
  return &k->t;
}

const ox_tensor *ox_made_open(const ox_model *m, ox_made *k) {
  pthread_mutex_lock(&m->made->lock);
  fill(m, k);
  k->readers++;
  pthread_mutex_unlock(&m->made->lock);
  return &k->t;
}

/* Whole pages: what shares one with a neighbour stays, and is written again with the same bytes. */
static bool give_back(const ox_made *k) {
#if defined(__linux__) && defined(MADV_DONTNEED)
  return madvise(k->t.data, k->t.bytes / PAGE * PAGE, MADV_DONTNEED) == 0;
#else
  (void)k;
  return false;
#endif
}

void ox_made_close(const ox_model *m, ox_made *k) {
  pthread_mutex_lock(&m->made->lock);
  if (!--k->readers && !k->kept) k->there = !give_back(k);
  pthread_mutex_unlock(&m->made->lock);
}

const ox_tensor *ox_graph_const(const ox_graph *g, ox_id v) {
  const ox_tensor *t = ox_graph_const_type(g, v);
  ox_made *made = t ? ox_made_of(g, v) : NULL;
  return made ? keep(g->model, made) : t;
}

const ox_tensor *ox_graph_init(const ox_graph *g, ox_id v) {
  const ox_graph_value *value = &g->values[v];
  return value->made ? keep(g->model, value->made) : value->init;
}

ox_status *ox_made_init(ox_model *m) {
  m->made = OX_ARENA_NEW(&m->arena, ox_made_list);
  if (!m->made) return ox_oom();
  pthread_mutex_init(&m->made->lock, NULL);
  return NULL;
}

void ox_made_deinit(ox_model *m) {
  if (!m->made) return;
  for (ox_made *k = m->made->first; k; k = k->next) ox_delete(m->alloc, k->t.data, k->t.bytes);
  pthread_mutex_destroy(&m->made->lock);
}
