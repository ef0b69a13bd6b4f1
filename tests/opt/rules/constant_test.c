/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/constant_test.c - Constant, in each of its forms. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G17 "<ir_version: 8, opset_import: [\"\" : 17]> g "

static const rg_row rows[] = {
    {G17 "(float[2] x) => (float[2] y) { c = Constant <value = float {2}> () y = Mul (x, c) }", "constant", "Mul", 0},
    {G17 "(float[2] x) => (float[2] y) { c = Constant <value_floats = [2.0, 3.0]> () y = Mul (x, c) }", "constant",
     "Mul", 0},
    {G17 "(float[2] x) => (float[2] y, float z) { z = Constant <value_float = 2.0> () y = Mul (x, z) }", "!constant",
     "Constant Mul", 0},
    {G17 "(int64[2] x) => (int64[2] y) { c = Constant <value_int = 3> () y = Mul (x, c) }", "constant", "Mul", 0},
    {G17 "(int64[2] x) => (int64[2] y) { c = Constant <value_ints = [2, 3]> () y = Mul (x, c) }", "constant", "Mul", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_BASIC);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
