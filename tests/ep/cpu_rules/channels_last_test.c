/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/channels_last_test.c - integer convolutions keep their layout from one to the next; the same bits. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g "
#define IO "(uint8[1, 2, 3, 5] x) => (uint8[1, 2, 3, 5] y) "
#define P "float s = {0.02}, uint8 z = {128}, float ws = {0.1}, int8 wz = {0}, int8[2, 2, 1, 1] w = {3, -2, 5, 4}"
#define CONV(out, in) out " = QLinearConv (" in ", s, z, w, ws, wz, s, z) "

static const rg_row rows[] = {
    {HEAD IO "<" P "> { " CONV("a", "x") CONV("y", "a") "}", "channels-last-conv",
     "Transpose QLinearConv QLinearConv Transpose", 0},
    {HEAD IO "<" P "> { " CONV("a", "x") "b = Max (a, z) " CONV("y", "b") "}", "channels-last-move",
     "Transpose FusedQLinearConv QLinearConv Transpose", 0},
    {HEAD IO "<" P "> { " CONV("a", "x") "b = Max (z, a) " CONV(
         "c", "b") "d = com.microsoft.QLinearAdd (b, s, z, c, s, z, s, z) " CONV("y", "d") "}",
     "channels-last-move", "Transpose FusedQLinearConv FusedQLinearConv QLinearConv Transpose", 0},
    {HEAD IO "<" P "> { " CONV(
         "a", "x") "b = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], storage_order = 0> (a) " CONV("y",
                                                                                                           "b") "}",
     "channels-last-move", "Transpose QLinearConv NhwcMaxPool QLinearConv Transpose", 0},
    {HEAD "(uint8[1, 2, 3, 5] x) => (uint8[1, 4, 3, 5] y) <" P ", float t = {0.03}, uint8 u = {100}> { " CONV("a", "x")
         CONV("b", "a") "c = com.microsoft.QLinearConcat <axis = 1> (s, z, a, s, z, b, t, u) y = Max (c, z) }",
     "channels-last-move", "Transpose QLinearConv QLinearConv QLinearConcat Transpose Max", 0},
    {HEAD "(uint8[1, 2, 3, 5] x) => (uint8[1, 2, 3, 10] y) <" P ", float t = {0.03}, uint8 u = {100}> { " CONV("a", "x")
         CONV("b", "a") "c = com.microsoft.QLinearConcat <axis = -1> (s, z, a, s, z, b, t, u) y = Max (c, z) }",
     "channels-last-move", "Transpose QLinearConv QLinearConv QLinearConcat Transpose Max", 0},
    {HEAD "(uint8[1, 2, 3, 5] x) => (uint8[1, 2, 6, 5] y) <" P ", float t = {0.03}, uint8 u = {100}> { " CONV("a", "x")
         CONV("b", "a") "c = com.microsoft.QLinearConcat <axis = 2> (s, z, a, s, z, b, t, u) y = Max (c, z) }",
     "channels-last-move", "Transpose QLinearConv QLinearConv QLinearConcat Transpose Max", 0},
    {HEAD IO "<" P "> { " CONV("a", "x") "b = com.microsoft.QLinearAveragePool <kernel_shape = [3, 3], pads = [1, 1, "
                                         "1, 1]> (a, s, z, s, z) " CONV("y", "b") "}",
     "channels-last-move", "Transpose QLinearConv QLinearAveragePool QLinearConv Transpose", 0},
    /* a mean of what lies channels last as it is */
    {HEAD IO "<" P
             "> { " CONV("a", "x") "b = com.microsoft.QLinearAveragePool <kernel_shape = [1, 3], pads = [0, 1, 0, 1], "
                                   "channels_last = 1> (a, s, z, s, z) " CONV("y", "b") "}",
     "!channels-last-move", NULL, 0},
    /* where the maxima lie is asked for */
    {HEAD "(uint8[1, 2, 3, 5] x) => (uint8[1, 2, 3, 5] y, int64[1, 2, 3, 5] i) <" P
          "> { " CONV("a", "x") "b, i = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a) " CONV("y", "b") "}",
     "!channels-last-move", NULL, 0},
    /* an operand of another layout, and one that broadcasts along a dimension */
    {HEAD "(uint8[1, 2, 3, 5] x, uint8[1, 2, 3, 5] v) => (uint8[1, 2, 3, 5] y) <" P
          "> { " CONV("a", "x") "b = Max (a, v) " CONV("y", "b") "}",
     "!channels-last-move", NULL, 0},
    {HEAD IO "<" P ", uint8[5] v = {1, 100, 150, 200, 250}> { " CONV("a", "x") "b = Max (a, v) " CONV("y", "b") "}",
     "!channels-last-move", NULL, 0},
    {HEAD
     "(uint8[1, 2, 5] x) => (uint8[1, 2, 5] y) <float s = {0.02}, uint8 z = {128}, float ws = {0.1}, int8 wz = {0}, "
     "int8[2, 2, 1] w = {3, -2, 5, 4}> { " CONV("y", "x") "}",
     "!channels-last-conv", "QLinearConv", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
