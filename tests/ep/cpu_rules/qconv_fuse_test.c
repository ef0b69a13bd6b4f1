/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/qconv_fuse_test.c - channels-last integer convolutions take in sums and maxima; the same bits. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g "
#define IO "(uint8[1, 2, 3, 5] x) => (uint8[1, 2, 3, 5] y) "
#define P                                                                                                    \
  "float s = {0.02}, uint8 z = {128}, float ws = {0.1}, int8 wz = {0}, int8[2, 2, 1, 1] w = {3, -2, 5, 4}, " \
  "float t = {0.03}, uint8 q = {120}, int8[2, 1, 1, 1] dw = {90, -110}"
#define CONV(out, in) out " = QLinearConv (" in ", s, z, w, ws, wz, s, z) "
#define DEPTHWISE(out, in) out " = QLinearConv <group = 2> (" in ", s, z, dw, ws, wz, s, z) "
#define ADD(out, a, b) out " = com.microsoft.QLinearAdd (" a ", s, z, " b ", s, z, t, q) "

static const rg_row rows[] = {
    {HEAD IO "<" P "> { " CONV("a", "x") "b = Max (z, a) " CONV("y", "b") "}", "qconv-max",
     "Transpose FusedQLinearConv QLinearConv Transpose", 0},
    {HEAD IO "<" P "> { " CONV("a", "x") CONV("b", "a") ADD("c", "a", "b") "d = Max (c, q) " CONV("y", "d") "}",
     "qconv-add", "Transpose QLinearConv FusedQLinearConv QLinearConv Transpose", 0},
    {HEAD IO "<" P "> { " CONV("a", "x") CONV("b", "a") ADD("c", "b", "a") CONV("y", "c") "}", "qconv-add",
     "Transpose QLinearConv FusedQLinearConv QLinearConv Transpose", 0},
    {HEAD IO "<" P "> { " CONV("a", "x") DEPTHWISE("b", "a") ADD("c", "b", "a") "d = Max (c, q) " CONV("y", "d") "}",
     "qconv-add", "Transpose QLinearConv FusedQLinearConv QLinearConv Transpose", 0},
    /* weights of the run */
    {HEAD "(uint8[1, 2, 3, 5] x, int8[2, 2, 1, 1] v) => (uint8[1, 2, 3, 5] y) <" P
          "> { " CONV("a", "x") "b = QLinearConv (a, s, z, v, ws, wz, s, z) " ADD("c", "b", "a") "d = Max (c, q) " CONV(
              "y", "d") "}",
     "qconv-add", "Transpose QLinearConv FusedQLinearConv QLinearConv Transpose", 0},
    /* another reader, other quanta, a second maximum, a sum that broadcasts */
    {HEAD "(uint8[1, 2, 3, 5] x) => (uint8[1, 2, 3, 5] y, uint8[1, 2, 3, 5] a) <" P
          "> { " CONV("a", "x") "b = Max (a, z) " CONV("y", "b") "}",
     "!qconv-max", NULL, 0},
    {HEAD IO "<" P "> { " CONV("a", "x") "b = com.microsoft.QLinearAdd (a, t, z, x, s, z, t, q) " CONV("y", "b") "}",
     "!qconv-add", NULL, 0},
    {HEAD IO "<" P "> { " CONV("a", "x") "b = Max (a, z) c = Max (b, q) " CONV("y", "c") "}", "qconv-max",
     "Transpose FusedQLinearConv Max QLinearConv Transpose", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
