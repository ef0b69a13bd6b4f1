/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/scatter_slices_test.c - assignments to slices as exporters write them, and tuples that are no grid. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define LISTS "int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3}, int64[1] last = {-1}"

static const rg_row rows[] = {
    /* x[:, 1:3] = u, all of the first axis by a Range that is computed */
    {HEAD "(float[N, 4] x, float[N, 2] u, int64[2] grid) => (float[N, 4] y) <" LISTS ", int64[2] down = {-1, 1}> {"
          "s = Shape (x) n = Gather (s, zero) r = Range (zero, n, one) rows = Reshape (r, down) "
          "columns = Range (one, three, one) g = Shape (u) a = Expand (rows, g) b = Expand (columns, g) "
          "a1 = Unsqueeze (a, last) b1 = Unsqueeze (b, last) t = Concat <axis = -1> (a1, b1) "
          "y = ScatterND (x, t, u) }",
     "scatter-slices", NULL, 0},
    {HEAD "(float[3, 4] x, float[2, 2] u, int64[2, 1] i, int64[1, 2] j) => (float[3, 4] y) "
          "<int64[2] g = {2, 2}, int64[1] last = {-1}> {"
          "z = Sub (i, i) k = Sub (j, j) a = Expand (z, g) b = Expand (k, g) a1 = Unsqueeze (a, last) "
          "b1 = Unsqueeze (b, last) t = Concat <axis = 2> (a1, b1) y = ScatterND (x, t, u) }",
     "scatter-slices", "Sub Sub Reshape Reshape ScatterGrid", 0},
    /* axes in another order; a list of pairs; sums */
    {HEAD "(float[3, 4] x, float[2, 2] u, int64[2, 1] i, int64[1, 2] j) => (float[3, 4] y) "
          "<int64[2] g = {2, 2}, int64[1] last = {-1}> {"
          "z = Sub (i, i) k = Sub (j, j) a = Expand (z, g) b = Expand (k, g) a1 = Unsqueeze (a, last) "
          "b1 = Unsqueeze (b, last) t = Concat <axis = 2> (b1, a1) y = ScatterND (x, t, u) }",
     "!scatter-slices", NULL, 0},
    {HEAD "(float[3, 4] x, float[2] u, int64[2] i, int64[2] j) => (float[3, 4] y) <int64[1] last = {-1}> {"
          "z = Sub (i, i) k = Sub (j, j) a1 = Unsqueeze (z, last) b1 = Unsqueeze (k, last) "
          "t = Concat <axis = 1> (a1, b1) y = ScatterND (x, t, u) }",
     "!scatter-slices", NULL, 0},
    {HEAD "(float[3, 4] x, float[2, 2] u, int64[2, 1] i, int64[1, 2] j) => (float[3, 4] y) "
          "<int64[2] g = {2, 2}, int64[1] last = {-1}> {"
          "z = Sub (i, i) k = Sub (j, j) a = Expand (z, g) b = Expand (k, g) a1 = Unsqueeze (a, last) "
          "b1 = Unsqueeze (b, last) t = Concat <axis = 2> (a1, b1) y = ScatterND <reduction = \"add\"> (x, t, u) }",
     "!scatter-slices", NULL, 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
