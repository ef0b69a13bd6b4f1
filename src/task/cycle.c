/* SPDX-License-Identifier: Apache-2.0
 * task/cycle.c - searches the descendants of the tasks that run on this thread. */
#include "task/cycle.h"

#include "task/frame.h"

/* One search at a time: protects |next| and |mark| of blocked tasks. */
static atomic_flag searching = ATOMIC_FLAG_INIT;

void ox_task_cycle_forked(void) { atomic_flag_clear_explicit(&searching, memory_order_relaxed); }

/* Is |wanted| a descendant of |from|, one of whose units runs on this thread? While that unit runs, all descendants are
 * blocked: they are not freed, their links do not change (new ones are added in front), and as they are in no queue,
 * their |next| can chain those still to be searched. */
static bool descends(ox_task *from, const ox_task *wanted, uint32_t stamp) {
  ox_task *todo = NULL;
  for (ox_task *t = from; t;) {
    /* acquire: pairs with the push in add_parents */
    for (ox_task_link *l = atomic_load_explicit(&t->children, memory_order_acquire); l; l = l->next) {
      if (l->child == wanted) return true;
      if (l->child->mark == stamp) continue;
      l->child->mark = stamp, l->child->next = todo, todo = l->child;
    }
    t = todo;
    if (t) todo = t->next;
  }
  return false;
}

bool ox_task_needs_us(ox_task *task) {
  static uint32_t stamp;
  const ox_task_frame *first = ox_task_frames, *f;
  for (f = first; f; f = f->outer)
    if (f->task == task) return true;
  if (!first || !atomic_load_explicit(&task->wait_parents, memory_order_acquire)) return false;
  while (atomic_flag_test_and_set_explicit(&searching, memory_order_acquire)) ox_thread_yield();
  stamp++;
  for (f = first; f; f = f->outer)
    if (f->task && descends(f->task, task, stamp)) break;
  atomic_flag_clear_explicit(&searching, memory_order_release);
  return f != NULL;
}
