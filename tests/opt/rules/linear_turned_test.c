/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/linear_turned_test.c - products over channels that are turned to the end and back. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "float[2, 3] w = {1, -2, 3, 4, 5, 6}"
#define B "float[3] b = {1, 2, -3}"
#define ENDS "(float[2, 2, 3, 5] x) => (float[2, 3, 3, 5] y) "
#define THERE "t = Transpose <perm = [0, 2, 3, 1]> (x) "
#define BACK "y = Transpose <perm = [0, 3, 1, 2]> "

static const rg_row rows[] = {
    {G ENDS "<" W "> { " THERE "p = MatMul (t, w) " BACK "(p) }", "linear-turned", "Conv", 1e-6},
    {G ENDS "<" W ", " B "> { " THERE "p = MatMul (t, w) q = Add (b, p) " BACK "(q) }", "linear-turned", "Conv", 1e-6},
    {G ENDS "<" W ", float[1, 1, 1, 3] b = {1, 2, -3}> { " THERE "p = MatMul (t, w) q = Add (p, b) " BACK "(q) }",
     "linear-turned", "Conv", 1e-6},
    {G "(float[2, 2, 4] x) => (float[2, 3, 4] y) <" W "> { t = Transpose <perm = [0, 2, 1]> (x) p = MatMul (t, w) "
       "y = Transpose <perm = [0, 2, 1]> (p) }",
     "linear-turned", "Conv", 1e-6},
    /* not: not back, a bias along another axis, one that is no constant, other users */
    {G "(float[2, 2, 3, 5] x) => (float[2, 3, 5, 3] y) <" W "> { " THERE "p = MatMul (t, w) "
       "y = Transpose <perm = [0, 3, 2, 1]> (p) }",
     "!linear-turned", "Transpose MatMul Transpose", 1e-6},
    {G ENDS "<" W ", float[5, 1] b = {1, 2, -3, 4, 5}> { " THERE "p = MatMul (t, w) q = Add (p, b) " BACK "(q) }",
     "!linear-turned", "Transpose Linear Transpose", 1e-6},
    {G "(float[2, 2, 3, 5] x, float[3] b) => (float[2, 3, 3, 5] y) <" W "> { " THERE
       "p = MatMul (t, w) q = Add (p, b) " BACK "(q) }",
     "!linear-turned", "Transpose Linear Transpose", 1e-6},
    {G "(float[2, 2, 3, 5] x) => (float[2, 3, 3, 5] y, float[2, 3, 5, 3] z) <" W "> { " THERE
       "p = MatMul (t, w) z = Relu (p) " BACK "(p) }",
     "!linear-turned", "Transpose MatMul Relu Transpose", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
