/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/core/lifetimes_test.c - what lives at the same time lies apart, and little more memory is taken than
 * the most that lives at a time. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/plan.h"
#include "support/check.h"

enum { MOST = 200, STEPS = 50 };

static struct ox_ep ep;
static dev_part part = {.ep = &ep};

static void assign(dev_plan *p, dev_place *places, size_t n_values, size_t n_temps) {
  *p = (dev_plan){.part = &part, .values = places, .temps = places + n_values, .n_temps = n_temps};
  part.n_values = n_values;
  ox_arena_init(&p->zone, ox_alloc_heap());
  CHECK_OK(dev_lifetimes_assign(p));
  ox_arena_deinit(&p->zone);
}

static const struct {
  const char *name;
  size_t n;
  dev_place place[4];
  size_t work_bytes;
} rows[] = {
    {"nothing", 0, {{0}}, 0},
    {"untouched", 1, {{.bytes = 100, .first = UINT32_MAX}}, 0},
    {"no elements", 1, {{.bytes = 0, .first = 0, .last = 3}}, 0},
    {"not in work memory", 1, {{.kind = DEV_PLACE_INPUT, .bytes = 100, .first = 0, .last = 3}}, 0},
    {"one after the other", 2, {{.bytes = 256, .first = 0, .last = 1}, {.bytes = 256, .first = 2, .last = 3}}, 256},
    {"read while the next is written",
     2,
     {{.bytes = 256, .first = 0, .last = 1}, {.bytes = 256, .first = 1, .last = 2}},
     512},
    {"a chain needs two",
     3,
     {{.bytes = 512, .first = 0, .last = 1},
      {.bytes = 512, .first = 1, .last = 2},
      {.bytes = 512, .first = 2, .last = 3}},
     1024},
    {"rounded up", 2, {{.bytes = 1, .first = 0, .last = 1}, {.bytes = 1, .first = 0, .last = 1}}, 512},
};

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    dev_place places[4];
    dev_plan p;
    memcpy(places, rows[i].place, sizeof places);
    assign(&p, places, rows[i].n, 0);
    if (p.work_bytes != rows[i].work_bytes) fail_msg("%s: %zu bytes", rows[i].name, p.work_bytes);
  }
}

static size_t most_alive(const dev_place *places, size_t n) {
  size_t most = 0;
  for (uint32_t step = 0; step < STEPS; step++) {
    size_t alive = 0;
    for (size_t i = 0; i < n; i++)
      if (places[i].first <= step && step <= places[i].last) alive += OX_ROUND_UP(places[i].bytes, (size_t)256);
    most = OX_MAX(most, alive);
  }
  return most;
}

static void test_at_random(void **state) {
  (void)state;
  srand(11);
  for (int round = 0; round < 200; round++) {
    dev_place places[MOST];
    dev_plan p;
    size_t n = 1 + (size_t)rand() % MOST, n_values = (size_t)rand() % (n + 1);
    for (size_t i = 0; i < n; i++) {
      uint32_t first = (uint32_t)rand() % STEPS;
      uint32_t last = OX_MIN(first + (uint32_t)rand() % 6, (uint32_t)STEPS - 1);
      places[i] = (dev_place){.bytes = 1 + (size_t)rand() % 5000, .first = first, .last = last};
    }
    assign(&p, places, n_values, n - n_values);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++) {
        const dev_place *a = &places[i], *b = &places[j];
        bool together = a->first <= b->last && b->first <= a->last;
        if (together && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
          fail_msg("round %d: %zu and %zu overlap", round, i, j);
      }
    size_t most = most_alive(places, n);
    assert_in_range(p.work_bytes, most, 2 * most);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_at_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
