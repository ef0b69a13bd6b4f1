/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/linear_fold_test.c - batch normalization behind a product. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g "
#define W34 "float[3, 4] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}"
#define BN \
  "float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}, float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, 3, 4}"

static const rg_row rows[] = {
    {G "(float[2, 3] x) => (float[2, 4] y) <" W34 ", " BN
       "> { h = MatMul (x, w) y = BatchNormalization (h, s, b, m, v) }",
     "linear-batchnorm", "Gemm", 1e-6},
    {G "(float[2, 3] x) => (float[2, 4] y) <float[4, 3] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}, " BN "> { "
       "h = Gemm <transB = 1, alpha = 0.5, beta = 2.0> (x, w, b) y = BatchNormalization (h, s, b, m, v) }",
     "linear-batchnorm", "Gemm", 1e-6},
    {G "(float[2, 4, 3] x) => (float[2, 4, 4] y) <" W34 ", " BN "> { h = MatMul (x, w) "
       "y = BatchNormalization (h, s, b, m, v) }",
     "!linear-batchnorm", "MatMul BatchNormalization", 1e-6},
    /* one column, whose bias may be a scalar; one that is no bias */
    {G "(float[2, 3] x) => (float[2, 1] y) <float[3, 1] w = {1, -2, 3}, float c = {5}, float[1] s = {2}, "
       "float[1] b = {5}, float[1] m = {0.1}, float[1] v = {2}> { h = Gemm (x, w, c) "
       "y = BatchNormalization (h, s, b, m, v) }",
     "linear-batchnorm", "Gemm", 1e-6},
    {G "(float[4, 3] x) => (float[4, 4] y) <" W34 ", float[4, 1] c = {1, 2, 3, 4}, " BN "> { h = Gemm (x, w, c) "
       "y = BatchNormalization (h, s, b, m, v) }",
     "!linear-batchnorm", "Gemm BatchNormalization", 1e-6},
    /* columns stay columns on the way to the channels */
    {G "(float[2, 5, 3] x) => (float[10, 4] y) <" W34 ", " BN ", int64[2] to = {10, 4}> { h = MatMul (x, w) "
       "r = Reshape (h, to) y = BatchNormalization (r, s, b, m, v) }",
     "linear-batchnorm", "Linear Reshape", 1e-6},
    {G "(float[2, 5, 3] x) => (float[2, 4, 5] y) <" W34 ", " BN "> { h = MatMul (x, w) "
       "t = Transpose <perm = [0, 2, 1]> (h) y = BatchNormalization (t, s, b, m, v) }",
     "linear-batchnorm", "Linear Transpose", 1e-6},
    {G "(float[6, 3] x) => (float[2, 4, 3] y) <" W34 ", float[4] c = {1, 2, 3, 4}, " BN ", int64[3] to = {2, 3, 4}> { "
       "h = Gemm (x, w, c) r = Reshape (h, to) t = Transpose <perm = [0, 2, 1]> (r) "
       "y = BatchNormalization (t, s, b, m, v) }",
     "linear-batchnorm", "Gemm Reshape Transpose", 1e-6},
    {G "(float[4, 3] x) => (float[4, 4] y) <" W34 ", " BN "> { h = MatMul (x, w) t = Transpose (h) "
       "y = BatchNormalization (t, s, b, m, v) }",
     "!linear-batchnorm", "MatMul Transpose BatchNormalization", 1e-6},
    {G "(float[4, 3] x) => (float[2, 4, 2] y) <" W34 ", " BN ", int64[3] to = {2, 4, 2}> { h = MatMul (x, w) "
       "r = Reshape (h, to) y = BatchNormalization (r, s, b, m, v) }",
     "!linear-batchnorm", "MatMul Reshape BatchNormalization", 1e-6},
    /* somebody else reads the product */
    {G "(float[2, 5, 3] x) => (float[10, 4] y, float[2, 5, 4] h) <" W34 ", " BN ", int64[2] to = {10, 4}> { "
       "h = MatMul (x, w) r = Reshape (h, to) y = BatchNormalization (r, s, b, m, v) }",
     "!linear-batchnorm", "MatMul Reshape BatchNormalization", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
