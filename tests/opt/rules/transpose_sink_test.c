/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/transpose_sink_test.c - element-wise nodes between convolutions of channels-last models. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define ENDS "(float[2, 2, 3, 4] x) => (float[2, 3, 4, 2] y) "
#define W "float[2, 2, 1, 1] w = {1, -2, 3, 4}"
#define C "float[2] c = {0.5, -3}"
#define CONV "v = Conv (x, w) t = Transpose <perm = [0, 2, 3, 1]> (v) "

static const rg_row rows[] = {
    {G ENDS "<" W "> { " CONV "y = Sigmoid (t) }", "transpose-sink-unary", "FusedConv Transpose", 1e-6},
    {G ENDS "<" W ", float lo = {-1}, float hi = {6}> { " CONV "y = Clip (t, lo, hi) }", "transpose-sink-unary",
     "FusedConv Transpose", 1e-6},
    {G ENDS "<" W ", " C "> { " CONV "y = Max (c, t) }", "transpose-sink-const", "Conv Max Transpose", 1e-6},
    {G ENDS "<" W ", float[1, 1, 2] c = {0.5, -3}> { " CONV "y = Min (t, c) }", "transpose-sink-const",
     "Conv Min Transpose", 1e-6},
    {G ENDS "<" W ", float k = {3}> { " CONV "y = Div (k, t) }", "transpose-sink-const", "Conv Div Transpose", 1e-5},
    {G "(float[\"N\", 2, 3, 4] x) => (float[\"N\", 3, 4, 2] y) <" W ", " C "> { " CONV "y = Max (t, c) }",
     "transpose-sink-const", "Conv Max Transpose", 1e-6},
    {G "(float[2, 2, 5] x) => (float[2, 5, 2] y) <float[2, 2, 1] w = {1, -2, 3, 4}> { v = Conv (x, w) "
       "t = Transpose <perm = [0, 2, 1]> (v) y = Tanh (t) }",
     "transpose-sink-unary", "FusedConv Transpose", 1e-6},
    /* padding and means say other axes */
    {G "(float[2, 2, 3, 4] x) => (float[2, 6, 5, 2] y) <" W ", int64[8] p = {0, 1, 0, 0, 0, 2, 1, 0}> { " CONV
       "y = Pad (t, p) }",
     "transpose-sink-pad", "Conv Pad Transpose", 1e-6},
    {G "(float[2, 2, 3, 4] x) => (float[3, 4, 6, 4] y) <" W
       ", int64[8] p = {1, 0, 2, -1, 0, 1, 0, 3}, float k = {7}> { " CONV "y = Pad (t, p, k) }",
     "transpose-sink-pad", "Conv Pad Transpose", 1e-6},
    {G "(float[2, 2, 3, 4] x) => (float[2, 1, 1, 2] y) <" W "> { " CONV "y = ReduceMean <axes = [1, -2]> (t) }",
     "transpose-sink-mean", "Conv ReduceMean Transpose", 1e-6},
    {"<ir_version: 8, opset_import: [\"\" : 18]> g (float[2, 2, 3, 4] x) => (float[2, 3, 1, 1] y) <" W
     ", int64[2] a = {-1, 2}> { " CONV "y = ReduceMean (t, a) }",
     "transpose-sink-mean", "Conv ReduceMean Transpose", 1e-6},
    {G "(float[2, 2, 3, 4] x) => (float[2, 2] y) <" W "> { " CONV "y = ReduceMean <axes = [1, 2], keepdims = 0> (t) }",
     "!transpose-sink-mean", "Conv Transpose ReduceMean", 1e-6},
    {G "(float[2, 2, 3, 4] x) => (float[1, 1, 1, 1] y) <" W "> { " CONV "y = ReduceMean (t) }", "!transpose-sink-mean",
     "Conv Transpose ReduceMean", 1e-6},
    {G "(float[2, 2, 3, 4] x, int64[8] p) => (float[a, b, c, d] y) <" W "> { " CONV "y = Pad (t, p) }",
     "!transpose-sink-pad", "Conv Transpose Pad", 1e-6},
    /* there and back again: nothing of it is left */
    {G "(float[2, 2, 3, 4] x) => (float[2, 2, 3, 4] y) <" W ", " C "> { " CONV "m = Max (t, c) s = Softplus (m) "
       "y = Transpose <perm = [0, 3, 1, 2]> (s) }",
     "transpose-sink-const", "Conv Max Softplus", 1e-6},
    /* a gate of one pixel, and what it opens */
    {G "(float[2, 2, 3, 4] x, float[2, 2, 1, 1] z) => (float[2, 3, 4, 2] y) <" W "> { " CONV "u = Conv (z, w) "
       "q = Transpose <perm = [0, 2, 3, 1]> (u) y = Div (q, t) }",
     "transpose-sink-both", "Conv Conv Div Transpose", 1e-5},
    /* not: no convolution, another permutation, a constant along other axes, one that widens, two that widen each
       other, other users */
    {G ENDS "{ t = Transpose <perm = [0, 2, 3, 1]> (x) y = Sigmoid (t) }", "!transpose-sink-unary", "Transpose Sigmoid",
     1e-6},
    {G "(float[2, 2, 3, 4] x) => (float[2, 4, 3, 2] y) <" W "> { v = Conv (x, w) "
       "t = Transpose <perm = [0, 3, 2, 1]> (v) y = Sigmoid (t) }",
     "!transpose-sink-unary", "Conv Transpose Sigmoid", 1e-6},
    {G ENDS "<" W ", float[4, 1] c = {1, 2, 3, 4}> { " CONV "y = Max (t, c) }", "!transpose-sink-const",
     "Conv Transpose Max", 1e-6},
    {G "(float[2, 2, 3, 4] x) => (float[2, 3, 4, 2] y) <float[1, 2, 1, 1] w = {1, -2}, " C "> { " CONV
       "y = Max (t, c) }",
     "!transpose-sink-const", "Conv Transpose Max", 1e-6},
    {G "(float[2, 2, 3, 1] x, float[2, 2, 1, 4] z) => (float[2, 3, 4, 2] y) <" W "> { " CONV "u = Conv (z, w) "
       "q = Transpose <perm = [0, 2, 3, 1]> (u) y = Div (q, t) }",
     "!transpose-sink-both", "Conv Transpose Conv Transpose Div", 1e-5},
    {G "(float[2, 2, 3, 4] x) => (float[2, 3, 4, 2] y, float[2, 3, 4, 2] t) <" W "> { " CONV "y = Sigmoid (t) }",
     "!transpose-sink-unary", "Conv Transpose Sigmoid", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
