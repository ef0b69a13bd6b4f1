/* SPDX-License-Identifier: Apache-2.0
 * graph/deferred_const.c - see deferred_const.h, and what graph.h says of constants' contents. Memory for the whole is
 * taken at once, so that no reader can fail, but not touched. Only Linux takes pages back from the middle of a heap;
 * elsewhere they stay. */
#if defined(__linux__)
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#endif

#include "graph/deferred_const.h"

#include "base/alloc.h"
#include "base/macros.h"

enum { PAGE = 4096, LEAST = 64 << 10 /* bytes that are worth it */ };

ox_status *ox_deferred_add(ox_graph *g, const char *name, uint32_t dtype, const ox_shape *shape, const ox_tensor *from,
                           ox_make_fn make, const void *arg, ox_id *out_value) {
  ox_model *m = g->model;
  ox_deferred *k = OX_ARENA_NEW(&m->arena, ox_deferred);
  *out_value = OX_NONE;
  if (!k) return ox_oom();
  *k = (ox_deferred){.t = ox_tensor_view(dtype, shape, NULL), .from = from, .make = make, .arg = arg};
  bool now = k->t.bytes < LEAST;
  k->t.data = now ? ox_arena_alloc(&m->arena, k->t.bytes) : ox_new_aligned(m->alloc, k->t.bytes, PAGE);
  if (!k->t.data) return ox_oom();
  if (now) {
    make(from, arg, 0, ox_shape_count(shape), k->t.data);
    return ox_graph_add_const(g, name, &k->t, out_value);
  }
  k->next = m->deferred->first, m->deferred->first = k;
  ox_tensor hollow = k->t;
  hollow.data = NULL;
  OX_TRY(ox_graph_add_const(g, name, &hollow, out_value));
  g->values[*out_value].deferred = k;
  return NULL;
}

ox_deferred *ox_deferred_of(const ox_graph *g, ox_id v) {
  for (; v != OX_NONE && g->values[v].outer != OX_NONE; g = g->parent) v = g->values[v].outer;
  return v == OX_NONE ? NULL : g->values[v].deferred;
}

static void fill(const ox_model *m, ox_deferred *k) {
  if (k->there) return;
  k->make(k->from, k->arg, 0, ox_shape_count(&k->t.shape), k->t.data);
  ox_model_drop_pages(m, k->from);
  k->there = true;
}

static const ox_tensor *keep(const ox_model *m, ox_deferred *k) {
  pthread_mutex_lock(&m->deferred->lock);
  fill(m, k);
  k->kept = true;
  pthread_mutex_unlock(&m->deferred->lock);
  return &k->t;
}

const ox_tensor *ox_deferred_open(const ox_model *m, ox_deferred *k) {
  pthread_mutex_lock(&m->deferred->lock);
  fill(m, k);
  k->readers++;
  pthread_mutex_unlock(&m->deferred->lock);
  return &k->t;
}

/* Whole pages: what shares one with a neighbour stays, and is written again with the same bytes. */
static bool give_back(const ox_deferred *k) {
#if defined(__linux__) && defined(MADV_DONTNEED)
  return madvise(k->t.data, k->t.bytes / PAGE * PAGE, MADV_DONTNEED) == 0;
#else
  (void)k;
  return false;
#endif
}

void ox_deferred_close(const ox_model *m, ox_deferred *k) {
  pthread_mutex_lock(&m->deferred->lock);
  if (!--k->readers && !k->kept) k->there = !give_back(k);
  pthread_mutex_unlock(&m->deferred->lock);
}

const ox_tensor *ox_graph_const(const ox_graph *g, ox_id v) {
  const ox_tensor *t = ox_graph_const_type(g, v);
  ox_deferred *deferred = t ? ox_deferred_of(g, v) : NULL;
  return deferred ? keep(g->model, deferred) : t;
}

const ox_tensor *ox_graph_init(const ox_graph *g, ox_id v) {
  const ox_graph_value *value = &g->values[v];
  return value->deferred ? keep(g->model, value->deferred) : value->init;
}

ox_status *ox_deferred_init(ox_model *m) {
  m->deferred = OX_ARENA_NEW(&m->arena, ox_deferred_list);
  if (!m->deferred) return ox_oom();
  pthread_mutex_init(&m->deferred->lock, NULL);
  return NULL;
}

void ox_deferred_deinit(ox_model *m) {
  if (!m->deferred) return;
  for (ox_deferred *k = m->deferred->first; k; k = k->next) ox_delete(m->alloc, k->t.data, k->t.bytes);
  pthread_mutex_destroy(&m->deferred->lock);
}
