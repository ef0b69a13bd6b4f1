/* SPDX-License-Identifier: Apache-2.0
 * support/count_units.h - units and tiles that count themselves in an atomic_int. */
#ifndef OX_TESTS_COUNT_UNITS_H
#define OX_TESTS_COUNT_UNITS_H

#include <stdatomic.h>

#include "onyx/task.h"

static inline ox_status *count(void *payload, uint32_t unit) {
  (void)unit;
  atomic_fetch_add((atomic_int *)payload, 1);
  return NULL;
}
static inline ox_status *count_tiles(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  (void)worker;
  atomic_fetch_add((atomic_int *)ctx, (int)(end - begin));
  return NULL;
}

#endif
