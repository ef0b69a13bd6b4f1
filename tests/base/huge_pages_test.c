/* SPDX-License-Identifier: Apache-2.0
 * base/huge_pages_test.c - what a guest's kernel says of the blocks that it gives back, and memory that is touched
 * beforehand: its bytes stay, and nothing beside it is touched. */
#define _DEFAULT_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "base/huge_pages.h"
#include "base/macros.h"
#include "support/check.h"

static const struct {
  const char *text;
  bool takes;
} rows[] = {
    {"", false},   {"\n", false}, {"none", false}, {"-1\n", false}, {"4294967295\n", false}, /* nobody reports */
    {"0\n", true}, {"9\n", true}, {"10", true},    {"31\n", false}, {"99999999999999999999", false},
};

static void test_orders(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    if (ox_host_takes_free_blocks(rows[i].text) != rows[i].takes) fail_msg("'%s'", rows[i].text);
}

enum { PAGE = OX_HUGE_PAGE_BYTES, SMALL = 4096, ROOM = 4 * PAGE };

/* From a huge page's start: the part that may be used; what lies outside is not accessible. */
static const struct {
  size_t begin, end;
} parts[] = {
    {0, 0},
    {SMALL, SMALL},
    {0, SMALL},
    {0, PAGE - SMALL},
    {0, PAGE},
    {SMALL, PAGE + SMALL}, /* no whole one */
    {PAGE - SMALL, 2 * PAGE + SMALL},
    {0, 3 * PAGE - SMALL},
    {PAGE, 3 * PAGE},
};

static void test_touch(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(parts); i++)
    for (int fresh = 0; fresh < 2; fresh++) {
      char *room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      assert_true(room != MAP_FAILED);
      char *p = (char *)OX_ROUND_UP((uintptr_t)room, (uintptr_t)PAGE) + parts[i].begin;
      size_t n = parts[i].end - parts[i].begin;
      if (n) assert_int_equal(mprotect(p, n, PROT_READ | PROT_WRITE), 0);
      if (!fresh) memset(p, 1, n);
      ox_huge_pages_touch(p, n);
      for (size_t k = 0; k < n; k++)
        if (p[k] != !fresh) fail_msg("part %zu: byte %zu has changed", i, k);
      munmap(room, ROOM);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders), cmocka_unit_test(test_touch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
