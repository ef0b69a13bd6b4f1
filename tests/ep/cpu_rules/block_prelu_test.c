/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/block_prelu_test.c - a convolution takes in the PRelu behind it. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1, \"ai.onyx\" : 1]> g "
/* |name|: a constant of |n| different numbers. */
#define NUMBERS(name, n, shape)                                                                              \
  name "_z = Constant <value_float = 0.0> () " name "_n = Constant <value_float = " n "> () " name           \
       "_d = Constant <value_float = 1.7> () " name "_r = Range (" name "_z, " name "_n, " name "_d) " name  \
       "_c = Sin (" name "_r) " name "_s = Constant <value_ints = [" shape "]> () " name " = Reshape (" name \
       "_c, " name "_s) "
#define IO "(float[2, 64, 9, 9] x) => (float[2, 64, 9, 9] y) "
#define WEIGHTS NUMBERS("w", "62668.0", "64, 64, 3, 3")
#define CONV "h = Conv <pads = [1, 1, 1, 1]> (x, w) "
#define SLOPES NUMBERS("s", "108.0", "64, 1, 1")

static const rg_row rows[] = {
    {HEAD IO "{ " WEIGHTS SLOPES CONV "y = PRelu (h, s) }", "block-prelu", "ToBlocks BlockConv FromBlocks", 1e-4},
    {HEAD IO "{ " WEIGHTS NUMBERS("s", "108.0", "1, 64, 1, 1") CONV "i = Add (h, x) y = PRelu (i, s) }", "block-prelu",
     "ToBlocks BlockConv FromBlocks", 1e-4},
    /* depthwise, in a row of a bottleneck that it must not end up in without its slopes */
    {HEAD "(float[1, 64, 56, 56] x) => (float[1, 64, 56, 56] y) { " NUMBERS("w", "6962.0", "64, 64, 1, 1")
         NUMBERS("d", "978.5", "64, 1, 3, 3") SLOPES
     "a = Conv (x, w) b = PRelu (a, s) c = Conv <group = 64, pads = [1, 1, 1, 1]> (b, d) e = PRelu (c, s) y = Conv (e, "
     "w) }",
     "block-prelu", "ToBlocks BlockConv BlockConv BlockConv FromBlocks", 1e-4},
    /* one slope is a LeakyRelu, of any convolution */
    {HEAD IO "{ " WEIGHTS "s = Constant <value_floats = [0.3]> () " CONV "y = PRelu (h, s) }", "conv-activation",
     "ToBlocks BlockConv FromBlocks", 1e-4},
    /* read elsewhere, slopes that come later, that differ between pixels, that no channel has; activated already */
    {HEAD "(float[2, 64, 9, 9] x) => (float[2, 64, 9, 9] y, float[2, 64, 9, 9] z) { " WEIGHTS SLOPES CONV
          "y = PRelu (h, s) z = Neg (h) }",
     "!block-prelu", NULL, 1e-4},
    {HEAD "(float[2, 64, 9, 9] x, float[64, 1, 1] s) => (float[2, 64, 9, 9] y) { " WEIGHTS CONV "y = PRelu (h, s) }",
     "!block-prelu", NULL, 1e-4},
    {HEAD IO "{ " WEIGHTS NUMBERS("s", "15.0", "9, 1") CONV "y = PRelu (h, s) }", "!block-prelu", NULL, 1e-4},
    {HEAD IO "{ " WEIGHTS NUMBERS("s", "978.5", "64, 9, 1") CONV "y = PRelu (h, s) }", "!block-prelu", NULL, 1e-4},
    {HEAD IO "{ " WEIGHTS SLOPES CONV "i = Tanh (h) y = PRelu (i, s) }", "!block-prelu", NULL, 1e-4},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
