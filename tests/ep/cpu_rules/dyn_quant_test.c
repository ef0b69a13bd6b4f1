/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/dyn_quant_test.c - dynamically quantized products. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "int8[3, 4] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}, float ws = {0.1}, int8 wz = {0}"
#define DYNAMIC "q, sx, zx = DynamicQuantizeLinear (x) "
#define LINE(n) "a" n " = MatMulInteger (q, w, zx, wz) c" n " = Cast <to = 1> (a" n ") m" n " = Mul (sx, ws) "

static const rg_row rows[] = {
    {HEAD "(float[2, 3] x) => (float[2, 4] y) <" W
          ", float[4] b = {1, 2, 3, 4}> { " DYNAMIC LINE("0") "p = Mul (c0, m0) y = Add (p, b) }",
     "dynamic-bias", "DynamicQuantizeLinear MatMulIntegerToFloat", 1e-5},
    {HEAD "(float[2, 3] x) => (float[2, 4] y) <" W
          ", int8[3, 4] w2 = {7, -2, 1, 4, 5, 6, 1, 8, 2, 1, 2, 3}> { " DYNAMIC LINE(
              "0") "p = Mul (m0, c0) a1 = MatMulInteger (q, w2, zx, wz) c1 = Cast <to = 1> (a1) r = Mul (c1, m0) "
                   "y = Sub (p, r) }",
     "dynamic-matmul", NULL, 1e-5},
    /* another scale than the quantization's; a bias that is none, and one that is not constant */
    {HEAD "(float[2, 3] x, float k) => (float[2, 4] y) <" W "> { " DYNAMIC
          "a = MatMulInteger (q, w, zx, wz) c = Cast <to = 1> (a) m = Mul (k, ws) y = Mul (c, m) }",
     "!dynamic-matmul", NULL, 1e-5},
    {HEAD "(float[2, 3] x) => (float[2, 4] y) <" W
          ", float[2, 1] b = {1, 2}> { " DYNAMIC LINE("0") "p = Mul (c0, m0) y = Add (p, b) }",
     "!dynamic-bias", "DynamicQuantizeLinear MatMulIntegerToFloat Add", 1e-5},
    {HEAD "(float[2, 3] x, float[4] b) => (float[2, 4] y) <" W
          "> { " DYNAMIC LINE("0") "p = Mul (c0, m0) y = Add (p, b) }",
     "!dynamic-bias", "DynamicQuantizeLinear MatMulIntegerToFloat Add", 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
