/* SPDX-License-Identifier: Apache-2.0
 * plan/memplan_test.c - no two live items overlap, and simple cases are tight. */
#include "plan/memplan.h"

#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"

static size_t room(size_t bytes) { return OX_ROUND_UP(bytes + OX_PAD_BYTES, (size_t)OX_ALIGN_BYTES); }

static void check_plan(const ox_lifetime *items, size_t n, size_t total) {
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(items[i].offset % OX_ALIGN_BYTES, 0);
    assert_true(items[i].offset + items[i].bytes + OX_PAD_BYTES <= total);
    for (size_t k = 0; k < i; k++) {
      bool together = items[i].first <= items[k].last && items[k].first <= items[i].last;
      bool apart = items[i].offset + items[i].bytes <= items[k].offset || items[k].offset + items[k].bytes <= items[i].offset;
      if (together && !apart && items[i].bytes && items[k].bytes) fail_msg("items %zu and %zu overlap", k, i);
    }
  }
}

static const struct {
  const char *name;
  size_t n;
  ox_lifetime items[6];
  size_t want; /* rooms of 1000 bytes */
} cases[] = {
    {"nothing", 0, {{0}}, 0},
    {"one", 1, {{1000, 0, 0, 0}}, 1},
    {"a chain takes two", 4, {{1000, 0, 1, 0}, {1000, 1, 2, 0}, {1000, 2, 3, 0}, {1000, 3, 4, 0}}, 2},
    {"all live at once", 3, {{1000, 0, 5, 0}, {1000, 1, 5, 0}, {1000, 2, 5, 0}}, 3},
    {"one after the other", 2, {{1000, 0, 0, 0}, {1000, 1, 1, 0}}, 1},
    {"small ones first would leave no hole",
     4,
     {{1000, 0, 1, 0}, {1000, 1, 4, 0}, {1000, 1, 2, 0}, {3 * 1088 - OX_PAD_BYTES, 3, 4, 0}},
     4},
    {"holes join", 4, {{1000, 0, 1, 0}, {1000, 0, 1, 0}, {1000, 0, 9, 0}, {2 * 1088 - OX_PAD_BYTES, 2, 3, 0}}, 3},
};

static void test_simple_cases_are_tight(void **state) {
  (void)state;
  for (size_t c = 0; c < OX_COUNT(cases); c++) {
    ox_lifetime items[6];
    size_t total;
    memcpy(items, cases[c].items, sizeof items);
    CHECK_OK(ox_memplan(ox_alloc_heap(), items, cases[c].n, &total));
    check_plan(items, cases[c].n, total);
    if (total != cases[c].want * room(1000)) fail_msg("%s: %zu bytes, wanted %zu", cases[c].name, total, cases[c].want * room(1000));
  }
}

static void test_random_lifetimes_never_overlap(void **state) {
  (void)state;
  uint64_t seed = 5;
  for (int round = 0; round < 200; round++) {
    ox_lifetime items[120];
    size_t total, sum = 0;
    uint32_t step = 0;
    for (size_t i = 0; i < OX_COUNT(items); i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      step += seed >> 60 & 1;
      items[i] = (ox_lifetime){(seed >> 33) % 5000, step, step + (uint32_t)(seed >> 50) % 9, 0};
      sum += room(items[i].bytes);
    }
    CHECK_OK(ox_memplan(ox_alloc_heap(), items, OX_COUNT(items), &total));
    check_plan(items, OX_COUNT(items), total);
    assert_true(total <= sum);
  }
}

static void test_limits(void **state) {
  (void)state;
  size_t total;
  ox_lifetime huge = {SIZE_MAX / 2, 0, 0, 0}, small = {10, 0, 0, 0};
  CHECK_FAILS(ox_memplan(ox_alloc_heap(), &huge, 1, &total), OX_LIMIT, "address space");
  for (long fail = 0; fail < 2; fail++) {
    counting_alloc count = {.fail_at = fail};
    CHECK_FAILS(ox_memplan(counting_alloc_of(&count), &small, 1, &total), OX_OUT_OF_MEMORY, "memory");
    assert_int_equal(atomic_load(&count.live), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_simple_cases_are_tight),
                                     cmocka_unit_test(test_random_lifetimes_never_overlap), cmocka_unit_test(test_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
