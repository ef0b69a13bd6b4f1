/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/head_scale_test.c - factors for heads of scores. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define QK "(float[2, 3, 5, 4] q, float[2, 3, 4, 7] k) => (float[2, 3, 5, 7] y) "

static const rg_row rows[] = {
    {HEAD QK "<float[3, 1, 1] c = {0.5, -2, 3}> { m = MatMul (q, k) s = Mul (m, c) y = Softmax (s) }", "head-scale",
     "Mul MatMul Softmax", 1e-5},
    {HEAD QK "<float[1, 3, 1, 1] c = {0.5, 2, 3}> { m = MatMul (q, k) s = Mul (c, m) y = Softmax (s) }", "head-scale",
     "Mul MatMul Softmax", 1e-5},
    {HEAD "(float[2, 3, 5, 4] q, float[2, 3, 7, 4] k, float[2, 3, 7, 6] v, float[3, 5, 7] b) => (float[2, 3, 5, 6] y) "
          "<float[3, 1, 1] c = {0.5, 2, 3}> {"
          "t = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, t) s = Mul (m, c) a = Add (s, b) p = Softmax (a) "
          "y = MatMul (p, v) }",
     "head-scale", "Mul Attention", 1e-5},
    /* a factor for rows; for columns; of a product with weights; that the product's other readers do not want */
    {HEAD QK "<float[5, 1] c = {0.5, 2, 3, 1, 1}> { m = MatMul (q, k) s = Mul (m, c) y = Softmax (s) }", "!head-scale",
     "MatMul Mul Softmax", 1e-5},
    {HEAD QK "<float[1, 1, 7] c = {0.5, 2, 3, 4, 5, 6, 7}> { m = MatMul (q, k) s = Mul (m, c) y = Softmax (s) }",
     "!head-scale", "MatMul Mul Softmax", 1e-5},
    {HEAD "(float[2, 2, 5, 4] q) => (float[2, 2, 5, 3] y) <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, "
          "float[2, 1, 1] c = {0.5, 2}> {"
          "m = MatMul (q, w) y = Mul (m, c) }",
     "!head-scale", NULL, 1e-5},
    {HEAD "(float[2, 3, 5, 4] q, float[2, 3, 4, 7] k) => (float[2, 3, 5, 7] y, float[2, 3, 5, 7] z) "
          "<float[3, 1, 1] c = {0.5, 2, 3}> { m = MatMul (q, k) y = Mul (m, c) z = Neg (m) }",
     "!head-scale", "MatMul Mul Neg", 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
