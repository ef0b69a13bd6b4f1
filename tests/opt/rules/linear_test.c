/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/linear_test.c - what MatMul and Gemm take in, and what they must leave alone. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g "
#define W34 "float[3, 4] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}"

#define BN \
  "float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}, float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, 3, 4}"

static const struct {
  const char *text, *rule, *after;
} rows[] = {
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = MatMul (x, w) y = Add (b, h) }",
     "linear-add", "Linear"},
    {G "(float[N, 3] x) => (float[N, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = MatMul (x, w) i = Add (h, b) "
       "j = Add (i, i) y = Relu (j) }",
     "linear-add", "Linear Add Relu"},
    {G "(float[2, 3] x, float[2, 4] r) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = MatMul (x, w) "
       "i = Add (h, b) j = Add (r, i) y = Relu (j) }",
     "linear-activation", "Linear"},
    {G "(float[2, 3] x, float[5, 2, 4] r) => (float[5, 2, 4] y) <" W34 "> { h = MatMul (x, w) y = Add (h, r) }",
     "!linear-add", "MatMul Add"},
    {G "(float[2, 3] x) => (float[2, 4] y, float[2, 4] h) <" W34
       ", float b = {1}> { h = MatMul (x, w) y = Add (h, b) }",
     "!linear-add", "MatMul Add"},
    {G "(float[2, 3] x, float[K, 4] r) => (float[2, 4] y) <" W34 "> { h = MatMul (x, w) y = Add (h, r) }",
     "!linear-add", NULL},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float lo = {0}, float hi = {6}> { h = MatMul (x, w) "
       "y = Clip (h, lo, hi) }",
     "linear-activation", "Linear"},
    {G "(float[2, 3] x, float lo) => (float[2, 4] y) <" W34 "> { h = MatMul (x, w) y = Clip (h, lo) }",
     "!linear-activation", "MatMul Clip"},
    {G "(float[2, 3] x) => (float[2, 4] y) <float[4, 3] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}, "
       "float[4] b = {1, 2, 3, 4}> { h = Gemm <alpha = 0.5, transB = 1> (x, w, b) y = LeakyRelu <alpha = 0.2> (h) }",
     "linear-activation", "Linear"},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float[4] b = {1, 2, 3, 4}> { h = Gemm <beta = 0.5> (x, w, b) "
       "y = Relu (h) }",
     "!linear-activation", "Gemm Relu"},
    {G "(float[2, 5, 3] x, float[2, 7, 3] z) => (float[2, 5, 7] y) <float s = {8}> { t = Transpose <perm = [0, 2, 1]> "
       "(z) "
       "h = MatMul (x, t) y = Div (h, s) }",
     "linear-transpose", "Linear"},
    {G "(float[3, 5] x, float[3, 4] z) => (float[5, 4] y) { t = Transpose (x) y = MatMul (t, z) }", "linear-transpose",
     "Linear"},
    {G "(float[2, 5, 3] x, float[3, 2, 7] z) => (float[2, 5, 7] y) { t = Transpose <perm = [1, 0, 2]> (z) "
       "y = MatMul (x, t) }",
     "!linear-transpose", "Transpose MatMul"},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float s = {0.125}> { h = MatMul (x, w) y = Mul (s, h) }",
     "linear-scale", "Linear"},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", float s = {8}> { h = MatMul (x, w) y = Div (s, h) }",
     "!linear-scale", "MatMul Div"},
    {G "(int32[2, 3] x, int32[3, 4] z, int32[4] b) => (int32[2, 4] y) { h = MatMul (x, z) y = Add (h, b) }",
     "!linear-add", "MatMul Add"},
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", " BN
       "> { h = MatMul (x, w) y = BatchNormalization (h, s, b, m, v) }",
     "linear-batchnorm", "Gemm"},
    {G "(float[2, 3] x) => (float[2, 4] y) <float[4, 3] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}, " BN "> { "
       "h = Gemm <transB = 1, alpha = 0.5, beta = 2.0> (x, w, b) y = BatchNormalization (h, s, b, m, v) }",
     "linear-batchnorm", "Gemm"},
    {G "(float[2, 4, 3] x) => (float[2, 4, 4] y) <" W34 ", " BN "> { h = MatMul (x, w) "
       "y = BatchNormalization (h, s, b, m, v) }",
     "!linear-batchnorm", "MatMul BatchNormalization"},
};

static void test_before_and_after(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    rg_check(rows[i].text, OX_OPTIMIZE_EXTENDED, rows[i].rule, rows[i].after, 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
