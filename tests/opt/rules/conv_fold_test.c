/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_fold_test.c - what goes into the weights of a convolution, and what must stay behind it. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "float[4, 1, 1, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}"
#define BN \
  "float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}, float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, 3, 4}"
#define CONV "h = Conv <group = 2> (x, w) "

/* Weights large enough to be computed as they are packed, and numbers per channel. */
#define LARGE_CONSTANTS "float zero = {0}, float one = {1}, float half = {0.5}, float n = {16384}, float end = {65}"
#define LARGE(dims)                                               \
  "<" LARGE_CONSTANTS ", int64[4] d = {" dims                     \
  "}> { r = Range (zero, n, one) q = Sin (r) w = Reshape (q, d) " \
  "s = Range (one, end, one) b = Sin (s) v = Sqrt (s) "

static const rg_row rows[] = {
    {G "(float[1, 64, 5, 4] x) => (float[1, 64, 4, 3] y) " LARGE(
         "64, 64, 2, 2") "h = Conv (x, w) "
                         "y = BatchNormalization (h, s, b, b, v) }",
     "conv-batchnorm", "Conv", 1e-5},
    {G "(float[1, 128, 5, 4] x) => (float[1, 64, 4, 3] y) " LARGE(
         "64, 64, 2, 2") "h = Conv <group = 2> (x, w) "
                         "g = BatchNormalization (h, s, b, b, v) y = Mul (g, half) }",
     "conv-arith", "Conv", 1e-5},
    {G "(float[1, 128, 5, 4] x) => (float[1, 64, 4, 3] y) " LARGE(
         "64, 64, 2, 2") "h = Conv <group = 2> (x, w) i = Mul (h, half) "
                         "g = BatchNormalization (i, s, b, b, v) j = Add (g, half) y = Mul (j, half) }",
     "conv-arith", "Conv", 1e-5},
    {G "(float[1, 128, 5, 4] x) => (float[1, 64, 6, 5] y) " LARGE(
         "128, 32, 2, 2") "h = ConvTranspose <group = 2> (x, w) "
                          "y = BatchNormalization (h, s, b, b, v) }",
     "conv-batchnorm", "ConvTranspose", 1e-5},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", " BN "> { " CONV
       "y = BatchNormalization (h, s, b, m, v) }",
     "conv-batchnorm", "Conv", 1e-6},
    {G "(float[1, 4, 3, 5] x) => (float[1, 2, 3, 6] y) <" W ", float[2] s = {1, 2}, float[2] b = {5, 6}, "
       "float[2] m = {0.1, 0.2}, float[2] v = {1, 2}> { h = ConvTranspose <group = 2> (x, w) "
       "y = BatchNormalization (h, s, b, m, v) }",
     "conv-batchnorm", "ConvTranspose", 1e-6},
    {G "(float[1, 2, 3, 5] x, float[4] s) => (float[1, 4, 3, 4] y) <" W ", float[4] b = {5, 6, 7, 8}, "
       "float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, 3, 4}> { " CONV
       "y = BatchNormalization (h, s, b, m, v) }",
     "!conv-batchnorm", "Conv BatchNormalization", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y, float[1, 4, 3, 4] h) <" W ", " BN "> { " CONV
       "y = BatchNormalization (h, s, b, m, v) }",
     "!conv-batchnorm", "Conv BatchNormalization", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float[4, 1, 1] c = {1, 2, 3, 4}> { " CONV
       "y = Mul (c, h) }",
     "conv-arith", "Conv", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float[1, 4, 1, 1] c = {1, 2, 3, 4}> { " CONV
       "y = Sub (h, c) }",
     "conv-arith-right", "Conv", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float[4] c = {1, 2, 3, 4}> { " CONV "y = Mul (c, h) }",
     "!conv-arith", "Conv Mul", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float c = {2}> { " CONV "y = Sub (c, h) }",
     "!conv-arith-right", "Conv Sub", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
