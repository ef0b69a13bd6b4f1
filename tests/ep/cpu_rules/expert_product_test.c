/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/expert_product_test.c - products by matrices that an index picks. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "float[3, 2, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, -1, 2, -3, 4, -5, 6, -7, 8, 0, 1, 0, -1, 2, 0, 3, 0}"
/* an index for each column of s */
#define FIND "int64[1] one = {1}, int64[1] flat = {-1}> { v, p = TopK <axis = 0> (s, one) i = Reshape (p, flat) "

static const rg_row rows[] = {
    {G "(float[5, 4, 1] x, float[3, 5] s) => (float[5, 2, 1] y) <" W ", " FIND "m = Gather (w, i) y = MatMul (m, x) }",
     "expert-columns", "TopK Reshape ExpertMatMul", 1e-6},
    {G "(float[5, 1, 2] x, float[3, 5] s) => (float[5, 1, 4] y) <" W ", " FIND
       "m = Gather <axis = -3> (w, i) y = MatMul (x, m) }",
     "expert-rows", "TopK Reshape ExpertMatMul", 1e-6},
    {G "(float[n, 4, 1] x, float[3, n] s) => (float[n, 2, 1] y) <" W ", " FIND "m = Gather (w, i) y = MatMul (m, x) }",
     "expert-columns", "TopK Reshape ExpertMatMul", 1e-6},
    /* one vector for all matrices, one matrix for all vectors */
    {G "(float[1, 4, 1] x, float[3, 5] s) => (float[5, 2, 1] y) <" W ", " FIND "m = Gather (w, i) y = MatMul (m, x) }",
     "expert-columns", "TopK Reshape ExpertMatMul", 1e-6},
    {G "(float[5, 1, 2] x, float[3, 1] s) => (float[5, 1, 4] y) <" W ", " FIND "m = Gather (w, i) y = MatMul (x, m) }",
     "expert-rows", "TopK Reshape ExpertMatMul", 1e-6},
    /* by tuples of one index */
    {G "(float[5, 4, 1] x, float[3, 5] s) => (float[5, 2, 1] y) <" W ", int64[2] pair = {-1, 1}, " FIND
       "t = Reshape (p, pair) m = GatherND (w, t) y = MatMul (m, x) }",
     "expert-columns", "TopK Reshape ExpertMatMul", 1e-6},
    /* none: several vectors for each, rows of matrices, matrices that change, that others read, in two dimensions */
    {G "(float[5, 4, 2] x, float[3, 5] s) => (float[5, 2, 2] y) <" W ", " FIND "m = Gather (w, i) y = MatMul (m, x) }",
     "!expert-columns", "TopK Reshape Gather MatMul", 1e-6},
    {G "(float[5, 3, 2] x, float[3, 5] s) => (float[5, 3, 4] y) <" W ", " FIND "m = Gather (w, i) y = MatMul (x, m) }",
     "!expert-rows", "TopK Reshape Gather MatMul", 1e-6},
    {G "(float[3, 4, 1] x, float[2, 5] s) => (float[3, 5, 1] y) <" W ", " FIND
       "m = Gather <axis = 1> (w, i) y = MatMul (m, x) }",
     "!expert-columns", "TopK Reshape Gather MatMul", 1e-6},
    {G "(float[3, 2, 4] w, float[5, 4, 1] x, float[3, 5] s) => (float[5, 2, 1] y) <" FIND
       "m = Gather (w, i) y = MatMul (m, x) }",
     "!expert-columns", "TopK Reshape Gather MatMul", 1e-6},
    {G "(float[5, 4, 1] x, float[3, 5] s) => (float[5, 2, 1] y, float[5, 2, 4] m) <" W ", " FIND
       "m = Gather (w, i) y = MatMul (m, x) }",
     "!expert-columns", "TopK Reshape Gather MatMul", 1e-6},
    {G "(float[5, 4, 1] x, float[3, 5] s) => (float[1, 5, 2, 1] y) <" W ", int64[1] one = {1}> { "
       "v, i = TopK <axis = 0> (s, one) m = Gather (w, i) y = MatMul (m, x) }",
     "!expert-columns", "TopK Gather MatMul", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
