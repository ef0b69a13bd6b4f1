/* SPDX-License-Identifier: Apache-2.0
 * support/bad_input.h - what the tests of bad input and of missing resources share. */
#ifndef OX_TESTS_BAD_INPUT_H
#define OX_TESTS_BAD_INPUT_H

#include <stdatomic.h>

#include "onyx/task.h"
#include "support/check.h"
#include "support/count_units.h"

#define OPTS(...) (&(ox_pool_opts){.struct_size = sizeof(ox_pool_opts), __VA_ARGS__})

static const uint32_t sizes[] = {1, 2, 4}; /* of pools */

static inline ox_status *submit(ox_pool *pool, ox_unit_fn fn, void *payload, uint32_t n_units, ox_task *const *parents,
                         uint32_t n_parents, ox_task **out) {
  ox_task_opts o = {.struct_size = sizeof o,
                    .flags = OX_TASK_ASYNC,
                    .n_units = n_units,
                    .fn = fn,
                    .payload = payload,
                    .parents = parents,
                    .n_parents = n_parents};
  return ox_task_submit(pool, &o, out);
}

static inline ox_status *refuse_unit(void *payload, uint32_t unit) {
  (void)payload, (void)unit;
  return ox_task_error(OX_LIMIT, "on purpose");
}

/* The pool still works. */
static inline void check_works(ox_pool *pool) {
  atomic_int n = 0;
  ox_task *t;
  CHECK_OK(ox_task_for(pool, 1000, count_tiles, &n));
  CHECK_OK(submit(pool, count, &n, 1000, NULL, 0, &t));
  CHECK_OK(ox_task_wait_release(t));
  assert_int_equal(n, 2000);
}

#endif
