/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/driver_order_test.c - what comes after what: queues, events, threads, records. */
#include <pthread.h>

#include "plugins/device/short.h"

/* ---- order ---- */

static void test_a_queue_is_in_order(void **state) {
  (void)state;
  enum { STEPS = 100 };
  dev_module *m = build(false);
  dev_kernel *k = kernel(m, "axpb_f32"), *slow = kernel(m, "slow_f32");
  dev_queue *q = queue();
  float back = -1, zero = 0;
  const int long_time = 200000;
  char *a = device_alloc(4), *b = device_alloc(4);
  CHECK_OK(r.v->copy(r.d, q, a, &zero, 4, DEV_TO_DEVICE));
  dev_launch wait = n_launch(slow, a, &long_time);
  CHECK_OK(r.v->launch(q, &wait));
  for (int i = 0; i < STEPS; i++) {
    axpb p = {1, 1.0f, 1.0f};
    dev_launch l = axpb_launch(k, i % 2 ? b : a, i % 2 ? a : b, &p);
    CHECK_OK(r.v->launch(q, &l));
  }
  CHECK_OK(r.v->copy(r.d, q, &back, a, 4, DEV_TO_HOST));
  CHECK_OK(r.v->queue_sync(q));
  assert_true(back == STEPS + 1);
  r.v->queue_release(q);
  r.v->module_release(m);
  r.v->free(r.d, a, 4);
  r.v->free(r.d, b, 4);
}

static void test_events_order_queues(void **state) {
  (void)state;
  dev_module *m = build(false);
  dev_kernel *slow = kernel(m, "slow_f32"), *k = kernel(m, "axpb_f32");
  dev_queue *first = queue(), *second = queue();
  dev_event *e;
  CHECK_OK(r.v->event_create(r.d, &e));
  CHECK_OK(r.v->event_sync(e)); /* nothing recorded: nothing to wait for */
  char *y = device_alloc(4), *z = device_alloc(4);
  for (int pass = 0; pass < 5; pass++) {
    float zero = 0, back;
    const int long_time = 1000000;
    axpb p = {1, 10.0f, 3.0f};
    put(y, &zero, 4);
    dev_launch l = n_launch(slow, y, &long_time), after = axpb_launch(k, y, z, &p);
    CHECK_OK(r.v->launch(first, &l));
    CHECK_OK(r.v->event_record(e, first));
    CHECK_OK(r.v->event_sync(e));
    CHECK_OK(r.v->launch(second, &after));
    CHECK_OK(r.v->queue_sync(second));
    get(&back, z, 4);
    assert_true(back == 13.0f);
  }
  CHECK_OK(r.v->queue_sync(first));
  r.v->event_release(e);
  r.v->queue_release(first);
  r.v->queue_release(second);
  r.v->module_release(m);
  r.v->free(r.d, y, 4);
  r.v->free(r.d, z, 4);
}

typedef struct {
  dev_kernel *k;
  int id;
  bool right;
} worker;

/* One kernel, a queue for each thread: nobody gets another's arguments. */
static void *work(void *arg) {
  worker *w = arg;
  dev_queue *q = NULL;
  void *x = NULL, *y = NULL;
  float back = 0, one = 1;
  axpb p = {1, 1.0f, 0};
  ox_status *st = r.v->queue_create(r.d, &q);
  if (!st) st = r.v->alloc(r.d, 4, &x);
  if (!st) st = r.v->alloc(r.d, 4, &y);
  if (!st) st = r.v->copy(r.d, q, x, &one, 4, DEV_TO_DEVICE);
  w->right = true;
  for (int i = 0; i < 200 && !st && w->right; i++) {
    p.add = (float)(w->id * 1000 + i);
    dev_launch l = axpb_launch(w->k, x, y, &p);
    st = r.v->launch(q, &l);
    if (!st) st = r.v->copy(r.d, q, &back, y, 4, DEV_TO_HOST);
    if (!st) st = r.v->queue_sync(q);
    w->right = back == p.add + 1;
  }
  if (st) w->right = false;
  ox_status_free(st);
  r.v->queue_release(q);
  r.v->free(r.d, x, 4);
  r.v->free(r.d, y, 4);
  return NULL;
}

static void test_threads_share_a_kernel(void **state) {
  (void)state;
  enum { N = 4 };
  dev_module *m = build(false);
  worker workers[N];
  pthread_t threads[N];
  dev_kernel *k = kernel(m, "axpb_f32");
  for (int i = 0; i < N; i++) {
    workers[i] = (worker){k, i, false};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < N; i++) assert_true(workers[i].right);
  r.v->module_release(m);
}

/* ---- records ---- */

/* |n| steps that add 1, and a copy to |z|. */
static dev_record *record(dev_queue *q, dev_kernel *k, void *y, void *z, int n) {
  dev_record *rec;
  CHECK_OK(r.v->record_begin(q));
  for (int i = 0; i < n; i++) {
    axpb p = {1, 1.0f, 1.0f};
    dev_launch l = axpb_launch(k, y, y, &p);
    CHECK_OK(r.v->launch(q, &l));
  }
  if (n) CHECK_OK(r.v->copy(r.d, q, z, y, 4, DEV_WITHIN));
  CHECK_OK(r.v->record_end(q, &rec));
  return rec;
}

static void test_records(void **state) {
  (void)state;
  static const int sizes[] = {0, 1, 2, 200};
  dev_module *m = build(false);
  dev_kernel *k = kernel(m, "axpb_f32");
  dev_queue *q = queue(), *other = queue();
  char *y = device_alloc(4), *z = device_alloc(4);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    float zero = 0, back = -1;
    put(y, &zero, 4);
    put(z, &zero, 4);
    dev_record *rec = record(q, k, y, z, sizes[s]);
    CHECK_OK(r.v->queue_sync(q));
    get(&back, y, 4);
    assert_true(back == 0); /* nothing has run */
    for (int pass = 0; pass < 3; pass++) CHECK_OK(r.v->record_launch(q, rec));
    axpb p = {1, 1.0f, 1000.0f};
    dev_launch l = axpb_launch(k, y, y, &p); /* an ordinary launch in between, of the same kernel */
    CHECK_OK(r.v->launch(q, &l));
    CHECK_OK(r.v->queue_sync(q));
    CHECK_OK(r.v->record_launch(other, rec));
    CHECK_OK(r.v->queue_sync(other));
    get(&back, z, 4);
    assert_true(back == (sizes[s] ? (float)(4 * sizes[s] + 1000) : 0));
    r.v->record_release(rec);
  }
  CHECK_OK(r.v->record_begin(q));
  CHECK_FAILS(r.v->record_begin(q), OX_INVALID_ARGUMENT, "recording");
  r.v->queue_release(q); /* in the middle */
  dev_record *none = (dev_record *)&none;
  CHECK_FAILS(r.v->record_end(other, &none), OX_INVALID_ARGUMENT, "recording");
  assert_null(none);
  r.v->queue_release(other);
  r.v->module_release(m);
  r.v->free(r.d, y, 4);
  r.v->free(r.d, z, 4);
}

#define TESTS(X) X(test_a_queue_is_in_order) X(test_events_order_queues) X(test_threads_share_a_kernel) X(test_records)
RIG_MAIN(TESTS)
