/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/gather_rows_test.c - tuples of one index, and those that are none. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
/* indices that inference does not see: where the largest elements are */
#define W2 "float[4, 3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"
#define FIND "int64[1] one = {1}, int64[2] pair = {-1, 1}> { v, p = TopK <axis = 0> (s, one) i = Reshape (p, pair) "

static const rg_row rows[] = {
    {G "(float[4, 5] s) => (float[5, 3] y) <" W2 ", " FIND "y = GatherND (x, i) }", "gather-rows",
     "TopK Reshape Gather", 0},
    {G "(float[4, n] s) => (float[n, 1, 2] y) <float[4, 1, 2] x = {1, 2, 3, 4, 5, 6, 7, 8}, " FIND
       "y = GatherND <batch_dims = 0> (x, i) }",
     "gather-rows", "TopK Reshape Gather", 0},
    {G "(float[4, 1] s) => (int64[1] y) <int64[4] x = {5, 6, 7, 8}, " FIND "y = GatherND (x, i) }", "gather-rows",
     "TopK Reshape Gather", 0},
    /* none: of what is computed, tuples of two, a list of tuples in more dimensions, one for each of a batch */
    {G "(float[4, 3] x, float[4, 5] s) => (float[5, 3] y) <" FIND "y = GatherND (x, i) }", "!gather-rows",
     "TopK Reshape GatherND", 0},
    {G "(float[4, 6] s) => (float[3] y) <float[4, 4] x = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, "
       "int64[1] one = {1}, int64[2] pair = {3, 2}> { "
       "v, p = TopK <axis = 0> (s, one) i = Reshape (p, pair) y = GatherND (x, i) }",
     "!gather-rows", "TopK Reshape GatherND", 0},
    {G "(float[4, 6] s) => (float[3, 2, 3] y) <" W2 ", int64[1] one = {1}, int64[3] pair = {3, 2, 1}> { "
       "v, p = TopK <axis = 0> (s, one) i = Reshape (p, pair) y = GatherND (x, i) }",
     "!gather-rows", "TopK Reshape GatherND", 0},
    {G "(float[3, 4] s) => (float[4] y) <" W2 ", " FIND "y = GatherND <batch_dims = 1> (x, i) }", "!gather-rows",
     "TopK Reshape GatherND", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
