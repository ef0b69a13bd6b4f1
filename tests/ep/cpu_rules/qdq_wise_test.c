/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/qdq_wise_test.c - element-wise operators of quantized graphs: results within one quantum of what the
 * graph said before. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define P "float s = {0.015}, uint8 z = {128}, float t = {0.04}, uint8 u = {100}, uint8 zero = {0}"
#define DX "xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z) "

static const rg_row rows[] = {
    {HEAD "(float[2, 3] x, float[2, 3] v) => (uint8[2, 3] y) <" P "> { " DX "vq = QuantizeLinear (v, t, u) "
          "vd = DequantizeLinear (vq, t, u) m = Add (xd, vd) r = Relu (m) y = QuantizeLinear (r, s, z) }",
     "qdq-add", "QuantizeLinear QuantizeLinear QLinearAdd Max", 1},
    {HEAD "(float[2, 3] x, float[2, 3] v) => (uint8[2, 3] y) <" P "> { " DX "vq = QuantizeLinear (v, t, u) "
          "vd = DequantizeLinear (vq, t, u) m = Mul (xd, vd) y = QuantizeLinear (m, s, z) }",
     "qdq-add", "QuantizeLinear QuantizeLinear QLinearMul", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 3] y) <" P "> { " DX "m = Sigmoid (xd) y = QuantizeLinear (m, s, zero) }",
     "qdq-unary", "QuantizeLinear QLinearSigmoid", 1},
    {HEAD "(float[2, 3] x, float[2, 3] v) => (uint8[2, 6] y) <" P "> { " DX "vq = QuantizeLinear (v, t, u) "
          "vd = DequantizeLinear (vq, t, u) m = Concat <axis = 1> (xd, vd) y = QuantizeLinear (m, s, z) }",
     "qdq-concat", "QuantizeLinear QuantizeLinear QLinearConcat", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 3] y) <" P "> { " DX
          "q = QuantizeLinear (xd, s, z) r = DequantizeLinear (q, s, z) "
          "o = Neg (r) y = QuantizeLinear (o, s, z) }",
     "qdq-again", "QuantizeLinear DequantizeLinear Neg QuantizeLinear", 0},
    /* operands of two types; a scale that is not constant; another scale */
    {HEAD "(float[2, 3] x, float[2, 3] v) => (uint8[2, 3] y) <" P ", int8 o = {0}> { " DX
          "vq = QuantizeLinear (v, t, o) "
          "vd = DequantizeLinear (vq, t, o) m = Add (xd, vd) y = QuantizeLinear (m, s, z) }",
     "!qdq-add", NULL, 1},
    {HEAD "(float[2, 3] x, float k) => (uint8[2, 3] y) <" P "> { " DX
          "m = Sigmoid (xd) y = QuantizeLinear (m, k, zero) }",
     "!qdq-unary", NULL, 1},
    {HEAD "(float[2, 3] x, float[2, 3] v) => (uint8[2, 6] y) <" P "> { " DX
          "m = Concat <axis = 1> (xd, v) y = QuantizeLinear (m, s, z) }",
     "!qdq-concat", NULL, 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 3] y) <" P "> { " DX "y = QuantizeLinear (xd, t, z) }", "!qdq-again",
     "QuantizeLinear DequantizeLinear QuantizeLinear", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
