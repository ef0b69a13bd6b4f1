/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/linear_test.c - what MatMul and Gemm take in, and what they must leave alone. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g "
#define W34 "float[3, 4] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}"

static const rg_row rows[] = {
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = MatMul (x, w) y = Add (b, h) }",
     "linear-add", "Linear", 1e-6},
    {G "(float[N, 3] x) => (float[N, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = MatMul (x, w) i = Add (h, b) "
       "j = Add (i, i) y = Relu (j) }",
     "linear-add", "Linear Add Relu", 1e-6},
    {G "(float[2, 3] x, float[2, 4] r) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = MatMul (x, w) "
       "i = Add (h, b) j = Add (r, i) y = Relu (j) }",
     "linear-activation", "Linear", 1e-6},
    {G "(float[2, 3] x, float[5, 2, 4] r) => (float[5, 2, 4] y) <" W34 "> { h = MatMul (x, w) y = Add (h, r) }",
     "!linear-add", "MatMul Add", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y, float[2, 4] h) <" W34
       ", float b = {1}> { h = MatMul (x, w) y = Add (h, b) }",
     "!linear-add", "MatMul Add", 1e-6},
    {G "(float[2, 3] x, float[K, 4] r) => (float[2, 4] y) <" W34 "> { h = MatMul (x, w) y = Add (h, r) }",
     "!linear-add", NULL, 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float lo = {0}, float hi = {6}> { h = MatMul (x, w) "
       "y = Clip (h, lo, hi) }",
     "linear-activation", "Linear", 1e-6},
    {G "(float[2, 3] x, float lo) => (float[2, 4] y) <" W34 "> { h = MatMul (x, w) y = Clip (h, lo) }",
     "!linear-activation", "MatMul Clip", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <float[4, 3] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}, "
       "float[4] b = {1, 2, 3, 4}> { h = Gemm <alpha = 0.5, transB = 1> (x, w, b) y = LeakyRelu <alpha = 0.2> (h) }",
     "linear-activation", "Linear", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = Gemm <beta = 0.5> (x, w, b) "
       "y = Relu (h) }",
     "!linear-activation", "Gemm Relu", 1e-6},
    {G "(float[2, 5, 3] x, float[2, 7, 3] z) => (float[2, 5, 7] y) <float s = {8}> { t = Transpose <perm = [0, 2, 1]> "
       "(z) h = MatMul (x, t) y = Div (h, s) }",
     "linear-transpose", "Linear", 1e-6},
    {G "(float[3, 5] x, float[3, 4] z) => (float[5, 4] y) { t = Transpose (x) y = MatMul (t, z) }", "linear-transpose",
     "Linear", 1e-6},
    {G "(float[2, 5, 3] x, float[3, 2, 7] z) => (float[2, 5, 7] y) { t = Transpose <perm = [1, 0, 2]> (z) "
       "y = MatMul (x, t) }",
     "!linear-transpose", "Transpose MatMul", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float s = {0.125}> { h = MatMul (x, w) y = Mul (s, h) }",
     "linear-scale", "Linear", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float s = {8}> { h = MatMul (x, w) y = Div (s, h) }",
     "!linear-scale", "MatMul Div", 1e-6},
    {G "(int32[2, 3] x, int32[3, 4] z, int32[4] b) => (int32[2, 4] y) { h = MatMul (x, z) y = Add (h, b) }",
     "!linear-add", "MatMul Add", 1e-6},
    /* the scale of a Linear, from either side; activations of com.microsoft */
    {G "(float[2, 5, 3] x, float[2, 7, 3] z) => (float[2, 5, 7] y) <float s = {8}> { t = Transpose <perm = [0, 2, 1]> "
       "(z) h = MatMul (x, t) i = Mul (s, h) y = QuickGelu (i) }",
     NULL, NULL, 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 "> { h = MatMul (x, w) y = com.microsoft.FastGelu (h) }",
     "linear-activation", "Linear", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = MatMul (x, w) i = Add (h, b) "
       "s = Sigmoid (i) y = Mul (i, s) }",
     "linear-activation", "Linear", 1e-6},
    /* inputs that are scaled, also behind a Transpose, which then meets the product; with a bias; not by more than one
     * number, by zero, where the constant adds a dimension, where others read it, or as a dividend */
    {G "(float[2, 5, 3] x, float[2, 7, 3] z) => (float[2, 5, 7] y) <float s = {0.25}, float[1] t = {4}> { "
       "a = Mul (s, x) b = Transpose <perm = [0, 2, 1]> (z) c = Div (b, t) y = MatMul (a, c) }",
     "linear-scaled", "Linear", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}, float s = {-2}> { a = Mul (x, s) "
       "h = MatMul (a, w) y = Add (h, b) }",
     "linear-scaled", "Linear", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float[3] s = {1, 2, 3}> { a = Mul (x, s) y = MatMul (a, w) }",
     "!linear-scaled", "Mul MatMul", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float s = {0}> { a = Mul (x, s) y = MatMul (a, w) }",
     "!linear-scaled", "Mul MatMul", 1e-6},
    {G "(float[2, 3] x) => (float[1, 2, 4] y) <" W34 ", float[1, 1, 1] s = {2}> { a = Mul (x, s) y = MatMul (a, w) }",
     "!linear-scaled", "Mul MatMul", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y, float[2, 3] a) <" W34 ", float s = {2}> { a = Mul (x, s) "
       "y = MatMul (a, w) }",
     "!linear-scaled", "Mul MatMul", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float s = {2}> { a = Div (s, x) y = MatMul (a, w) }",
     "!linear-scaled", "Div MatMul", 1e-6},
    /* a scale of the sum is none of the product */
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}, float s = {2}> { h = MatMul (x, w) "
       "i = Add (h, b) y = Mul (i, s) }",
     "!linear-scale", "Linear Mul", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
