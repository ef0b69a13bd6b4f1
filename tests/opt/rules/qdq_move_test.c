/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/qdq_move_test.c - quantized graphs before any owner comes; the same bits. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define P "float s = {0.015}, uint8 z = {128}, float t = {0.04}, uint8 u = {100}, uint8 zero = {0}"
#define DX "xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z) "

static const rg_row rows[] = {
    {HEAD "(float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) <" P "> { " DX "m = MaxPool <kernel_shape = [2, 2]> (xd) "
          "y = Neg (m) }",
     "qdq-move", "QuantizeLinear MaxPool DequantizeLinear Neg", 0},
    {HEAD "(float[2, 3] x) => (float[3, 2] y) <" P "> { " DX "m = Transpose (xd) y = Neg (m) }", "qdq-move",
     "QuantizeLinear Transpose DequantizeLinear Neg", 0},
    {HEAD "(float[2, 3] x) => (uint8[2, 3] y) <" P "> { r = Relu (x) y = QuantizeLinear (r, t, zero) }", "qdq-relu",
     "QuantizeLinear", 0},
    /* an output of the graph; another reader; a zero point that does not cut at zero */
    {HEAD "(float[2, 3] x) => (float[3, 2] y) <" P "> { " DX "y = Transpose (xd) }", "!qdq-move",
     "QuantizeLinear DequantizeLinear Transpose", 0},
    {HEAD "(float[2, 3] x) => (float[3, 2] y, float[2, 3] n) <" P "> { " DX
          "m = Transpose (xd) y = Neg (m) n = Abs (xd) }",
     "!qdq-move", "QuantizeLinear DequantizeLinear Transpose Neg Abs", 0},
    {HEAD "(float[2, 3] x) => (uint8[2, 3] y) <" P "> { r = Relu (x) y = QuantizeLinear (r, t, u) }", "!qdq-relu",
     "Relu QuantizeLinear", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
