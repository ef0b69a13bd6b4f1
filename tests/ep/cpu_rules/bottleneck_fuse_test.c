/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/bottleneck_fuse_test.c - expand, depthwise and project become one node where their maps are large. */
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
#define WEIGHTS                                                                       \
  "{ " NUMBERS("we", "3263.0", "96, 20, 1, 1") NUMBERS("wd", "1468.0", "96, 1, 3, 3") \
      NUMBERS("wp", "3263.0", "20, 96, 1, 1") NUMBERS("be", "162.4", "96")            \
          NUMBERS("bp", "33.2", "20") "six = Constant <value_float = 6.0> () zero = Constant <value_float = 0.0> () "
#define WIDEN(y, x) NUMBERS("ww", "29376.0", "96, 20, 3, 3") y " = Conv <pads = [1, 1, 1, 1]> (" x ", ww) "
#define EXPAND(y, x) y "_e = Conv (" x ", we, be) " y " = Clip (" y "_e, zero, six) "
#define DEPTHWISE(y, x) y "_d = Conv <group = 96, pads = [1, 1, 1, 1]> (" x ", wd) " y " = HardSwish (" y "_d) "
#define HALVE(y, x) y " = Conv <group = 96, pads = [1, 1, 1, 1], strides = [2, 2]> (" x ", wd) "
#define PROJECT(y, x) y " = Conv (" x ", wp, bp) "
#define SMALL "float[1, 20, 40, 40]"
#define POOLED "float[1, 96, 1, 1]"
#define LARGE "float[1, 96, 40, 40]"

static const rg_row rows[] = {
    {HEAD "(" SMALL " x) => (" SMALL " y) " WEIGHTS EXPAND("a", "x") DEPTHWISE("b", "a") PROJECT("y", "b") "}",
     "bottleneck", "ToBlocks BlockBottleneck FromBlocks", 1e-5},
    {HEAD "(" SMALL " x) => (" SMALL " y) " WEIGHTS EXPAND("a", "x") DEPTHWISE("b", "a")
         PROJECT("c", "b") "d = Add (c, x) " EXPAND("e", "d") DEPTHWISE("f", "e") PROJECT("y", "f") "}",
     "bottleneck", "ToBlocks BlockBottleneck BlockBottleneck FromBlocks", 1e-5},
    {HEAD "(" SMALL " x) => (float[1, 20, 20, 20] y) " WEIGHTS EXPAND("a", "x") HALVE("b", "a") PROJECT("y", "b") "}",
     "!bottleneck", NULL, 1e-5}, /* 20 rows of outputs are few */
    {HEAD "(float[1, 20, 60, 30] x) => (float[1, 20, 30, 15] y) " WEIGHTS EXPAND("a", "x") HALVE("b", "a")
         PROJECT("c", "b") "y = Relu (c) }",
     "bottleneck", "ToBlocks BlockBottleneck FromBlocks", 1e-5},
    /* without one of them */
    {HEAD "(" SMALL " x) => (" LARGE " y) " WEIGHTS EXPAND("a", "x") DEPTHWISE("b", "a") "y = Neg (b) }", "bottleneck",
     "ToBlocks BlockBottleneck FromBlocks Neg", 1e-5},
    {HEAD "(" SMALL " x) => (" SMALL " y) " WEIGHTS WIDEN("a", "x") DEPTHWISE("b", "a") PROJECT("y", "b") "}",
     "bottleneck", "ToBlocks BlockConv BlockBottleneck FromBlocks", 1e-5},
    /* maps that others read */
    {HEAD "(" SMALL " x) => (" SMALL " y, " POOLED " n) " WEIGHTS EXPAND("a", "x") DEPTHWISE("b", "a")
         PROJECT("y", "b") "n = GlobalAveragePool (a) }",
     "bottleneck", "ToBlocks BlockConv ReduceMean BlockBottleneck FromBlocks Reshape", 1e-5},
    {HEAD "(" SMALL " x) => (" SMALL " y, " POOLED " n) " WEIGHTS EXPAND("a", "x") DEPTHWISE("b", "a")
         PROJECT("y", "b") "n = GlobalAveragePool (b) }",
     "bottleneck", "ToBlocks BlockBottleneck BlockConv ReduceMean FromBlocks Reshape", 1e-5},
    /* other windows than one pixel */
    {HEAD "(" SMALL " x) => (" LARGE " y) " WEIGHTS WIDEN("a", "x") DEPTHWISE("y", "a") "}", "!bottleneck",
     "ToBlocks BlockConv BlockConv FromBlocks", 1e-5},
    {HEAD "(" SMALL " x) => (float[1, 20, 20, 20] y) " WEIGHTS WIDEN("a", "x")
         DEPTHWISE("b", "a") "y = Conv <strides = [2, 2]> (b, wp) }",
     "!bottleneck", "ToBlocks BlockConv BlockConv BlockConv FromBlocks", 1e-5},
    {HEAD "(" SMALL " x) => (float[1, 20, 42, 42] y) " WEIGHTS WIDEN("a", "x")
         DEPTHWISE("b", "a") "y = Conv <pads = [1, 1, 1, 1]> (b, wp) }",
     "!bottleneck", "ToBlocks BlockConv BlockConv BlockConv FromBlocks", 1e-5},
    /* what is not known */
    {HEAD "(float[1, 20, H, 40] x) => (float[1, 20, H, 40] y) " WEIGHTS EXPAND("a", "x") DEPTHWISE("b", "a")
         PROJECT("y", "b") "}",
     "!bottleneck", NULL, 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
