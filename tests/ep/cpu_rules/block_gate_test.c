/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/block_gate_test.c - a convolution takes in the gate of its input: squeeze and excite. */
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
#define X1 "float[1, 20, 9, 9]"
#define BEGIN \
  "{ " NUMBERS("w", "1359.4", "40, 20, 1, 1") NUMBERS("v", "679.4", "20, 20, 1, 1") "i = ai.onyx.ToBlocks (x) "
#define MEAN "m = ReduceMean <axes = [2, 3]> (i) "
#define EXCITE "s = ai.onyx.BlockConv <activation = \"Sigmoid\"> (m, v) "
#define CONV(in) "c = ai.onyx.BlockConv (" in ", w) "
#define END "y = ai.onyx.FromBlocks <channels = 40> (c) }"

static const rg_row rows[] = {
    {HEAD "(" X1 " x) => (float[1, 40, 9, 9] y) " BEGIN MEAN EXCITE "g = Mul (i, s) " CONV("g") END, "block-gate",
     "ToBlocks ReduceMean BlockConv BlockConv FromBlocks", 1e-5},
    {HEAD "(" X1 " x) => (float[1, 40, 9, 9] y) " BEGIN MEAN "s = HardSigmoid (m) g = Mul (s, i) " CONV("g") END,
     "block-gate", "ToBlocks ReduceMean HardSigmoid BlockConv FromBlocks", 1e-5},
    /* maps that others read, factors that may be large, a factor for each pixel, a map as the gate of another's means
     */
    {HEAD "(" X1 " x) => (float[1, 40, 9, 9] y, float[1, 2, 9, 9, 16] n) " BEGIN MEAN EXCITE
          "g = Mul (i, s) n = Neg (g) " CONV("g") END,
     "!block-gate", "ToBlocks ReduceMean BlockConv Mul Neg BlockConv FromBlocks", 1e-5},
    {HEAD "(" X1 " x) => (float[1, 40, 9, 9] y) " BEGIN MEAN "g = Mul (i, m) " CONV("g") END, "!block-gate",
     "ToBlocks ReduceMean Mul BlockConv FromBlocks", 1e-5},
    {HEAD "(" X1 " x) => (float[1, 40, 9, 9] y) " BEGIN "s = Sigmoid (i) g = Mul (i, s) " CONV("g") END, "!block-gate",
     NULL, 1e-5},
    {HEAD "(float[1, 20, 1, 1] x, float[1, 2, 9, 9, 16] z) => (float[1, 40, 9, 9] y) " BEGIN
          "s = Sigmoid (z) g = Mul (i, s) " CONV("g") END,
     "!block-gate", "ToBlocks Sigmoid Mul BlockConv FromBlocks", 1e-5},
    /* several images; weights that come later; what is not known */
    {HEAD "(float[2, 20, 9, 9] x) => (float[2, 40, 9, 9] y) " BEGIN MEAN EXCITE "g = Mul (i, s) " CONV("g") END,
     "!block-gate", "ToBlocks ReduceMean BlockConv Mul BlockConv FromBlocks", 1e-5},
    {HEAD "(" X1 " x, float[40, 20, 1, 1] u) => (float[1, 40, 9, 9] y) " BEGIN MEAN EXCITE
          "g = Mul (i, s) c = ai.onyx.BlockConv (g, u) " END,
     "!block-gate", "ToBlocks ReduceMean BlockConv Mul BlockConv FromBlocks", 1e-5},
    {HEAD "(float[N, 20, 9, 9] x) => (float[N, 40, 9, 9] y) " BEGIN MEAN EXCITE "g = Mul (i, s) " CONV("g") END,
     "!block-gate", "ToBlocks ReduceMean BlockConv Mul BlockConv FromBlocks", 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
