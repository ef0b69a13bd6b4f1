/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/noop_test.c - operators that change nothing for these inputs, and those that do. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G17 "<ir_version: 8, opset_import: [\"\" : 17]> g "

static const rg_row rows[] = {
    {G17 "(float[N, 3] x) => (float[N, 3] y) <int64[2] s = {-1, 3}> { h = Reshape (x, s) y = Neg (h) }", "noop-view",
     "Neg", 0},
    {G17 "(float[3, 2] x) => (float[2, 3] y) <int64[2] s = {2, 3}> { h = Reshape (x, s) y = Neg (h) }", "!noop-view",
     "Reshape Neg", 0},
    {G17 "(float[2, 3] x) => (float[3, 2] y) <int64[1] s = {-1}, int64[2] t = {3, 2}> { h = Reshape (x, s) "
         "i = Reshape (h, t) y = Neg (i) }",
     "reshape-reshape", "Reshape Neg", 0},
    {G17 "(float[2, 3] x) => (float[3, 2] y) <int64[2] s = {3, 2}, int64[2] t = {0, 2}> { h = Reshape (x, s) "
         "i = Reshape (h, t) y = Neg (i) }",
     "!reshape-reshape", "Reshape Neg", 0},
    {G17 "(float[4] x) => (float[4] y) <int64[1] a = {0}, int64[1] b = {99}> { h = Slice (x, a, b) y = Neg (h) }",
     "noop-slice", "Neg", 0},
    {G17 "(float[4] x) => (float[4] y) <int64[1] a = {-1}, int64[1] b = {-99}, int64[1] c = {0}, int64[1] d = {-1}> "
         "{ h = Slice (x, a, b, c, d) y = Neg (h) }",
     "!noop-slice", "Slice Neg", 0},
    {G17 "(float[4] x) => (float[4] y) <int64[2] p = {0, 0}> { h = Pad (x, p) y = Neg (h) }", "noop-pad", "Neg", 0},
    {G17 "(float[4] x) => (float[4] y) <int64[2] p = {1, -1}> { h = Pad (x, p) y = Neg (h) }", "!noop-pad", "Pad Neg",
     0},
    {G17 "(float[4] x) => (float[4] y) { h = Concat <axis = 0> (x) y = Neg (h) }", "noop-list", "Neg", 0},
    {G17 "(float[4] x) => (float[4] y) <float o = {1}> { h = Mul (o, x) y = Neg (h) }", "noop-arith", "Neg", 0},
    {G17 "(float[4] x) => (float[4] y) <float[4] o = {0, 0, 0, 0}> { h = Sub (x, o) y = Neg (h) }", "noop-arith", "Neg",
     0},
    {G17 "(float[1] x) => (float[4] y) <float[4] o = {0, 0, 0, 0}> { h = Add (x, o) y = Neg (h) }", "!noop-arith",
     "Add Neg", 0},
    {G17 "(float[4] x) => (float[4] y) <float o = {1}> { h = Div (o, x) y = Neg (h) }", "!noop-arith", "Div Neg", 0},
    {G17 "(float[4] x) => (float[8] y) { h = Concat <axis = 0> (x, x) y = Neg (h) }", "!noop-list", "Concat Neg", 0},
    {G17 "(float[2, 3] x) => (float[2, 3] y, float[6] z) <int64[1] s = {6}, int64[2] t = {2, 3}> { h = Reshape (x, s) "
         "i = Reshape (h, t) y = Neg (i) z = Neg (h) }",
     "reshape-back", "Reshape Neg Neg", 0},
    {G17 "(float[2, 3] x) => (float[3, 2] y, float[6] z) <int64[1] s = {6}, int64[2] t = {3, 2}> { h = Reshape (x, s) "
         "i = Reshape (h, t) y = Neg (i) z = Neg (h) }",
     "!reshape-back", "Reshape Reshape Neg Neg", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_BASIC);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
