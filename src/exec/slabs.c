/* SPDX-License-Identifier: Apache-2.0
 * exec/slabs.c - see slabs.h. Free slabs are a list whose links lie in the slabs. */
#include "exec/slabs.h"

#include "base/macros.h"

typedef struct ox_free_slab free_slab;
struct ox_free_slab {
  free_slab *next;
  size_t bytes;
};

/* A slab that replaces a smaller one gets an eighth more than is wanted: shapes that grow a little in every run shall
 * not make one each time. Pages that are not touched cost nothing. */
enum { MORE = 8 };

void ox_slabs_init(ox_slabs *s, const ox_alloc *alloc) {
  s->alloc = alloc, s->free = NULL;
  pthread_mutex_init(&s->lock, NULL);
}

void ox_slabs_deinit(ox_slabs *s) {
  ox_slabs_trim(s);
  pthread_mutex_destroy(&s->lock);
}

static ox_slab unlink_at(free_slab **link) {
  free_slab *f = *link;
  *link = f->next;
  return (ox_slab){(char *)f, f->bytes};
}

/* Where the link to the slab to take is; NULL: none has room. */
static free_slab **find(ox_slabs *s, size_t bytes, const char *was) {
  free_slab **best = NULL;
  for (free_slab **l = &s->free; *l; l = &(*l)->next) {
    if ((*l)->bytes < bytes) continue;
    if ((const char *)*l == was) return l;
    if (!best || (*l)->bytes < (*best)->bytes) best = l;
  }
  return best;
}

static free_slab **find_largest(ox_slabs *s) {
  free_slab **largest = NULL;
  for (free_slab **l = &s->free; *l; l = &(*l)->next)
    if (!largest || (*l)->bytes > (*largest)->bytes) largest = l;
  return largest;
}

bool ox_slabs_take(ox_slabs *s, ox_workspace *w, size_t bytes, const char *was, ox_slab *out) {
  size_t more = bytes / MORE, room = OX_MAX(bytes, sizeof(free_slab));
  ox_slab small = {NULL, 0};
  pthread_mutex_lock(&s->lock);
  free_slab **l = find(s, bytes, was), **largest = l ? NULL : find_largest(s);
  if (l) *out = unlink_at(l);
  if (largest) small = unlink_at(largest);
  pthread_mutex_unlock(&s->lock);
  if (l) return true;
  ox_delete(*s->alloc, small.at, small.bytes);
  if (small.at && !w->limit && more <= SIZE_MAX - room) room += more;
  *out = (ox_slab){ox_workspace_new(w, *s->alloc, room), room};
  return out->at != NULL;
}

void ox_slabs_give(ox_slabs *s, ox_slab slab) {
  free_slab *f = (free_slab *)(void *)slab.at;
  pthread_mutex_lock(&s->lock);
  *f = (free_slab){s->free, slab.bytes};
  s->free = f;
  pthread_mutex_unlock(&s->lock);
}

void ox_slabs_trim(ox_slabs *s) {
  pthread_mutex_lock(&s->lock);
  free_slab *all = s->free;
  s->free = NULL;
  pthread_mutex_unlock(&s->lock);
  while (all) {
    ox_slab slab = unlink_at(&all);
    ox_delete(*s->alloc, slab.at, slab.bytes);
  }
}
