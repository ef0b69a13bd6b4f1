/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/deconv_pixel_test.c - transposed convolutions of one pixel. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "float[2, 3, 2, 1] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 10, 11, -12}"
#define B "float[3] b = {1, 2, -3}"
#define NORM "float[3] s = {2, 3, 4}, float[3] h = {1, 0, -1}, float[3] mean = {0, 1, 2}, float[3] var = {1, 4, 9}"

static const rg_row rows[] = {
    {G "(float[3, 2, 1, 1] x) => (float[3, 3, 2, 1] y) <" W "> { y = ConvTranspose (x, w) }", "deconv-pixel",
     "Reshape Gemm Reshape", 1e-6},
    {G "(float[1, 2, 1, 1] x) => (float[1, 3, 2, 1] y) <" W ", " B "> { "
       "y = ConvTranspose <strides = [3, 2], pads = [0, 0, 0, 0], dilations = [1, 1]> (x, w, b) }",
     "deconv-pixel", "Reshape Gemm Reshape", 1e-6},
    {G "(float[2, 2, 1] x) => (float[2, 1, 3] y) <float[2, 1, 3] w = {1, 2, 3, 4, 5, 6}> { y = ConvTranspose (x, w) }",
     "deconv-pixel", "Reshape Gemm Reshape", 1e-6},
    /* the normalization goes into the weights first */
    {G "(float[2, 2, 1, 1] x) => (float[2, 3, 2, 1] y) <" W ", " NORM "> { "
       "q = ConvTranspose (x, w) y = BatchNormalization (q, s, h, mean, var) }",
     "deconv-pixel", "Reshape Gemm Reshape", 1e-6},
    /* none: two pixels, cut off, longer, groups, holes */
    {G "(float[1, 2, 2, 1] x) => (float[1, 3, 3, 1] y) <" W "> { y = ConvTranspose (x, w) }", "!deconv-pixel",
     "ConvTranspose", 1e-6},
    {G "(float[1, 2, 1, 1] x) => (float[1, 3, 1, 1] y) <" W "> { y = ConvTranspose <pads = [1, 0, 0, 0]> (x, w) }",
     "!deconv-pixel", "ConvTranspose", 1e-6},
    {G "(float[1, 2, 1, 1] x) => (float[1, 3, 3, 1] y) <" W "> { "
       "y = ConvTranspose <strides = [2, 1], output_padding = [1, 0]> (x, w) }",
     "!deconv-pixel", "ConvTranspose", 1e-6},
    {G "(float[1, 2, 1, 1] x) => (float[1, 6, 2, 1] y) <" W "> { y = ConvTranspose <group = 2> (x, w) }",
     "!deconv-pixel", "ConvTranspose", 1e-6},
    {G "(float[1, 2, 1, 1] x) => (float[1, 3, 4, 1] y) <" W "> { y = ConvTranspose <dilations = [3, 1]> (x, w) }",
     "!deconv-pixel", "ConvTranspose", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
