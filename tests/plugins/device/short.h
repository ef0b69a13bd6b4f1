/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/short.h - short forms for tests of drivers: each test has a device of its own. */
#ifndef OX_TESTS_DEVICE_SHORT_H
#define OX_TESTS_DEVICE_SHORT_H

#include <stdio.h>
#include <string.h>

#include "plugins/device/rig.h"

static rig r; /* of the test that runs */

static inline int setup(void **state) {
  rig_host(&r, *state);
  CHECK_OK(rig_open(&r));
  return 0;
}

static inline int teardown(void **state) {
  (void)state;
  rig_close(&r);
  return 0;
}

static inline void *device_alloc(size_t bytes) {
  void *p;
  CHECK_OK(r.v->alloc(r.d, bytes, &p));
  return p;
}

static inline void put(void *to, const void *from, size_t bytes) {
  CHECK_OK(r.v->copy(r.d, NULL, to, from, bytes, DEV_TO_DEVICE));
}

static inline void get(void *to, const void *from, size_t bytes) {
  CHECK_OK(r.v->copy(r.d, NULL, to, from, bytes, DEV_TO_HOST));
}

static inline dev_module *build(bool f16) {
  dev_module *m;
  CHECK_OK(r.v->build(r.d, "test", rig_source(f16), NULL, 0, &m));
  return m;
}

static inline dev_kernel *kernel(dev_module *m, const char *name) {
  dev_kernel *k;
  CHECK_OK(r.v->kernel(m, name, &k));
  return k;
}

static inline dev_queue *queue(void) {
  dev_queue *q;
  CHECK_OK(r.v->queue_create(r.d, &q));
  return q;
}

typedef struct {
  int n;
  float scale, add;
} axpb;

static inline dev_launch axpb_launch(dev_kernel *k, void *x, void *y, const axpb *p) {
  return (dev_launch){.kernel = k,
                      .groups = {(uint32_t)(p->n + 63) / 64, 1, 1},
                      .items = 64,
                      .n_buffers = 2,
                      .buffers = {x, y},
                      .params = p,
                      .params_bytes = sizeof *p};
}

static inline dev_launch n_launch(dev_kernel *k, void *y, const int *n) {
  return (dev_launch){.kernel = k,
                      .groups = {1, 1, 1},
                      .items = 1,
                      .n_buffers = 1,
                      .buffers = {y},
                      .params = n,
                      .params_bytes = sizeof *n};
}

/* A main function of the tests that TESTS lists, for each driver. */
#define RIG_ROW(fn) {#fn, fn, setup, teardown, from},
#define RIG_MAIN(TESTS)                                                                                             \
  int main(void) {                                                                                                  \
    const rig_driver *drivers[8];                                                                                   \
    int failed = 0;                                                                                                 \
    rig_find(drivers);                                                                                              \
    if (!drivers[0]) printf("skipped: no driver has a device\n");                                                   \
    for (size_t i = 0; drivers[i]; i++) {                                                                           \
      void *from = (void *)(uintptr_t)drivers[i];                                                                   \
      const struct CMUnitTest tests[] = {TESTS(RIG_ROW)};                                                           \
      failed += _cmocka_run_group_tests(drivers[i]->driver->name, tests, sizeof tests / sizeof *tests, NULL, NULL); \
    }                                                                                                               \
    return failed;                                                                                                  \
  }

#endif
