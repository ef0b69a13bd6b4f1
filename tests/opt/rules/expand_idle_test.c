/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/expand_idle_test.c - Expand in front of what broadcasts, idle or not. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G17 "<ir_version: 8, opset_import: [\"\" : 17]> g "

static const rg_row rows[] = {
    {G17 "(float[2, 3] x, float[2, 1] n) => (float[2, 3] y) <int64[2] s = {2, 3}> { e = Expand (n, s) "
         "y = Div (x, e) }",
     "expand-idle", "Div", 0},
    {G17 "(float[B, 3] x) => (float[B, 3] y) { n = ReduceL2 <axes = [1]> (x) s = Shape (x) e = Expand (n, s) "
         "y = Div (x, e) }",
     "expand-idle", "ReduceL2 Div", 1e-6},
    {G17 "(float[2, 3] x, float[3] n) => (float[2, 3] y) <int64[2] s = {2, 3}> { e = Expand (n, s) y = Sub (e, x) }",
     "expand-idle", "Sub", 0},
    {G17 "(bool[2, 3] c, float a, float[1, 3] b) => (float[2, 3] y) <int64[2] s = {2, 3}> { e = Expand (a, s) "
         "f = Expand (b, s) y = Where (c, e, f) }",
     "expand-idle", "Where", 0},
    /* what else is there is smaller, in one dimension or in rank; the other one has a dimension of unknown size */
    {G17 "(float[1, 3] x, float[2, 1] n) => (float[2, 3] y) <int64[2] s = {2, 3}> { e = Expand (n, s) y = Div (x, e) }",
     "expand-idle", "Div", 0},
    {G17 "(float[1, 3] x, float[1, 1] n) => (float[2, 3] y) <int64[2] s = {2, 1}> { e = Expand (n, s) "
         "y = Div (x, e) }",
     "!expand-idle", "Expand Div", 0},
    {G17 "(float[3] x, float n) => (float[1, 3] y) <int64[2] s = {1, 3}> { e = Expand (n, s) y = Mul (x, e) }",
     "!expand-idle", "Expand Mul", 0},
    {G17 "(float[A, 3] x, float[1, 3] n) => (float[C, 3] y) <int64[2] s = {2, 3}> { e = Expand (n, s) "
         "y = Mul (x, e) }",
     "!expand-idle", "Expand Mul", 0},
    {"<ir_version: 8, opset_import: [\"\" : 17]> g "
     "(float[2, 3] x, float[2, 1] n) => (float[2, 6] y) <int64[2] s = {2, 3}> { e = Expand (n, s) "
     "y = Concat <axis = 1> (x, e) }",
     "!expand-idle", "Expand Concat", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_BASIC);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
