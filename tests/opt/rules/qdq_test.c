/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/qdq_test.c - quantized graphs: results within one quantum of what the graph said before. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define P "float s = {0.015}, uint8 z = {128}, float t = {0.04}, uint8 u = {100}, uint8 zero = {0}"
#define W "int8[3, 4] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}, float ws = {0.1}, int8 wz = {0}"
#define DX "xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z) "
#define DW "wd = DequantizeLinear (w, ws, wz) "

static const struct {
  const char *text, *rule, *after;
  double tolerance;
} rows[] = {
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P ", " W "> { " DX DW
          "m = MatMul (xd, wd) y = QuantizeLinear (m, t, u) }",
     "qdq-matmul", "QuantizeLinear QLinearMatMul", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P ", " W "> { " DX DW "m = MatMul (xd, wd) r = Relu (m) "
          "y = QuantizeLinear (r, t, u) }",
     "qdq-matmul", "QuantizeLinear QLinearMatMul Max", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P ", " W "> { " DX DW "m = MatMul (xd, wd) r = Relu (m) "
          "y = QuantizeLinear (r, t, zero) }",
     "qdq-matmul", "QuantizeLinear QLinearMatMul", 1},
    {HEAD "(float[2, 3] x) => (float[2, 4] y) <" P ", " W "> { " DX DW "y = MatMul (xd, wd) }", "qdq-float",
     "QuantizeLinear MatMulIntegerToFloat", 1e-6},
    {HEAD "(float[2, 3] x) => (float[2, 4] y) <" P ", " W ", float[4] b = {1, -2, 3, 0.5}> { " DX DW
          "y = Gemm (xd, wd, b) }",
     "qdq-float", "QuantizeLinear QGemm", 1e-3},
    {HEAD "(float[2, 3] x) => (float[2, 4] y) <" P ", " W ", int32[4] bq = {10, -200, 300, 5}, float bs = {0.0015}, "
          "int32 bz = {0}> { " DX DW "b = DequantizeLinear (bq, bs, bz) y = Gemm (xd, wd, b) }",
     "qdq-float", "QuantizeLinear QGemm", 1e-5},
    {HEAD "(float[2, 3] x, float[2, 3] v) => (uint8[2, 3] y) <" P "> { " DX "vq = QuantizeLinear (v, t, u) "
          "vd = DequantizeLinear (vq, t, u) m = Add (xd, vd) r = Relu (m) y = QuantizeLinear (r, s, z) }",
     "qdq-add", "QuantizeLinear QuantizeLinear QLinearAdd Max", 1},
    {HEAD "(float[2, 3] x, float[2, 3] v) => (uint8[2, 3] y) <" P "> { " DX "vq = QuantizeLinear (v, t, u) "
          "vd = DequantizeLinear (vq, t, u) m = Mul (xd, vd) y = QuantizeLinear (m, s, z) }",
     "qdq-add", "QuantizeLinear QuantizeLinear QLinearMul", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P ", " W ", float lo = {-1}, float hi = {1.5}> { " DX DW
          "m = MatMul (xd, wd) r = Clip (m, lo, hi) y = QuantizeLinear (r, t, u) }",
     "qdq-matmul", "QuantizeLinear QLinearMatMul Max Min", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 3] y) <" P "> { " DX "m = Sigmoid (xd) y = QuantizeLinear (m, s, zero) }",
     "qdq-unary", "QuantizeLinear QLinearSigmoid", 1},
    {HEAD "(float[2, 3] x, float[2, 3] v) => (uint8[2, 6] y) <" P "> { " DX "vq = QuantizeLinear (v, t, u) "
          "vd = DequantizeLinear (vq, t, u) m = Concat <axis = 1> (xd, vd) y = QuantizeLinear (m, s, z) }",
     "qdq-concat", "QuantizeLinear QuantizeLinear QLinearConcat", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P
          ", float[4] b = {1, -2, 3, 0.5}, int8[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, "
          "9, 10, 11, 12}, float ws = {0.1}, int8 wz = {0}> { " DX DW "m = Gemm <transB = 1> (xd, wd, b) "
          "y = QuantizeLinear (m, t, u) }",
     "qdq-gemm", "QuantizeLinear QGemm", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 3] y) <" P "> { " DX
          "q = QuantizeLinear (xd, s, z) r = DequantizeLinear (q, s, z) "
          "o = Neg (r) y = QuantizeLinear (o, s, z) }",
     "qdq-again", "QuantizeLinear DequantizeLinear Neg QuantizeLinear", 0},
    {HEAD "(float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) <" P "> { " DX "m = MaxPool <kernel_shape = [2, 2]> (xd) "
          "y = Neg (m) }",
     "qdq-move", "QuantizeLinear MaxPool DequantizeLinear Neg", 0},
    {HEAD "(float[2, 3] x) => (float[3, 2] y) <" P "> { " DX "m = Transpose (xd) y = Neg (m) }", "qdq-move",
     "QuantizeLinear Transpose DequantizeLinear Neg", 0},
    {HEAD "(float[2, 3] x) => (uint8[2, 3] y) <" P "> { r = Relu (x) y = QuantizeLinear (r, t, zero) }", "qdq-relu",
     "QuantizeLinear", 0},
    /* a scale that is not constant, a result read elsewhere, 16 bits */
    {HEAD "(float[2, 3] x, float k) => (uint8[2, 4] y) <" P ", " W "> { " DX DW "m = MatMul (xd, wd) "
          "y = QuantizeLinear (m, k, u) }",
     "!qdq-matmul", NULL, 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y, float[2, 4] m) <" P ", " W "> { " DX DW "m = MatMul (xd, wd) "
          "y = QuantizeLinear (m, t, u) }",
     "!qdq-matmul", NULL, 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P ", " W ", uint8 o = {128}> { " DX DW "m = MatMul (xd, wd) "
          "r = Sigmoid (m) y = QuantizeLinear (r, t, o) }",
     "!qdq-matmul", NULL, 1},
};

static void test_static(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    rg_check(rows[i].text, OX_OPTIMIZE_EXTENDED, rows[i].rule, rows[i].after, rows[i].tolerance);
}

#define DYNAMIC "q, sx, zx = DynamicQuantizeLinear (x) "
#define LINE(n) "a" n " = MatMulInteger (q, w, zx, wz) c" n " = Cast <to = 1> (a" n ") m" n " = Mul (sx, ws) "

static void test_dynamic(void **state) {
  (void)state;
  rg_check(HEAD "(float[2, 3] x) => (float[2, 4] y) <" W
                ", float[4] b = {1, 2, 3, 4}> { " DYNAMIC LINE("0") "p = Mul (c0, m0) y = Add (p, b) }",
           OX_OPTIMIZE_EXTENDED, "dynamic-bias", "DynamicQuantizeLinear MatMulIntegerToFloat", 1e-5);
  rg_check(HEAD "(float[2, 3] x) => (float[2, 4] y) <" W ", int8[3, 4] w2 = {7, -2, 1, 4, 5, 6, 1, 8, 2, 1, 2, 3}> { " DYNAMIC
           LINE("0") "p = Mul (m0, c0) a1 = MatMulInteger (q, w2, zx, wz) c1 = Cast <to = 1> (a1) r = Mul (c1, m0) "
           "y = Sub (p, r) }",
           OX_OPTIMIZE_EXTENDED, "dynamic-matmul", NULL, 1e-5);
  rg_check(HEAD "(float[2, 3] x, float k) => (float[2, 4] y) <" W "> { " DYNAMIC
                "a = MatMulInteger (q, w, zx, wz) c = Cast <to = 1> (a) m = Mul (k, ws) y = Mul (c, m) }",
           OX_OPTIMIZE_EXTENDED, "!dynamic-matmul", NULL, 1e-5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_static), cmocka_unit_test(test_dynamic)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
