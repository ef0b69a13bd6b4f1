/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/reshape_known_test.c - shapes that are computed from shapes become constants, those from data do not. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G17 "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define CHAIN \
  "s = Shape (x) n = Gather (s, zero) m = Gather (s, one) u = Unsqueeze (n, first) v = Unsqueeze (m, first) "

static const rg_row rows[] = {
    /* both stay where they are; one moves; two are not numbers, and both move */
    {G17 "(float[N, M, 6] x) => (float[N, M, 2, 3] y) <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, "
         "int64[2] rest = {2, 3}> { " CHAIN "t = Concat <axis = 0> (u, v, rest) h = Reshape (x, t) y = Neg (h) }",
     "reshape-known", "Reshape Neg", 0},
    {G17
     "(float[2, N, 6] x) => (float[N, 12] y) <int64 one = {1}, int64[1] first = {0}, int64[1] rest = {12}> { "
     "s = Shape (x) m = Gather (s, one) v = Unsqueeze (m, first) t = Concat <axis = 0> (v, rest) h = Reshape (x, t) "
     "y = Neg (h) }",
     "reshape-known", "Reshape Neg", 0},
    {G17 "(float[N, M, 6] x) => (float[M, N, 6] y) <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, "
         "int64[1] rest = {6}> { " CHAIN "t = Concat <axis = 0> (v, u, rest) h = Reshape (x, t) y = Neg (h) }",
     "!reshape-known", "Shape Gather Gather Unsqueeze Unsqueeze Concat Reshape Neg", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_BASIC);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
