/* SPDX-License-Identifier: Apache-2.0
 * task/call_test.c - single tasks without a handle: each runs once, in order where one thread runs them; they move
 * between queues whole; they share a queue with tasks; a unit may ask for its task. */
#include "task/call.h"

#include <stdatomic.h>
#include <string.h>

#include "support/check.h"
#include "support/pool_backend.h"
#include "task/policy/patience.h"
#include "task/queue.h"
#include "task/spare.h"
#include "task/task.h"
#include "task/pool.h"

static ox_pool *make_pool(void) {
  ox_pool_opts o = {.struct_size = sizeof o, .n_threads = 1}; /* no workers: queues move only when we say so */
  ox_pool *pool;
  CHECK_OK(ox_pool_create(&o, &pool));
  return pool;
}

static ox_status *nothing(void *payload, uint32_t unit) {
  (void)payload, (void)unit;
  return NULL;
}

static void push(ox_pool *pool, uint32_t own, uintptr_t number) {
  assert_true(ox_queue_push_call(pool, own, nothing, (void *)number, 0));
}

static uintptr_t claim(ox_pool *pool, uint32_t own) {
  ox_claim c;
  if (!ox_queue_claim(pool, own, &c)) return 0;
  assert_true(!c.task && c.begin == 0 && c.n == 1 && c.call.fn == nothing && !c.call.is_copied);
  return (uintptr_t)c.call.payload;
}

static void calls_come_out_oldest_first(void **state) {
  (void)state;
  static const int counts[] = {1, 2, OX_CALLS_PER_BLOCK - 1, OX_CALLS_PER_BLOCK, OX_CALLS_PER_BLOCK + 1, 5000};
  ox_pool *pool = make_pool();
  for (size_t k = 0; k < OX_COUNT(counts); k++) {
    for (int i = 1; i <= counts[k]; i++) push(pool, 0, (uintptr_t)i);
    assert_int_equal(pool->queues[0].count, counts[k]);
    for (int i = 1; i <= counts[k]; i++) assert_int_equal(claim(pool, 0), i);
    assert_int_equal(claim(pool, 0), 0);
    assert_false(ox_queue_any(pool));
  }
  ox_pool_destroy(pool);
}

static void calls_and_tasks_take_turns(void **state) {
  (void)state;
  ox_pool *pool = make_pool();
  for (uintptr_t i = 1; i <= 10; i++) {
    push(pool, 0, i);
    ox_task *t = ox_spare_take_task(pool, 0);
    t->n_units = 1, t->next = NULL;
    ox_queue_push(pool, 0, t, t, 1, 1);
  }
  int calls = 0, tasks = 0;
  for (ox_claim c; ox_queue_claim(pool, 0, &c);) {
    if (c.task)
      tasks++, ox_spare_give_task(pool, 0, c.task);
    else
      calls++;
    assert_in_range(calls - tasks + 1, 0, 2);
    assert_int_equal(c.more, calls + tasks < 20);
  }
  assert_true(calls == 10 && tasks == 10);
  ox_pool_destroy(pool);
}

/* Of a short queue half, of a long one the first block. */
static void thieves_take_several(void **state) {
  (void)state;
  enum { B = OX_CALLS_PER_BLOCK };
  static const struct {
    int calls;
    uint32_t moved;
  } cases[] = {{1, 0}, {2, 0}, {3, 1}, {9, 4}, {B, (B - 1) / 2}, {B + 1, B - 1}, {3 * B, B - 1}};
  ox_pool *pool = make_pool();
  for (size_t k = 0; k < OX_COUNT(cases); k++) {
    for (uint32_t own = 1; own < 3; own++) { /* into an empty queue, and one that has some */
      bool seen[3 * B + 1] = {false};
      for (int i = 1; i <= cases[k].calls; i++) push(pool, 0, (uintptr_t)i);
      uintptr_t stolen = 0;
      while (!stolen) stolen = claim(pool, own); /* 0: its patience after the last case */
      seen[stolen] = true;
      assert_int_equal(pool->queues[own].count, cases[k].moved);
      assert_int_equal(pool->queues[own].count + pool->queues[0].count, cases[k].calls - 1);
      for (int left = cases[k].calls - 1; left; left--) {
        uintptr_t i = 0;
        while (!i) i = claim(pool, (uint32_t)left % 3);
        assert_false(seen[i]);
        seen[i] = true;
      }
      assert_false(ox_queue_any(pool));
    }
  }
  ox_pool_destroy(pool);
}

static void blocks_are_used_again(void **state) {
  (void)state;
  ox_pool *pool = make_pool();
  uint32_t made = 0;
  for (int round = 0; round < 100; round++) {
    for (uintptr_t i = 1; i <= 2000; i++) push(pool, 0, i);
    for (int left = 2000; left;) left -= claim(pool, 1) != 0; /* all through a thief */
    if (round == 10) made = pool->n_blocks;
  }
  assert_int_equal(pool->n_blocks, made);
  ox_pool_destroy(pool);
}

static void a_taken_lock_is_walked_around(void **state) {
  (void)state;
  ox_pool *pool = make_pool();
  pool->queues[0].lock = pool->spares[0].lock = 1; /* its holder was descheduled */
  push(pool, 0, 7);
  assert_int_equal(pool->queues[1].count, 1);
  assert_int_equal(claim(pool, 0), 7);
  pool->queues[0].lock = pool->spares[0].lock = 0;
  ox_pool_destroy(pool);
}

/* --- through the public interface --- */

static ox_status *submit(ox_pool *pool, ox_unit_fn fn, void *payload, size_t bytes) {
  ox_task_opts o = {.struct_size = sizeof o,
                    .flags = OX_TASK_ASYNC,
                    .n_units = 1,
                    .fn = fn,
                    .payload = payload,
                    .payload_bytes = bytes};
  return ox_task_submit(pool, &o, NULL);
}

static int none_left(void *left) { return atomic_load((atomic_int *)left) == 0; }

static atomic_int left;
static struct { atomic_int seen[20000]; } counts;

static ox_status *count_copied(void *payload, uint32_t unit) {
  uint32_t n[4] = {0};
  memcpy(n, payload, 16);
  assert_true(unit == 0 && n[1] == 1 && n[2] == 2 && n[3] == 3 && (uintptr_t)payload % 16 == 0);
  atomic_fetch_add(&counts.seen[n[0]], 1);
  atomic_fetch_sub(&left, 1);
  return NULL;
}

static ox_status *is_null(void *payload, uint32_t unit) {
  assert_true(payload == NULL && unit == 0);
  atomic_fetch_sub(&left, 1);
  return NULL;
}

static void each_runs_once(void **state) {
  (void)state;
  for (uint32_t size = 1; size <= 4; size++) {
    ox_pool *pool = test_pool(size);
    memset(&counts, 0, sizeof counts);
    left = 20001;
    for (uint32_t i = 0; i < 20000; i++) {
      uint32_t n[4] = {i, 1, 2, 3};
      CHECK_OK(submit(pool, count_copied, n, sizeof n));
    }
    CHECK_OK(submit(pool, is_null, NULL, 0));
    ox_pool_work_until(pool, none_left, &left);
    for (int i = 0; i < 20000; i++) assert_int_equal(counts.seen[i], 1);
    ox_pool_destroy(pool);
  }
}

typedef struct shared {
  ox_pool *pool;
  ox_task *self, *child;
  atomic_int child_ran, left;
} shared;

static ox_status *count_child(void *payload, uint32_t unit) {
  (void)unit;
  atomic_fetch_add(&((shared *)payload)->child_ran, 1);
  return NULL;
}

/* Asks for its task, submits a child of it, hands both out, and fails. */
static ox_status *become_a_task(void *payload, uint32_t unit) {
  shared *s = payload;
  (void)unit;
  s->self = ox_task_retain(ox_task_current());
  assert_non_null(s->self);
  assert_ptr_equal(ox_task_current(), s->self);
  assert_false(ox_task_is_done(s->self));
  CHECK_FAILS(ox_task_wait(s->self), OX_INVALID_ARGUMENT, "itself");
  ox_task_opts o = {.struct_size = sizeof o,
                    .flags = OX_TASK_ASYNC,
                    .n_units = 1,
                    .fn = count_child,
                    .payload = s,
                    .parents = &s->self,
                    .n_parents = 1};
  CHECK_OK(ox_task_submit(s->pool, &o, &s->child));
  CHECK_FAILS(ox_task_wait(s->child), OX_INVALID_ARGUMENT, "depends on it");
  atomic_fetch_sub(&s->left, 1);
  return ox_task_error(OX_LIMIT, "no more");
}

static void a_unit_may_ask_for_its_task(void **state) {
  (void)state;
  for (uint32_t size = 1; size <= 4; size++) {
    shared s = {.pool = test_pool(size), .left = 1};
    CHECK_OK(submit(s.pool, become_a_task, &s, 0));
    ox_pool_work_until(s.pool, none_left, &s.left);
    CHECK_FAILS(ox_task_wait_release(s.self), OX_LIMIT, "no more");
    CHECK_FAILS(ox_task_wait_release(s.child), OX_LIMIT, "no more");
    assert_int_equal(s.child_ran, 0);
    ox_pool_destroy(s.pool);
  }
}

static ox_status *fail_alone(void *payload, uint32_t unit) {
  (void)unit;
  atomic_fetch_sub((atomic_int *)payload, 1);
  return ox_task_error(OX_LIMIT, "nobody asks");
}

/* Nothing is lost or leaked (ASan) if nobody asks for the error, or if the pool goes first. */
static void errors_and_rests_are_dropped(void **state) {
  (void)state;
  for (uint32_t size = 1; size <= 4; size++) {
    ox_pool *pool = test_pool(size);
    left = 1000;
    for (int i = 0; i < 1000; i++) CHECK_OK(submit(pool, fail_alone, &left, 0));
    ox_pool_work_until(pool, none_left, &left);
    for (int i = 0; i < 1000; i++) CHECK_OK(submit(pool, fail_alone, &left, 0));
    ox_pool_destroy(pool);
  }
}

/* Ticks of a microsecond: 100. A row: at |now| a visit leaves |left|; then it stays away until |until| (0: it need
 * not). */
static void patience_is_for_streams(void **state) {
  (void)state;
  static const struct {
    const char *name;
    struct {
      uint64_t now;
      uint32_t left;
      uint64_t until;
    } visits[6];
  } cases[] = {
      {"far apart", {{1000, 5, 0}, {1200, 5, 0}, {1400, 0, 0}}},
      {"a stream", {{1000, 5, 0}, {1050, 5, 1150}, {1160, 5, 1260}, {1270, 31, 1370}, {1400, 32, 0}, {1410, 31, 1510}}},
      {"one at a time", {{1000, 0, 0}, {1050, 0, 1150}, {1160, 0, 0}, {1170, 0, 0}, {1180, 3, 0}}},
      {"a long queue ends the ban", {{1000, 0, 0}, {1050, 0, 1150}, {1160, 0, 0}, {1170, 40, 0}, {1180, 3, 1280}}},
  };
  for (size_t k = 0; k < OX_COUNT(cases); k++) {
    ox_patience p = {0};
    for (int i = 0; i < 6 && cases[k].visits[i].now; i++) {
      uint64_t now = cases[k].visits[i].now, until = cases[k].visits[i].until;
      if (ox_patience_is_waiting(&p, now)) fail_msg("%s: visit %d comes too early", cases[k].name, i);
      ox_patience_update(&p, now, cases[k].visits[i].left, 100);
      if (ox_patience_is_waiting(&p, until ? until - 1 : now) != (until != 0) ||
          (until && ox_patience_is_waiting(&p, until)))
        fail_msg("%s: after visit %d", cases[k].name, i);
    }
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_come_out_oldest_first),   cmocka_unit_test(calls_and_tasks_take_turns),
      cmocka_unit_test(thieves_take_several),          cmocka_unit_test(blocks_are_used_again),
      cmocka_unit_test(a_taken_lock_is_walked_around), cmocka_unit_test(each_runs_once),
      cmocka_unit_test(a_unit_may_ask_for_its_task),   cmocka_unit_test(errors_and_rests_are_dropped),
      cmocka_unit_test(patience_is_for_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
