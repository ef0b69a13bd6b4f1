/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/layer_norm_fuse_test.c - normalization out of primitive operators. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define IO "(float[2, 3, 4] x) => (float[2, 3, 4] y) "
#define CONSTS \
  "<float two = {2}, float e = {0.00001}, float one = {1}, float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}> "
#define DEV "m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) "
#define ROOT "w = ReduceMean <axes = [-1]> (q) a = Add (w, e) r = Sqrt (a) "

static const rg_row rows[] = {
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT "n = Div (d, r) z = Mul (n, s) y = Add (z, b) }", "layer-norm",
     "LayerNormalization", 1e-5},
    {HEAD IO CONSTS "{ " DEV "d2 = Sub (x, m) q = Mul (d2, d2) " ROOT "n = Div (d, r) z = Mul (s, n) y = Add (b, z) }",
     "layer-norm", "LayerNormalization", 1e-5},
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT
                    "i = Reciprocal (r) n = Mul (d, i) z = Mul (n, s) y = Add (z, b) }",
     "layer-norm", "LayerNormalization", 1e-5},
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT "n = Div (d, r) z = Mul (n, s) y = Neg (z) }", "layer-norm",
     "LayerNormalization Neg", 1e-5},
    {HEAD IO CONSTS "{ q = Pow (x, two) " ROOT "i = Div (one, r) n = Mul (x, i) y = Mul (s, n) }", "layer-norm",
     "SimplifiedLayerNormalization", 1e-5},
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) w = ReduceMean <axes = [1]> (q) a = Add (w, e) r = Sqrt (a) "
                    "n = Div (d, r) z = Mul (n, s) y = Add (z, b) }",
     "!layer-norm", NULL, 1e-5},
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT "n = Div (d, r) y = Neg (n) }", "layer-norm-bare",
     "LayerNormalization Neg", 1e-5},
    {HEAD IO CONSTS "{ q = Pow (x, two) " ROOT "n = Div (x, r) y = Neg (n) }", "layer-norm-bare",
     "SimplifiedLayerNormalization Neg", 1e-5},
    {HEAD "(float[2, 3, 4] x, float[2, 3, 4] z) => (float[2, 3, 4] y) " CONSTS "{ " DEV "q = Pow (d, two) " ROOT
          "n = Div (d, r) o = Mul (n, s) y = Add (o, z) }",
     "layer-norm", "LayerNormalization Add", 1e-5},
    {HEAD "(float[2, 3, 4] x) => (float[2, 3, 4] y, float[2, 3, 4] n) " CONSTS "{ " DEV "q = Pow (d, two) " ROOT
          "n = Div (d, r) z = Mul (n, s) y = Add (z, b) }",
     "!layer-norm", NULL, 1e-5},
    {HEAD IO "<float two = {2}, float e = {0.00001}, float[3, 1] s = {1, 2, 3}> { " DEV "q = Pow (d, two) " ROOT
             "n = Div (d, r) y = Mul (n, s) }",
     "!layer-norm", NULL, 1e-5},
    /* a quotient by something else; the deviation read elsewhere */
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT "n = Div (x, r) y = Neg (n) }", "!layer-norm-bare", NULL, 1e-5},
    {HEAD "(float[2, 3, 4] x) => (float[2, 3, 4] y, float[2, 3, 1] r) " CONSTS "{ " DEV "q = Pow (d, two) " ROOT
          "n = Div (d, r) y = Neg (n) }",
     "!layer-norm-bare", NULL, 1e-5},
    /* a rank that nobody knows */
    {HEAD "(float[A, 3, 4] x) => (float[] y) " CONSTS "{ t = Squeeze (x) q = Pow (t, two) " ROOT
          "n = Div (t, r) y = Neg (n) }",
     "!layer-norm-bare", NULL, 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
