/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/cache_shape_test.c - shapes of caches with their new rows, and of what is no cache. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD                                                                                       \
  "<ir_version: 8, opset_import: [\"\" : 17]> g (float[B, 3, P, 4] past, float[B, S, 3, 4] rows, " \
  "float[B, 3, S, 4] split) => (float[B, 3, T, 4] k, int64[n] y) { "
#define TURNED "r = Transpose <perm = [0, 2, 1, 3]> (rows) "

static const rg_row rows[] = {
    {HEAD TURNED "k = Concat <axis = 2> (past, r) y = Shape (k) }", "cache-shape",
     "Transpose Concat Shape Shape Gather Mul Add", 0},
    {HEAD "k = Concat <axis = -2> (past, split) y = Shape (k) }", "cache-shape", "Concat Shape Shape Gather Mul Add",
     0},
    {HEAD TURNED "k = Concat <axis = 2> (past, r) s = Shape (k) y = Neg (s) z = Shape (k) }", "cache-shape", NULL, 0},
    /* another axis; a part of the shape; more than one addition; a first operand that is computed */
    {HEAD "k = Concat <axis = 0> (past, past) y = Shape (k) }", "!cache-shape", NULL, 0},
    {HEAD "k = Concat <axis = 2> (past, split) y = Shape <start = 2> (k) }", "!cache-shape", NULL, 0},
    {HEAD "k = Concat <axis = 2> (past, split) y = Shape <end = -1> (k) }", "!cache-shape", NULL, 0},
    {HEAD "k = Concat <axis = 2> (past, split, split) y = Shape (k) }", "!cache-shape", NULL, 0},
    {HEAD "p = Neg (past) k = Concat <axis = 2> (p, split) y = Shape (k) }", "!cache-shape", NULL, 0},
    {HEAD "k = Neg (past) c = Concat <axis = 2> (past, split) y = Shape (c) }", "!cache-shape", NULL, 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
