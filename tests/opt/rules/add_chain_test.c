/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/add_chain_test.c - sums with constants in a row. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G17 "<ir_version: 8, opset_import: [\"\" : 17]> g "

static const rg_row rows[] = {
    {G17 "(float[4, 2] x) => (float[4, 2] y) <float[2] a = {1, 2}> { h = Add (x, a) y = Add (a, h) }", "add-chain",
     "Add", 1e-6},
    {G17 "(float[4, 2] x) => (float[4, 2] y) <float[2] a = {1, 2}, float[1] b = {-3}> { h = Add (a, x) "
         "y = Add (h, b) }",
     "add-chain", "Add", 1e-6},
    /* their sum is larger than both; the first sum is read elsewhere; a constant that comes later; integers */
    {G17 "(float[4, 2] x) => (float[4, 2] y) <float[2] a = {1, 2}, float[4, 1] b = {1, 2, 3, 4}> { h = Add (x, a) "
         "y = Add (h, b) }",
     "!add-chain", "Add Add", 0},
    {G17 "(float[4, 2] x) => (float[4, 2] y, float[4, 2] z) <float[2] a = {1, 2}> { h = Add (x, a) y = Add (h, a) "
         "z = Neg (h) }",
     "!add-chain", "Add Add Neg", 0},
    {G17 "(float[4, 2] x, float[4, 2] z) => (float[4, 2] y) <float[2] a = {1, 2}> { h = Add (x, a) y = Add (h, z) }",
     "!add-chain", "Add Add", 0},
    {G17 "(int32[4, 2] x) => (int32[4, 2] y) <int32[2] a = {1, 2}> { h = Add (x, a) y = Add (h, a) }", "!add-chain",
     "Add Add", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_BASIC);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
