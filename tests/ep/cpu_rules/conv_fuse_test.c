/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/conv_fuse_test.c - what a convolution takes in, and what it must leave alone. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "float[4, 1, 1, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}"
#define BN \
  "float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}, float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, 3, 4}"
#define CONV "h = Conv <group = 2> (x, w) "

static const rg_row rows[] = {
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", " BN "> { h = Conv <group = 2> (x, w, b) "
       "i = BatchNormalization (h, s, b, m, v) y = Relu (i) }",
     "conv-activation", "FusedConv", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float lo = {0}, float hi = {6}> { " CONV
       "y = Clip (h, lo, hi) }",
     "conv-activation", "FusedConv", 1e-6},
    {G "(float[1, 2, 3, 5] x, float[1, 4, 3, 4] z) => (float[1, 4, 3, 4] y) <" W "> { " CONV
       "i = Add (z, h) y = Relu (i) }",
     "conv-add", "FusedConv", 1e-6},
    {G "(float[1, 2, 3, 5] x, float[1, 4, 1, 4] z) => (float[1, 4, 3, 4] y) <" W "> { " CONV "y = Add (z, h) }",
     "!conv-add", "Conv Add", 1e-6},
    /* as long as the input, or as what is not known: equal symbols; two symbols need not be equal */
    {G "(float[1, 2, h, 5] x, float[1, 4, h, 4] z) => (float[1, 4, h, 4] y) <" W "> { " CONV "y = Add (z, h) }",
     "conv-add", "FusedConv", 1e-6},
    {G "(float[1, 2, h, 5] x) => (float[1, 4, g, 5] y) <" W "> { c = Concat <axis = 2> (x, x) "
       "z = Concat <axis = 1> (c, c) h = Conv <group = 2, pads = [0, 1, 0, 0]> (c, w) i = Relu (z) y = Add (i, h) }",
     "conv-add", "Concat Concat Relu FusedConv", 1e-6},
    /* strides: windows of another length, padded so that as many steps fit; and so that more do */
    {G "(float[1, 2, h, 5] x) => (float[1, 4, g, 3] y) <" W
       ", float[4, 2, 2, 1] u = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, "
       "4, 5, 6, 7}> { h = Conv <group = 2, strides = [2, 2], pads = [0, 1, 0, 0]> (x, w) "
       "z = Conv <strides = [2, 2], pads = [1, 0, 0, 0]> (x, u) y = Add (z, h) }",
     "conv-add", "Conv FusedConv", 1e-6},
    {G "(float[1, 2, h, 5] x) => (float[1, 4, g, 3] y) <" W ", float[4, 2, 1, 1] u = {1, 2, 3, 4, 5, 6, 7, 8}> {"
       "h = Conv <group = 2, strides = [2, 2], pads = [0, 1, 1, 0]> (x, w) "
       "z = Conv <strides = [2, 2]> (x, u) y = Add (z, h) }",
     "!conv-add", "Conv Conv Add", 1e-6},
    {G "(float[1, 2, h, 5] x, float[1, 4, g, 4] z) => (float[1, 4, h, 4] y) <" W "> { " CONV "y = Add (z, h) }",
     "!conv-add", "Conv Add", 1e-6},
    {G "(float[1, 2, 3, 5] x, float[1, 4, 3, 4] z) => (float[1, 4, 3, 4] y) <" W "> { " CONV
       "i = Relu (h) y = Add (z, i) }",
     "!conv-add", "FusedConv Add", 1e-6},
    /* an activation for every spelling of a convolution */
    {G "(float[1, 2, 3, 5] x, float[1, 4, 3, 4] z) => (float[1, 4, 3, 4] y) <" W "> { " CONV
       "i = Add (z, h) s = Sigmoid (i) y = Mul (i, s) }",
     "conv-activation", "FusedConv", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W "> { " CONV "s = Sigmoid (h) y = Mul (h, s) }",
     "conv-activation", "FusedConv", 1e-6},
    /* read elsewhere; bounds that are not constant; activated already */
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y, float[1, 4, 3, 4] h) <" W "> { " CONV "y = Relu (h) }",
     "!conv-activation", "Conv Relu", 1e-6},
    {G "(float[1, 2, 3, 5] x, float hi) => (float[1, 4, 3, 4] y) <" W ", float lo = {0}> { " CONV
       "y = Clip (h, lo, hi) }",
     "!conv-activation", "Conv Clip", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
