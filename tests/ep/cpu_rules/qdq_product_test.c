/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/qdq_product_test.c - products of quantized graphs: results within one quantum of what the graph said
 * before. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define P "float s = {0.015}, uint8 z = {128}, float t = {0.04}, uint8 u = {100}, uint8 zero = {0}"
#define W "int8[3, 4] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}, float ws = {0.1}, int8 wz = {0}"
#define DX "xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z) "
#define DW "wd = DequantizeLinear (w, ws, wz) "

static const rg_row rows[] = {
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
    /* scales of columns, counted from the end; those of rows */
    {HEAD "(float[2, 2] x) => (float[2, 3] y) <" P ", int8[2, 3] w = {1, -2, 3, 4, 5, 6}, "
          "float[3] ws = {0.1, 0.2, 0.3}, int8[3] wz = {0, 1, 0}> { " DX
          "wd = DequantizeLinear <axis = -1> (w, ws, wz) y = MatMul (xd, wd) }",
     "qdq-float", "QuantizeLinear MatMulIntegerToFloat", 1e-6},
    {HEAD "(float[2, 2] x) => (float[2, 3] y) <" P ", int8[2, 3] w = {1, -2, 3, 4, 5, 6}, "
          "float[2] ws = {0.1, 0.2}, int8[2] wz = {0, 1}> { " DX
          "wd = DequantizeLinear <axis = -2> (w, ws, wz) y = MatMul (xd, wd) }",
     "!qdq-float", NULL, 1e-6},
    {HEAD "(float[2, 3] x) => (float[2, 4] y) <" P ", " W ", float[4] b = {1, -2, 3, 0.5}> { " DX DW
          "y = Gemm (xd, wd, b) }",
     "qdq-float", "QuantizeLinear QGemm", 1e-3},
    {HEAD "(float[2, 3] x) => (float[2, 4] y) <" P ", " W ", int32[4] bq = {10, -200, 300, 5}, float bs = {0.0015}, "
          "int32 bz = {0}> { " DX DW "b = DequantizeLinear (bq, bs, bz) y = Gemm (xd, wd, b) }",
     "qdq-float", "QuantizeLinear QGemm", 1e-5},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P ", " W ", float lo = {-1}, float hi = {1.5}> { " DX DW
          "m = MatMul (xd, wd) r = Clip (m, lo, hi) y = QuantizeLinear (r, t, u) }",
     "qdq-matmul", "QuantizeLinear QLinearMatMul Max Min", 1},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P
          ", float[4] b = {1, -2, 3, 0.5}, int8[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, "
          "9, 10, 11, 12}, float ws = {0.1}, int8 wz = {0}> { " DX DW "m = Gemm <transB = 1> (xd, wd, b) "
          "y = QuantizeLinear (m, t, u) }",
     "qdq-gemm", "QuantizeLinear QGemm", 1},
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
    {HEAD
     "(float[1, 1, 3, 3] x) => (uint8[1, 2, 2, 2] y) <" P ", int8[2, 1, 2, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}, "
     "float[2] ws = {0.1, 0.2}, int8[2] wz = {0, 0}, float[2] b = {1, -0.5}> { " DX
     "wd = DequantizeLinear <axis = 0> (w, ws, wz) m = Conv (xd, wd, b) r = Relu (m) y = QuantizeLinear (r, t, u) }",
     "qdq-conv", "QuantizeLinear QLinearConv Max", 1},
    {HEAD "(float[1, 1, 3, 3] x) => (uint8[1, 2, 2, 2] y) <" P ", int8[2, 1, 2, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}, "
          "float ws = {0.1}, int8 wz = {0}> { " DX DW "m = Conv (xd, wd) y = QuantizeLinear (m, t, u) }",
     "qdq-conv", "QuantizeLinear QLinearConv", 1},
    /* a bias that is not constant; another type of result; scales of the wrong axis */
    {HEAD "(float[1, 1, 3, 3] x, float[2] b) => (uint8[1, 2, 2, 2] y) <" P
          ", int8[2, 1, 2, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}, float ws = {0.1}, int8 wz = {0}> { " DX DW
          "m = Conv (xd, wd, b) y = QuantizeLinear (m, t, u) }",
     "!qdq-conv", NULL, 1},
    {HEAD "(float[1, 1, 3, 3] x) => (int8[1, 2, 2, 2] y) <" P ", int8[2, 1, 2, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}, "
          "float ws = {0.1}, int8 wz = {0}> { " DX DW "m = Conv (xd, wd) y = QuantizeLinear (m, t, wz) }",
     "!qdq-conv", NULL, 1},
    {HEAD "(float[1, 2, 3, 3] x) => (uint8[1, 2, 3, 3] y) <" P ", int8[2, 2, 1, 1] w = {1, -2, 3, 4}, "
          "float[2] ws = {0.1, 0.2}, int8[2] wz = {0, 0}> { " DX "wd = DequantizeLinear <axis = 1> (w, ws, wz) "
          "m = Conv (xd, wd) y = QuantizeLinear (m, t, u) }",
     "!qdq-conv", NULL, 1},
    /* products that Gemm scales or transposes in ways that QGemm cannot */
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" P ", " W ", float[4] b = {1, -2, 3, 0.5}> { " DX DW
          "m = Gemm <alpha = 0.5> (xd, wd, b) y = QuantizeLinear (m, t, u) }",
     "!qdq-gemm", NULL, 1},
    {HEAD "(float[3, 2] x) => (float[2, 4] y) <" P ", " W "> { " DX DW "y = Gemm <transA = 1> (xd, wd) }", "!qdq-float",
     NULL, 1e-6},
    {HEAD "(float[2, 3] x, float[3, 4] v) => (float[2, 4] y) <" P "> { " DX
          "vq = QuantizeLinear (v, t, u) vd = DequantizeLinear (vq, t, u) y = MatMul (xd, vd) }",
     "!qdq-float", NULL, 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
