/* SPDX-License-Identifier: Apache-2.0
 * base/huge_pages_test.c - what a guest's kernel says of the blocks that it gives back. */
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
