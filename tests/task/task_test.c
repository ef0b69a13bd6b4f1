/* SPDX-License-Identifier: Apache-2.0
 * task/task_test.c - units run once, after their parents; payloads, counts, errors, cancellation, time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onyx/task.h"
#include "support/check.h"
#include "support/pool_backend.h"

static const uint32_t sizes[] = {1, 2, 3, 8};

#define FOR_EACH_POOL(pool)                       \
  for (size_t s_ = 0; s_ < OX_COUNT(sizes); s_++) \
    for (ox_pool *pool = test_pool(sizes[s_]); pool; ox_pool_destroy(pool), pool = NULL)

static ox_status *submit(ox_pool *pool, uint32_t n, ox_unit_fn fn, void *payload, ox_task *const *parents,
                         uint32_t n_parents, uint32_t flags, ox_task **out) {
  ox_task_opts o = {.struct_size = sizeof o,
                    .flags = flags,
                    .n_units = n,
                    .fn = fn,
                    .payload = payload,
                    .parents = parents,
                    .n_parents = n_parents};
  return ox_task_submit(pool, &o, out);
}

static ox_status *hit(void *payload, uint32_t unit) {
  atomic_fetch_add(&((atomic_int *)payload)[unit], 1);
  return NULL;
}

static void every_unit_runs_once(void **state) {
  (void)state;
  static const uint32_t counts[] = {1, 2, 3, 63, 64, 65, 1000, 20011};
  FOR_EACH_POOL(pool) {
    for (size_t i = 0; i < OX_COUNT(counts); i++) {
      atomic_int *hits = calloc(counts[i], sizeof *hits);
      ox_task *t;
      CHECK_OK(submit(pool, counts[i], hit, hits, NULL, 0, OX_TASK_ASYNC, &t));
      assert_non_null(t);
      CHECK_OK(ox_task_wait(t));
      assert_true(ox_task_is_done(t));
      CHECK_OK(ox_task_wait_release(t));
      for (uint32_t k = 0; k < counts[i]; k++) assert_int_equal(hits[k], 1);
      free((void *)hits);
    }
  }
}

static void null_is_a_task_that_ended_well(void **state) {
  (void)state;
  ox_task_release(NULL), ox_task_cancel(NULL);
  CHECK_OK(ox_task_wait(NULL));
  CHECK_OK(ox_task_wait_release(NULL));
  assert_true(ox_task_is_done(NULL));
  assert_null(ox_task_retain(NULL));
  assert_null(ox_task_kept(NULL));
  assert_true(ox_task_ms(NULL) == 0 && ox_task_ms_between(NULL, NULL) == 0);
}

static void small_tasks_run_at_once(void **state) {
  (void)state;
  FOR_EACH_POOL(pool) {
    atomic_int hits = 0;
    ox_task *t = (void *)1, *none[] = {NULL, NULL};
    CHECK_OK(submit(pool, 1, hit, &hits, none, 2, 0, &t));
    assert_null(t);
    assert_int_equal(hits, 1);
    CHECK_OK(submit(pool, 0, NULL, NULL, NULL, 0, 0, &t)); /* a barrier that waits for nothing */
    assert_null(t);
    CHECK_OK(submit(pool, 1, hit, &hits, NULL, 0, OX_TASK_ASYNC, &t));
    assert_non_null(t);
    CHECK_OK(ox_task_wait_release(t));
    assert_int_equal(hits, 2);
  }
}

/* A layered graph: each task adds its parents' values to its own 1. */
typedef struct node {
  uint64_t value;
  struct node *parents[6];
  uint32_t n_parents;
} node;

static ox_status *add_parents(void *payload, uint32_t unit) {
  node *n;
  memcpy(&n, payload, sizeof n); /* the payload is a copy of the pointer */
  (void)unit;
  uint64_t v = 1;
  for (uint32_t i = 0; i < n->n_parents; i++) v += n->parents[i]->value;
  n->value = v % 1000003;
  return NULL;
}

static void graphs_run_in_order(void **state) {
  (void)state;
  enum { LAYERS = 40, WIDTH = 13 };
  static node nodes[LAYERS][WIDTH];
  FOR_EACH_POOL(pool) {
    for (int round = 0; round < 8; round++) {
      ox_task *tasks[LAYERS][WIDTH] = {{0}};
      uint64_t want[LAYERS][WIDTH];
      memset(nodes, 0, sizeof nodes);
      for (int l = 0; l < LAYERS; l++)
        for (int w = 0; w < WIDTH; w++) {
          node *n = &nodes[l][w];
          ox_task *parents[6];
          want[l][w] = 1;
          n->n_parents = l ? (uint32_t)(w + round) % 7 : 0; /* 0 .. 6: inline and heap links */
          for (uint32_t k = 0; k < n->n_parents; k++) {
            int from = (w * 5 + (int)k * 3 + 1) % WIDTH;
            n->parents[k] = &nodes[l - 1][from], parents[k] = tasks[l - 1][from], want[l][w] += want[l - 1][from];
          }
          want[l][w] %= 1000003;
          ox_task_opts o = {.struct_size = sizeof o,
                            .flags = OX_TASK_ASYNC,
                            .n_units = 1,
                            .fn = add_parents,
                            .payload = &n,
                            .payload_bytes = sizeof n,
                            .parents = parents,
                            .n_parents = n->n_parents};
          CHECK_OK(ox_task_submit(pool, &o, &tasks[l][w]));
        }
      ox_task *barrier;
      CHECK_OK(submit(pool, 0, NULL, NULL, tasks[LAYERS - 1], WIDTH, 0, &barrier));
      for (int l = 0; l + 1 < LAYERS; l++)
        for (int w = 0; w < WIDTH; w++) ox_task_release(tasks[l][w]);
      CHECK_OK(ox_task_wait_release(barrier));
      for (int w = 0; w < WIDTH; w++) {
        assert_true(ox_task_is_done(tasks[LAYERS - 1][w]));
        ox_task_release(tasks[LAYERS - 1][w]);
      }
      for (int w = 0; w < WIDTH; w++) /* those nobody depends on may still run */
        if (nodes[LAYERS - 1][w].value != want[LAYERS - 1][w])
          fail_msg("node %d: %d, wanted %d", w, (int)nodes[LAYERS - 1][w].value, (int)want[LAYERS - 1][w]);
    }
  }
}

static void barriers_may_form_long_chains(void **state) {
  (void)state;
  FOR_EACH_POOL(pool) {
    atomic_int hits = 0;
    ox_task *last;
    CHECK_OK(submit(pool, 1, hit, &hits, NULL, 0, OX_TASK_ASYNC, &last));
    for (int i = 0; i < 100000; i++) {
      ox_task *next;
      CHECK_OK(submit(pool, 0, NULL, NULL, &last, 1, 0, &next));
      ox_task_release(last);
      last = next;
    }
    CHECK_OK(ox_task_wait_release(last));
    assert_int_equal(hits, 1);
  }
}

static atomic_int deleted;
static void count_delete(void *p) {
  (void)p;
  atomic_fetch_add(&deleted, 1);
}
static ox_status *check_bytes(void *payload, uint32_t unit) {
  const unsigned char *b = payload;
  for (int i = 1; i < b[0]; i++)
    if (b[i] != (unsigned char)(i * 7)) return ox_task_error(OX_FAIL, "payload damaged");
  (void)unit;
  return NULL;
}

static void payloads_are_copied_or_deleted_once(void **state) {
  (void)state;
  static const size_t bytes[] = {1, 8, 16, 17, 127, 128, 129, 5000};
  FOR_EACH_POOL(pool) {
    for (size_t i = 0; i < OX_COUNT(bytes); i++) {
      unsigned char data[5000] = {0};
      data[0] = (unsigned char)OX_MIN(bytes[i], 255u);
      for (int k = 1; k < data[0]; k++) data[k] = (unsigned char)(k * 7);
      ox_task_opts o = {
          .struct_size = sizeof o, .n_units = 5, .fn = check_bytes, .payload = data, .payload_bytes = bytes[i]};
      ox_task *t;
      CHECK_OK(ox_task_submit(pool, &o, &t));
      memset(data, 0xee, sizeof data);
      CHECK_OK(ox_task_wait_release(t));
    }
    static unsigned char one = 1;
    for (uint32_t n = 0; n < 4; n++) {
      atomic_store(&deleted, 0);
      ox_task_opts o = {
          .struct_size = sizeof o, .n_units = n, .fn = check_bytes, .payload = &one, .payload_delete = count_delete};
      ox_task *t;
      CHECK_OK(ox_task_submit(pool, &o, &t));
      CHECK_OK(ox_task_wait_release(t));
      assert_int_equal(deleted, 1);
    }
  }
}

static ox_status *fail_at_three(void *payload, uint32_t unit) {
  atomic_fetch_add((atomic_int *)payload, 1);
  return unit == 3 ? ox_task_error(OX_LIMIT, "unit 3 broke") : NULL;
}

static void the_error_reaches_waiters_and_descendants(void **state) {
  (void)state;
  FOR_EACH_POOL(pool) {
    atomic_int runs = 0, child_runs = 0, anyway_runs = 0;
    ox_task *t, *child, *grandchild, *anyway;
    CHECK_OK(submit(pool, 1000000, fail_at_three, &runs, NULL, 0, 0, &t));
    CHECK_OK(submit(pool, 1, hit, &child_runs, &t, 1, 0, &child));
    CHECK_OK(submit(pool, 0, NULL, NULL, &child, 1, 0, &grandchild));
    CHECK_OK(submit(pool, 1, hit, &anyway_runs, &t, 1, OX_TASK_RUN_ANYWAY, &anyway));
    CHECK_FAILS(ox_task_wait(grandchild), OX_LIMIT, "unit 3 broke");
    CHECK_FAILS(ox_task_wait(t), OX_LIMIT, "unit 3 broke");
    CHECK_FAILS(ox_task_wait(t), OX_LIMIT, "unit 3 broke"); /* each waiter gets its own */
    CHECK_OK(ox_task_wait_release(anyway));
    assert_true(runs < 1000000);
    assert_int_equal(child_runs, 0);
    assert_int_equal(anyway_runs, 1);
    ox_task *late; /* a child of a task that has already failed */
    CHECK_OK(submit(pool, 1, hit, &child_runs, &t, 1, 0, &late));
    CHECK_FAILS(ox_task_wait_release(late), OX_LIMIT, "unit 3 broke");
    assert_int_equal(child_runs, 0);
    ox_task_release(t), ox_task_release(child), ox_task_release(grandchild);
  }
}

static ox_status *wait_for_flag(void *payload, uint32_t unit) {
  (void)unit;
  while (!atomic_load((atomic_int *)payload)) usleep(50);
  return NULL;
}

static void cancelling_reaches_descendants(void **state) {
  (void)state;
  FOR_EACH_POOL(pool) {
    atomic_int go = 0, runs = 0;
    ox_task *first, *child, *grandchild;
    CHECK_OK(submit(pool, 1, wait_for_flag, &go, NULL, 0, OX_TASK_ASYNC, &first));
    CHECK_OK(submit(pool, 1000, hit, &runs, &first, 1, 0, &child));
    CHECK_OK(submit(pool, 1, hit, &runs, &child, 1, 0, &grandchild));
    ox_task_cancel(child);
    atomic_store(&go, 1);
    CHECK_FAILS(ox_task_wait_release(grandchild), OX_CANCELLED, "cancelled");
    CHECK_FAILS(ox_task_wait_release(child), OX_CANCELLED, "cancelled");
    CHECK_OK(ox_task_wait(first));
    ox_task_cancel(first); /* too late */
    CHECK_OK(ox_task_wait_release(first));
    assert_int_equal(runs, 0);
  }
}

typedef struct race {
  ox_task *_Atomic task;
  atomic_int codes, stop;
} race;

/* Cancels each task it is given, at any time of its life, then waits for it. */
static void *cancel_and_wait(void *arg) {
  race *r = arg;
  while (!atomic_load(&r->stop)) {
    ox_task *t = atomic_exchange(&r->task, NULL);
    if (!t) continue;
    ox_task_cancel(t);
    ox_status *st = ox_task_wait_release(t);
    atomic_store(&r->codes, 1 + (int)ox_status_code(st));
    ox_status_free(st);
  }
  return NULL;
}

static void all_who_wait_get_the_same_result(void **state) {
  (void)state;
  ox_pool *pool = test_pool(2);
  race r = {.stop = 0};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, cancel_and_wait, &r), 0);
  atomic_int hits[2] = {0};
  for (int i = 0; i < 3000; i++) {
    ox_task *t;
    r.codes = 0;
    CHECK_OK(submit(pool, 2, hit, hits, NULL, 0, OX_TASK_ASYNC, &t));
    atomic_store(&r.task, ox_task_retain(t));
    ox_status *st = ox_task_wait_release(t);
    int code = (int)ox_status_code(st), other;
    ox_status_free(st);
    while (!(other = atomic_load(&r.codes))) sched_yield();
    assert_int_equal(code, other - 1);
  }
  atomic_store(&r.stop, 1);
  pthread_join(thread, NULL);
  ox_pool_destroy(pool);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  ox_task *t;
  ox_task_opts o = {0};
  CHECK_FAILS(ox_task_submit(NULL, NULL, &t), OX_INVALID_ARGUMENT, "struct_size");
  CHECK_FAILS(ox_task_submit(NULL, &o, &t), OX_INVALID_ARGUMENT, "struct_size");
  o.struct_size = sizeof o, o.n_parents = 1;
  CHECK_FAILS(ox_task_submit(NULL, &o, &t), OX_INVALID_ARGUMENT, "parents");
  o.n_parents = 0, o.payload_bytes = 4;
  CHECK_FAILS(ox_task_submit(NULL, &o, &t), OX_INVALID_ARGUMENT, "payload");
  assert_null(t);
}

static ox_status *nap(void *payload, uint32_t unit) {
  (void)payload, (void)unit;
  usleep(5000);
  return NULL;
}

static void time_is_measured_on_request(void **state) {
  (void)state;
  FOR_EACH_POOL(pool) {
    ox_task *a, *b, *plain;
    CHECK_OK(submit(pool, 1, nap, NULL, NULL, 0, OX_TASK_TIMED, &a));
    CHECK_OK(submit(pool, 1, nap, NULL, &a, 1, OX_TASK_TIMED, &b));
    CHECK_OK(submit(pool, 1, nap, NULL, NULL, 0, OX_TASK_ASYNC, &plain));
    CHECK_OK(ox_task_wait(b));
    CHECK_OK(ox_task_wait(plain));
    assert_true(ox_task_ms(a) >= 4.9 && ox_task_ms(b) >= 4.9 && ox_task_ms_between(a, b) >= 4.9);
    assert_true(ox_task_ms(plain) == 0);
    ox_task_release(a), ox_task_release(b), ox_task_release(plain);
  }
}

static ox_status *keep(void *payload, uint32_t unit) {
  (void)unit;
  ox_task_keep(ox_task_current(), payload, count_delete);
  return ox_task_error(OX_FAIL, "kept");
}

static void one_object_is_kept_until_release(void **state) {
  (void)state;
  FOR_EACH_POOL(pool) {
    atomic_store(&deleted, 0);
    int object;
    ox_task *t;
    assert_null(ox_task_current());
    CHECK_OK(submit(pool, 1, keep, &object, NULL, 0, OX_TASK_ASYNC, &t));
    CHECK_FAILS(ox_task_wait(t), OX_FAIL, "kept");
    assert_ptr_equal(ox_task_kept(t), &object);
    assert_int_equal(deleted, 0);
    ox_task_keep(t, &deleted, count_delete); /* later ones go at once */
    assert_int_equal(deleted, 1);
    ox_task_release(t);
    for (int i = 0; i < 10000 && atomic_load(&deleted) < 2; i++) usleep(100); /* who ran it may let go a little later */
    assert_int_equal(deleted, 2);
  }
}

static void unfinished_tasks_are_discarded_with_the_pool(void **state) {
  (void)state;
  ox_pool *pool = test_pool(1); /* nobody waits, so nothing runs */
  unsigned char big[1000] = {0}, c = 0;
  atomic_store(&deleted, 0);
  ox_task *t;
  ox_task_opts copied = {
      .struct_size = sizeof copied, .n_units = 2, .fn = check_bytes, .payload = big, .payload_bytes = sizeof big};
  ox_task_opts owned = {
      .struct_size = sizeof owned, .n_units = 2, .fn = check_bytes, .payload = &c, .payload_delete = count_delete};
  for (int i = 0; i < 100; i++) CHECK_OK(ox_task_submit(pool, &copied, NULL));
  CHECK_OK(ox_task_submit(pool, &owned, &t));
  ox_task_release(t);
  ox_pool_destroy(pool);
  assert_int_equal(deleted, 1);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_unit_runs_once),
      cmocka_unit_test(null_is_a_task_that_ended_well),
      cmocka_unit_test(small_tasks_run_at_once),
      cmocka_unit_test(graphs_run_in_order),
      cmocka_unit_test(barriers_may_form_long_chains),
      cmocka_unit_test(payloads_are_copied_or_deleted_once),
      cmocka_unit_test(the_error_reaches_waiters_and_descendants),
      cmocka_unit_test(cancelling_reaches_descendants),
      cmocka_unit_test(all_who_wait_get_the_same_result),
      cmocka_unit_test(bad_options_are_refused),
      cmocka_unit_test(time_is_measured_on_request),
      cmocka_unit_test(one_object_is_kept_until_release),
      cmocka_unit_test(unfinished_tasks_are_discarded_with_the_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
