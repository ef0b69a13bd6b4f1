/* SPDX-License-Identifier: Apache-2.0
 * task/kept.c - objects that language bindings leave with tasks, such as exceptions. */
#include "task/kept.h"

#include "base/alloc.h"

/* An object that a binding leaves with a task; descendants that end with the task's error share it. */
struct ox_kept {
  atomic_uint refs;
  void *object;
  void (*object_delete)(void *object);
};

static void drop(struct ox_kept *kept) {
  if (atomic_fetch_sub_explicit(&kept->refs, 1, memory_order_acq_rel) != 1) return;
  kept->object_delete(kept->object);
  ox_delete(ox_alloc_heap(), kept, sizeof *kept);
}

/* Takes over the caller's reference. The task's first object stays. */
static void set(ox_task *t, struct ox_kept *kept) {
  struct ox_kept *none = NULL;
  if (!atomic_compare_exchange_strong_explicit(&t->kept, &none, kept, memory_order_acq_rel, memory_order_relaxed))
    drop(kept);
  else
    atomic_fetch_or_explicit(&t->state, OX_TASK_KEPT,
                             memory_order_relaxed); /* |refs| orders the thread that frees the task after us */
}

void ox_kept_share(const ox_task *from, ox_task *to) {
  struct ox_kept *kept = atomic_load_explicit(&from->kept, memory_order_acquire); /* pairs with set */
  if (!kept) return;
  atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
  set(to, kept);
}

void ox_kept_drop(ox_task *t) {
  drop(atomic_load_explicit(&t->kept, memory_order_acquire));
  atomic_store_explicit(&t->kept, NULL, memory_order_relaxed);
}

void ox_task_keep(ox_task *t, void *object, void (*object_delete)(void *object)) {
  struct ox_kept *kept = t ? ox_new(ox_alloc_heap(), sizeof *kept) : NULL;
  if (!kept) {
    object_delete(object);
    return;
  }
  atomic_init(&kept->refs, 1);
  kept->object = object, kept->object_delete = object_delete;
  set(t, kept);
}

void *ox_task_kept(const ox_task *t) {
  const struct ox_kept *kept = t ? atomic_load_explicit(&t->kept, memory_order_acquire) : NULL;
  return kept ? kept->object : NULL;
}
