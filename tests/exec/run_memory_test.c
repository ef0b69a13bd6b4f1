/* SPDX-License-Identifier: Apache-2.0
 * exec/run_memory_test.c - what a run takes counts for as much as it takes, however small the pieces are. */
#include "exec/run_memory.h"

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"

static void trim(void *ctx) { (void)ctx; }

static void test_a_piece_counts_for_what_it_takes(void **state) {
  static const size_t sizes[] = {0, 1, 4, 15, 16, 17, 63, 64, 65, sizeof(ox_tensor), 1000};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(sizes); i++) {
    counting_alloc count = {.fail_at = -1};
    ox_workspace w = {.trim = trim};
    ox_run_memory m;
    ox_run_memory_init(&m, counting_alloc_of(&count));
    char *one = ox_run_memory_take(&m, &w, sizes[i]);
    size_t before = w.of_run;
    char *two = ox_run_memory_take(&m, &w, sizes[i]); /* in the same block, right behind it */
    assert_non_null(one), assert_non_null(two);
    if (w.of_run - before != (size_t)(two - one))
      fail_msg("%zu bytes count for %zu, take %td", sizes[i], w.of_run - before, two - one);
    assert_int_equal(w.held, w.of_run);
    assert_null(ox_run_memory_take(&m, &w, SIZE_MAX));
    ox_run_memory_deinit(&m);
    assert_int_equal(count.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_piece_counts_for_what_it_takes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
