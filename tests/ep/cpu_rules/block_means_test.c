/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/block_means_test.c - a depthwise convolution makes the means of its channels, too. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onyx\" : 1]> g "
/* |name|: a constant of |n| different numbers. */
#define NUMBERS(name, n, shape)                                                                              \
  name "_z = Constant <value_float = 0.0> () " name "_n = Constant <value_float = " n "> () " name           \
       "_d = Constant <value_float = 1.7> () " name "_r = Range (" name "_z, " name "_n, " name "_d) " name  \
       "_c = Sin (" name "_r) " name "_s = Constant <value_ints = [" shape "]> () " name " = Reshape (" name \
       "_c, " name "_s) "
#define OUT "(float[1, 20, 9, 9] y, float[1, 2, 1, 1, 16] n) "
#define X1 "(float[1, 20, 9, 9] x) => " OUT
#define BEGIN \
  "{ " NUMBERS("w", "305.4", "20, 1, 3, 3") NUMBERS("v", "679.4", "20, 20, 1, 1") "i = ai.onyx.ToBlocks (x) "
#define DEPTHWISE "c = ai.onyx.BlockConv <group = 20, pads = [1, 1, 1, 1], activation = \"HardSwish\"> (i, w) "
#define BOTTLENECK "c = ai.onyx.BlockBottleneck <pads = [1, 1, 1, 1]> (i, v, , w) "
#define MEAN(axes) "m = ReduceMean <axes = [" axes "]> (c) "
#define END "n = Neg (m) y = ai.onyx.FromBlocks <channels = 20> (c) }"

static const rg_row rows[] = {
    {HEAD X1 BEGIN DEPTHWISE MEAN("2, 3") END, "means", "ToBlocks BlockConv Neg FromBlocks", 1e-5},
    {HEAD X1 BEGIN DEPTHWISE MEAN("-3, -2") END, "means", "ToBlocks BlockConv Neg FromBlocks", 1e-5},
    {HEAD X1 BEGIN DEPTHWISE MEAN("0, 2, 3") END, "means", "ToBlocks BlockConv Neg FromBlocks", 1e-5},
    {HEAD X1 BEGIN BOTTLENECK MEAN("2, 3") END, "means", "ToBlocks BlockBottleneck Neg FromBlocks", 1e-5},
    /* a second operator that asks for them; means of the first one's */
    {HEAD X1 BEGIN DEPTHWISE MEAN("2, 3") "k = ReduceMean <axes = [2, 3]> (c) n = Add (m, k) "
                                          "y = ai.onyx.FromBlocks <channels = 20> (c) }",
     "means", NULL, 1e-5},
    /* a PRelu that only seems to be the sole reader then */
    {HEAD X1 BEGIN DEPTHWISE MEAN("2, 3") NUMBERS(
         "s", "53.4", "1, 2, 1, 1, 16") "n = Neg (m) p = PRelu (c, s) y = ai.onyx.FromBlocks <channels = 20> (p) }",
     "means", "ToBlocks BlockConv Neg PRelu FromBlocks", 1e-5},
    /* other axes, several images, no depthwise convolution, what comes out of a projection, what is not known */
    {HEAD "(float[1, 20, 9, 9] x) => (float[1, 20, 9, 9] y, float[1, 2, 1, 9, 16] n) " BEGIN DEPTHWISE MEAN("2") END,
     "!means", "ToBlocks BlockConv ReduceMean Neg FromBlocks", 1e-5},
    {HEAD "(float[2, 20, 9, 9] x) => (float[2, 20, 9, 9] y, float[1, 2, 1, 1, 16] n) " BEGIN DEPTHWISE MEAN("0, 2, 3")
         END,
     "!means", "ToBlocks BlockConv ReduceMean Neg FromBlocks", 1e-5},
    {HEAD X1 BEGIN "c = ai.onyx.BlockConv (i, v) " MEAN("2, 3") END, "!means",
     "ToBlocks BlockConv ReduceMean Neg FromBlocks", 1e-5},
    {HEAD X1 BEGIN "c = ai.onyx.BlockBottleneck <pads = [1, 1, 1, 1]> (i, , , w, , v) " MEAN("2, 3") END, "!means",
     "ToBlocks BlockBottleneck ReduceMean Neg FromBlocks", 1e-5},
    {HEAD "(float[N, 20, 9, 9] x) => (float[N, 20, 9, 9] y, float[N, 2, 1, 1, 16] n) " BEGIN DEPTHWISE MEAN("2, 3") END,
     "!means", "ToBlocks BlockConv ReduceMean Neg FromBlocks", 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
