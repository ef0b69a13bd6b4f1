/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/driver_faults_test.c - a day in a driver's life, in which everything fails once: each allocation of
 * the host, each call of the API. It ends in a status each time, and nothing is left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/rig.h"

typedef struct {
  dev_module *module, *again;
  dev_queue *q, *other;
  dev_event *event;
  dev_record *record;
  void *x, *y;
  unsigned char *binary;
} day;

enum { N = 1000 };
static const size_t large = (size_t)9 << 20; /* more than one piece of a copy in pieces */

typedef struct {
  int n;
  float scale, add;
} axpb;

static ox_status *put_two(rig *r, dev_queue *q, dev_kernel *k, const day *d) {
  axpb p = {N, 2.0f, 1.0f};
  for (int i = 0; i < 2; i++) {
    dev_launch l = {.kernel = k,
                    .groups = {(N + 63) / 64, 1, 1},
                    .items = 64,
                    .n_buffers = 2,
                    .buffers = {i ? d->y : d->x, i ? d->x : d->y},
                    .params = &p,
                    .params_bytes = sizeof p};
    OX_TRY(r->v->launch(q, &l));
  }
  return r->v->copy(r->d, q, d->y, d->x, N * sizeof(float), DEV_WITHIN);
}

static ox_status *build_twice(rig *r, day *d, dev_kernel **out_kernel) {
  size_t n = 0;
  OX_TRY(r->v->build(r->d, "test", rig_source(false), NULL, 0, &d->module));
  const void *binary = r->v->module_binary(d->module, &n);
  if (!binary) return ox_fail(OX_FAIL, "there is no binary");
  d->binary = malloc(n);
  memcpy(d->binary, binary, n);
  OX_TRY(r->v->build(r->d, "test", NULL, d->binary, n, &d->again));
  return r->v->kernel(d->again, "axpb_f32", out_kernel);
}

static ox_status *multiply(rig *r, const day *d, dev_after after) {
  dev_gemm g = {.dtype = OX_F32, .batch = 1, .m = 128, .n = 128, .k = 128, .a = d->x, .b = d->x, .c = d->y};
  bool taken = false;
  g.after = after;
  OX_TRY(r->v->gemm_takes(r->d, &g, &taken));
  return taken ? r->v->gemm(d->q, &g) : NULL;
}

/* Of k x k taps; those of 1 x 1 are timed as products, too. */
static ox_status *convolve(rig *r, const day *d, int k, dev_after after) {
  dev_conv c = {.dtype = OX_F32,
                .n = 1,
                .c = 128,
                .h = 16,
                .w = 16,
                .o = 128,
                .kh = k,
                .kw = k,
                .group = 1,
                .stride = {1, 1},
                .dilation = {1, 1},
                .pads = {k / 2, k / 2, k / 2, k / 2},
                .oh = 16,
                .ow = 16,
                .x = d->x,
                .weights = d->x,
                .y = d->y};
  bool taken = false;
  c.after = after;
  OX_TRY(r->v->conv_takes(r->d, &c, &taken));
  return taken ? r->v->conv(d->q, &c) : NULL;
}

/* By a vendor's library, if there is one that takes it, also with what it does while it stores. What it computes is for
 * driver_libraries_test.c. */
static ox_status *use_libraries(rig *r, const day *d) {
  const dev_after plain = {0}, bias = {.with_bias = true, .bias = d->x},
                  both = {.with_bias = true, .with_add = true, .bias = d->x, .add = d->x},
                  relu = {.with_bias = true, .relu = true, .bias = d->x},
                  all = {.with_bias = true, .with_add = true, .relu = true, .bias = d->x, .add = d->x};
  if (!r->v->gemm_takes) return NULL;
  OX_TRY(multiply(r, d, plain));
  OX_TRY(multiply(r, d, bias));
  OX_TRY(multiply(r, d, both));
  OX_TRY(convolve(r, d, 3, plain));
  OX_TRY(convolve(r, d, 3, relu));
  OX_TRY(convolve(r, d, 3, all));
  OX_TRY(convolve(r, d, 1, plain));
  OX_TRY(convolve(r, d, 1, relu));
  return r->v->queue_sync(d->q);
}

static ox_status *live_through(rig *r, day *d, float *host, float *back) {
  dev_kernel *k;
  OX_TRY(rig_open(r));
  OX_TRY(r->v->alloc(r->d, large, &d->x));
  OX_TRY(r->v->alloc(r->d, large, &d->y));
  OX_TRY(build_twice(r, d, &k));
  OX_TRY(r->v->queue_create(r->d, &d->q));
  OX_TRY(r->v->queue_create(r->d, &d->other));
  OX_TRY(r->v->event_create(r->d, &d->event));
  OX_TRY(use_libraries(r, d));
  OX_TRY(r->v->copy(r->d, d->q, d->x, host, large, DEV_TO_DEVICE));
  OX_TRY(put_two(r, d->q, k, d));
  OX_TRY(r->v->event_record(d->event, d->q));
  OX_TRY(r->v->record_begin(d->other));
  ox_status *st = put_two(r, d->other, k, d);
  if (st) return st; /* the queue is released while it records */
  OX_TRY(r->v->record_end(d->other, &d->record));
  OX_TRY(r->v->event_sync(d->event));
  OX_TRY(r->v->record_launch(d->other, d->record));
  OX_TRY(r->v->event_record(d->event, d->other));
  OX_TRY(r->v->event_sync(d->event));
  OX_TRY(r->v->copy(r->d, d->q, back, d->y, large, DEV_TO_HOST));
  OX_TRY(r->v->queue_sync(d->q));
  OX_TRY(r->v->queue_sync(d->other));
  OX_TRY(r->v->copy(r->d, NULL, d->x, host, large, DEV_TO_DEVICE));
  OX_TRY(r->v->copy(r->d, NULL, d->y, d->x, 16, DEV_WITHIN));
  return r->v->copy(r->d, NULL, back + N, d->y, 16, DEV_TO_HOST);
}

static void end(rig *r, day *d) {
  if (r->d) {
    r->v->record_release(d->record);
    r->v->queue_release(d->q);
    r->v->queue_release(d->other);
    r->v->event_release(d->event);
    r->v->module_release(d->module);
    r->v->module_release(d->again);
    r->v->free(r->d, d->x, large);
    r->v->free(r->d, d->y, large);
  }
  free(d->binary);
}

/* One day. |host_fails|: the allocation of the host with this number fails; -1: none. |call|, |code|: of the API. */
static ox_status *one_day(const rig_driver *from, long host_fails, long call, int code, bool *out_right) {
  rig r;
  day d = {0};
  static float *host, *back; /* of all days: filling them takes longer than living */
  if (!host) {
    host = malloc(large), back = malloc(large);
    for (size_t i = 0; i < large / 4; i++) host[i] = (float)(i % 17);
  }
  memset(back, 0, 2 * N * sizeof *back);
  rig_host(&r, from);
  r.heap.fail_at = host_fails;
  if (from->fail_at) from->fail_at(call, code);
  ox_status *st = live_through(&r, &d, host, back);
  *out_right = true; /* x -> ((x * 2 + 1) * 2 + 1) twice */
  for (int i = 0; i < N && !st; i++) *out_right &= back[i] == host[i] * 16 + 15;
  for (int i = 0; i < 4 && !st; i++) *out_right &= back[N + i] == host[i];
  bool lost = from->lost && code == from->lost; /* it stays so; else what is at work has to end */
  if (from->fail_at && !lost) from->fail_at(-1, 0);
  end(&r, &d);
  rig_close(&r);
  if (from->fail_at) from->fail_at(-1, 0);
  return st;
}

static void test_memory_of_the_host_fails(void **state) {
  const rig_driver *from = *state;
  bool right = false;
  long n = 0;
  for (;; n++) {
    ox_status *st = one_day(from, n, -1, 0, &right);
    if (!st) break;
    assert_true(ox_status_code(st) == OX_OUT_OF_MEMORY || strstr(ox_status_message(st), "no binary"));
    ox_status_free(st);
    assert_true(n < 10000);
  }
  assert_true(right && n > 5);
}

static void fail_each_call(const rig_driver *from, int code) {
  bool right = false;
  long n = 0;
  for (;; n++) {
    ox_status *st = one_day(from, -1, n, code, &right);
    if (!st) break;
    if (!*ox_status_message(st)) fail_msg("call %ld: no text", n);
    ox_status_free(st);
    assert_true(n < 10000);
  }
  assert_true(right && n > 20);
}

static void test_calls_fail(void **state) {
  const rig_driver *from = *state;
  if (!from->fail_at) skip();
  for (const int *code = from->codes; *code; code++) fail_each_call(from, *code);
}

static void test_the_device_is_lost(void **state) {
  const rig_driver *from = *state;
  if (!from->lost) skip();
  fail_each_call(from, from->lost);
}

int main(void) {
  const rig_driver *drivers[8];
  int failed = 0;
  rig_find(drivers);
  if (!drivers[0]) printf("skipped: no driver has a device\n");
  for (size_t i = 0; drivers[i]; i++) {
    void *from = (void *)(uintptr_t)drivers[i];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_memory_of_the_host_fails, from),
        cmocka_unit_test_prestate(test_calls_fail, from),
        cmocka_unit_test_prestate(test_the_device_is_lost, from),
    };
    failed += _cmocka_run_group_tests(drivers[i]->driver->name, tests, OX_COUNT(tests), NULL, NULL);
  }
  return failed;
}
