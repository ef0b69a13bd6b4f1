/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/transpose_chain_test.c - Transposes that undo each other, and those that do not. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G17 "<ir_version: 8, opset_import: [\"\" : 17]> g "

static const rg_row rows[] = {
    {G17 "(float[2, 3] x) => (float[2, 3] y) { h = Transpose <perm = [0, 1]> (x) y = Relu (h) }", "transpose-identity",
     "Relu", 0},
    {G17 "(float[2, 3] x) => (float[3, 2] y) { h = Transpose <perm = [1, 0]> (x) y = Relu (h) }", "!transpose-identity",
     "Transpose Relu", 0},
    {G17 "(float[2, 3, 4] x) => (float[4, 3, 2] y) { h = Transpose <perm = [1, 0, 2]> (x) "
         "i = Transpose <perm = [2, 0, 1]> (h) y = Neg (i) }",
     "transpose-transpose", "Transpose Neg", 0},
    {G17 "(float[2, 3] x) => (float[2, 3] y) { h = Transpose (x) i = Transpose (h) y = Neg (i) }", "transpose-back",
     "Neg", 0},
    {G17 "(float[2, 3] x) => (float[2, 3] y, float[3, 2] z) { h = Transpose (x) i = Transpose (h) y = Neg (i) "
         "z = Neg (h) }",
     "transpose-back", "Transpose Neg Neg", 0},
    {G17 "(float[2, 3, 4] x) => (float[4, 3, 2] y, float[3, 2, 4] z) { h = Transpose <perm = [1, 0, 2]> (x) "
         "i = Transpose <perm = [2, 0, 1]> (h) y = Neg (i) z = Neg (h) }",
     "!transpose-transpose", "Transpose Transpose Neg Neg", 0},
    {G17 "(float[2, 3, 4] x) => (float[3, 4, 2] y) { h = Transpose <perm = [1, 0, 2]> (x) "
         "i = Transpose <perm = [0, 2, 1]> (h) y = Neg (i) }",
     "!transpose-back", "Transpose Neg", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_BASIC);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
