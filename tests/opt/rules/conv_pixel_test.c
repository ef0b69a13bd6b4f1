/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_pixel_test.c - convolutions whose window is the whole image. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "float[3, 2, 2, 1] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 10, 11, -12}"
#define B "float[3] b = {1, 2, -3}"
#define NORM "float[3] s = {2, 3, 4}, float[3] h = {1, 0, -1}, float[3] mean = {0, 1, 2}, float[3] var = {1, 4, 9}"

static const rg_row rows[] = {
    {G "(float[3, 2, 2, 1] x) => (float[3, 3, 1, 1] y) <" W "> { y = Conv (x, w) }", "conv-pixel",
     "Reshape Gemm Reshape", 1e-6},
    {G "(float[2, 2, 2, 1] x) => (float[2, 3, 1, 1] y) <" W ", " B "> { "
       "y = Conv <strides = [3, 2], pads = [0, 0, 0, 0], dilations = [1, 1], kernel_shape = [2, 1]> (x, w, b) }",
     "conv-pixel", "Reshape Gemm Reshape", 1e-6},
    {G "(float[n, 2, 2, 1] x) => (float[n, 3, 1, 1] y) <" W ", " B "> { y = Conv (x, w, b) }", "conv-pixel",
     "Reshape Gemm Reshape", 1e-6},
    {G "(float[2, 2, 3] x) => (float[2, 1, 1] y) <float[1, 2, 3] w = {1, 2, 3, 4, 5, 6}> { y = Conv (x, w) }",
     "conv-pixel", "Reshape Gemm Reshape", 1e-6},
    /* the normalization goes into the weights first */
    {G "(float[2, 2, 2, 1] x) => (float[2, 3, 1, 1] y) <" W ", " NORM "> { "
       "q = Conv (x, w) y = BatchNormalization (q, s, h, mean, var) }",
     "conv-pixel", "Reshape Gemm Reshape", 1e-6},
    /* none: one image, a larger one, padding, a window of one pixel, groups, holes */
    {G "(float[1, 2, 2, 1] x) => (float[1, 3, 1, 1] y) <" W "> { y = Conv (x, w) }", "!conv-pixel", "Conv", 1e-6},
    {G "(float[2, 2, 2, 2] x) => (float[2, 3, 1, 2] y) <" W "> { y = Conv (x, w) }", "!conv-pixel", "Conv", 1e-6},
    {G "(float[2, 2, 2, 1] x) => (float[2, 3, 2, 1] y) <" W "> { y = Conv <pads = [1, 0, 0, 0]> (x, w) }",
     "!conv-pixel", "Conv", 1e-6},
    {G "(float[2, 2, 2, 1] x) => (float[2, 3, 1, 1] y) <" W "> { "
       "y = Conv <auto_pad = \"SAME_UPPER\", strides = [2, 1]> (x, w) }",
     "!conv-pixel", "Conv", 1e-6},
    {G "(float[2, 2, 1, 1] x) => (float[2, 1, 1, 1] y) <float[1, 2, 1, 1] w = {3, -4}> { y = Conv (x, w) }",
     "!conv-pixel", "Conv", 1e-6},
    {G "(float[2, 4, 2, 1] x) => (float[2, 3, 1, 1] y) <float[3, 4, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}> "
       "{ y = Conv <strides = [2, 1]> (x, w) }",
     "!conv-pixel", "Conv", 1e-6},
    {G "(float[2, 4, 2, 1] x) => (float[2, 2, 1, 1] y) <float[2, 2, 2, 1] w = {1, 2, 3, 4, 5, 6, 7, 8}> "
       "{ y = Conv <group = 2> (x, w) }",
     "!conv-pixel", "Conv", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
