/* SPDX-License-Identifier: Apache-2.0
 * plan/packs.c - see packs.h. */
#include "plan/packs.h"

#include <time.h>

#include "base/alloc.h"
#include "base/huge_pages.h"
#include "base/macros.h"
#include "plan/pack_room.h"

void ox_packs_init(ox_packs *p, struct ox_pack_room *room) {
  p->room = room;
  atomic_init(&p->first, NULL);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->finished, NULL);
}

void ox_packs_deinit(ox_packs *p) {
  for (ox_packed *f = atomic_load_explicit(&p->first, memory_order_acquire), *next; f; f = next) {
    next = f->next;
    if (!p->room) ox_delete(f->alloc, f->data, f->bytes);
    ox_delete(f->alloc, f, sizeof *f);
  }
  pthread_cond_destroy(&p->finished);
  pthread_mutex_destroy(&p->lock);
}

/* acquire: pairs with the release in ox_packs_find, so that a form that is found is whole */
static ox_packed *find(const ox_packs *p, uint64_t form) {
  ox_packed *f = atomic_load_explicit(&p->first, memory_order_acquire);
  while (f && f->form != form) f = f->next;
  return f;
}

static ox_packed *make(const ox_packs *p, ox_alloc alloc, const ox_pack *want) {
  ox_packed *f = ox_new_zeroed(alloc, sizeof *f);
  if (!f) return NULL;
  f->alloc = alloc, f->form = want->form, f->bytes = OX_MAX(want->bytes, (size_t)1), f->n_units = want->n_units;
  atomic_init(&f->ready, want->n_units <= 0);
  f->data = p->room ? ox_pack_room_take(p->room, f->bytes) : ox_new_aligned(alloc, f->bytes, OX_ALIGN_BYTES);
  if (f->data) return f;
  ox_delete(alloc, f, sizeof *f);
  return NULL;
}

ox_status *ox_packs_find(ox_packs *p, ox_alloc alloc, const ox_pack *want, ox_packed **out) {
  ox_packed *f = *out = find(p, want->form);
  if (f) return NULL;
  pthread_mutex_lock(&p->lock);
  f = find(p, want->form);
  if (!f && (f = make(p, alloc, want))) {
    f->next = atomic_load_explicit(&p->first, memory_order_relaxed); /* only changed under the lock */
    atomic_store_explicit(&p->first, f, memory_order_release);
  }
  pthread_mutex_unlock(&p->lock);
  *out = f;
  return f ? NULL : ox_fail(OX_OUT_OF_MEMORY, "no memory for the %zu bytes of packed weights", want->bytes);
}

void ox_packed_touch(ox_packs *p, ox_packed *f) {
  pthread_mutex_lock(&p->lock); /* so that nothing is written there before the end of it */
  if (!f->touched && p->room) ox_pack_room_touch(p->room, f->data, f->bytes);
  if (!f->touched && !p->room) ox_huge_pages_touch(f->data, f->bytes);
  f->touched = true;
  pthread_mutex_unlock(&p->lock);
}

bool ox_packed_claim(ox_packed *f, int64_t *out_unit) {
  *out_unit = atomic_fetch_add_explicit(&f->claimed, 1, memory_order_relaxed);
  return *out_unit < f->n_units;
}

void ox_packed_finish(ox_packs *p, ox_packed *f) {
  /* acq_rel: the last one sees what all others wrote, and publishes it by |ready| */
  if (atomic_fetch_add_explicit(&f->done, 1, memory_order_acq_rel) + 1 < f->n_units) return;
  pthread_mutex_lock(&p->lock);
  atomic_store_explicit(&f->ready, true, memory_order_release);
  pthread_cond_broadcast(&p->finished);
  pthread_mutex_unlock(&p->lock);
}

bool ox_packed_wait(ox_packs *p, ox_packed *f) {
  struct timespec until;
  pthread_mutex_lock(&p->lock);
  if (!ox_packed_ready(f) && timespec_get(&until, TIME_UTC) == TIME_UTC) {
    until.tv_nsec += 1000 * 1000;
    if (until.tv_nsec >= 1000 * 1000 * 1000) until.tv_nsec -= 1000 * 1000 * 1000, until.tv_sec++;
    (void)pthread_cond_timedwait(&p->finished, &p->lock, &until);
  }
  pthread_mutex_unlock(&p->lock);
  return ox_packed_ready(f);
}
