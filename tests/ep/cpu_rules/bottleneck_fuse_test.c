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
          NUMBERS("bp", "33.2", "20") "i = ai.onyx.ToBlocks (x) "
#define CONV(y, attrs, in) y " = ai.onyx.BlockConv <" attrs "> (" in ") "
#define EXPAND(y, x) CONV(y, "activation = \"Clip\", activation_params = [0.0, 6.0]", x ", we, be")
#define DEPTHWISE(y, x) CONV(y, "group = 96, pads = [1, 1, 1, 1], activation = \"HardSwish\"", x ", wd")
#define HALVE(y, x) CONV(y, "group = 96, pads = [1, 1, 1, 1], strides = [2, 2]", x ", wd")
#define PROJECT(y, x) CONV(y, "strides = [1, 1]", x ", wp, bp")
#define FROM(y, x, channels) y " = ai.onyx.FromBlocks <channels = " channels "> (" x ") "
#define SMALL "float[1, 20, 40, 40]"
#define LARGE "float[1, 96, 40, 40]"
#define POOLED "float[1, 6, 1, 1, 16]"

static const rg_row rows[] = {
    {HEAD "(" SMALL " x) => (" SMALL " y) " WEIGHTS EXPAND("a", "i") DEPTHWISE("b", "a") PROJECT("c", "b")
         FROM("y", "c", "20") "}",
     "bottleneck", "ToBlocks BlockBottleneck FromBlocks", 1e-5},
    {HEAD "(" SMALL " x) => (" SMALL " y) " WEIGHTS EXPAND("a", "i") DEPTHWISE("b", "a")
         CONV("d", "activation = \"Relu\"", "b, wp, bp, i") EXPAND("e", "d") DEPTHWISE("f", "e") PROJECT("c", "f")
             FROM("y", "c", "20") "}",
     "bottleneck", "ToBlocks BlockBottleneck BlockBottleneck FromBlocks", 1e-5},
    {HEAD "(" SMALL " x) => (float[1, 20, 20, 20] y) " WEIGHTS EXPAND("a", "i") HALVE("b", "a") PROJECT("c", "b")
         FROM("y", "c", "20") "}",
     "!bottleneck", "ToBlocks BlockConv BlockConv BlockConv FromBlocks", 1e-5}, /* 20 rows of outputs are few */
    {HEAD "(float[1, 20, 60, 30] x) => (float[1, 20, 30, 15] y) " WEIGHTS EXPAND("a", "i") HALVE("b", "a")
         PROJECT("c", "b") FROM("y", "c", "20") "}",
     "bottleneck", "ToBlocks BlockBottleneck FromBlocks", 1e-5},
    /* without one of them */
    {HEAD "(" SMALL " x) => (" LARGE " y) " WEIGHTS EXPAND("a", "i")
         DEPTHWISE("b", "a") "c = Neg (b) " FROM("y", "c", "96") "}",
     "bottleneck", "ToBlocks BlockBottleneck Neg FromBlocks", 1e-5},
    {HEAD "(" LARGE " x) => (" SMALL " y) " WEIGHTS DEPTHWISE("b", "i") PROJECT("c", "b") FROM("y", "c", "20") "}",
     "bottleneck", "ToBlocks BlockBottleneck FromBlocks", 1e-5},
    /* maps that others read */
    {HEAD "(" SMALL " x) => (" SMALL " y, " POOLED " n) " WEIGHTS EXPAND("a", "i") DEPTHWISE("b", "a")
         PROJECT("c", "b") "n = ReduceMean <axes = [2, 3]> (a) " FROM("y", "c", "20") "}",
     "bottleneck", "ToBlocks BlockConv ReduceMean BlockBottleneck FromBlocks", 1e-5},
    {HEAD "(" SMALL " x) => (" SMALL " y, " POOLED " n) " WEIGHTS EXPAND("a", "i") DEPTHWISE("b", "a")
         PROJECT("c", "b") "n = ReduceMean <axes = [2, 3]> (b) " FROM("y", "c", "20") "}",
     "bottleneck", "ToBlocks BlockBottleneck BlockConv FromBlocks", 1e-5}, /* the means are its own second output */
    {HEAD "(" SMALL " x) => (" LARGE " y) " WEIGHTS EXPAND("a", "i")
         CONV("b", "group = 96, pads = [1, 1, 1, 1]", "a, wd, , a") FROM("y", "b", "96") "}",
     "!bottleneck", "ToBlocks BlockConv BlockConv FromBlocks", 1e-5},
    /* other windows than one pixel */
    {HEAD "(" LARGE " x) => (float[1, 20, 20, 20] y) " WEIGHTS DEPTHWISE("b", "i")
         CONV("c", "strides = [2, 2]", "b, wp") FROM("y", "c", "20") "}",
     "!bottleneck", "ToBlocks BlockConv BlockConv FromBlocks", 1e-5},
    {HEAD "(" LARGE " x) => (float[1, 20, 42, 42] y) " WEIGHTS DEPTHWISE("b", "i")
         CONV("c", "pads = [1, 1, 1, 1]", "b, wp") FROM("y", "c", "20") "}",
     "!bottleneck", "ToBlocks BlockConv BlockConv FromBlocks", 1e-5},
    {HEAD "(" SMALL " x) => (" LARGE " y) " WEIGHTS NUMBERS("w3", "29376.0", "96, 20, 3, 3")
         CONV("a", "pads = [1, 1, 1, 1]", "i, w3") DEPTHWISE("b", "a") FROM("y", "b", "96") "}",
     "!bottleneck", "ToBlocks BlockConv BlockConv FromBlocks", 1e-5},
    /* what is not known */
    {HEAD "(float[1, 20, H, 40] x) => (float[1, 20, H, 40] y) " WEIGHTS EXPAND("a", "i") DEPTHWISE("b", "a")
         PROJECT("c", "b") FROM("y", "c", "20") "}",
     "!bottleneck", "ToBlocks BlockConv BlockConv BlockConv FromBlocks", 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
