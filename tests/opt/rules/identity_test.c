/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/identity_test.c - operators that hand their input on, and those that do not quite. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G17 "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define G6 "<ir_version: 4, opset_import: [\"\" : 6]> g "

static const rg_row rows[] = {
    {G17 "(float[2] x) => (float[2] y) { h = Dropout (x) y = Relu (h) }", "dropout", "Relu", 0},
    {G17 "(float[2] x) => (float[2] y, bool[2] k) { h, k = Dropout (x) y = Relu (h) }", "!dropout", NULL, 0},
    {G17 "(float[2] x) => (float[2] y) { h = Cast <to = 1> (x) y = Relu (h) }", "cast-same-type", "Relu", 0},
    {G17 "(float[2] x) => (double[2] y) { h = Cast <to = 11> (x) y = Relu (h) }", "!cast-same-type", "Cast Relu", 0},
    {G6 "(float[4] x) => (float[4] y) { h = Dropout <is_test = 0> (x) y = Neg (h) }", "!dropout", NULL, 0},
    {G17 "(float[2] x) => (float[2] y) { a = Identity (x) y = Relu (a) }", "identity", "Relu", 0},
    {G17 "(float[2] x) => (float[2] y) { y = Identity (x) }", "!identity", "Identity", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_BASIC);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
