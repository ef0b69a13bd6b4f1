/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/layer_norm_fuse_test.c - normalization out of primitive operators. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define IO "(float[2, 3, 4] x) => (float[2, 3, 4] y) "
#define CONSTS \
  "<float two = {2}, float e = {0.00001}, float one = {1}, float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}> "
#define DEV "m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) "
#define ROOT "w = ReduceMean <axes = [-1]> (q) a = Add (w, e) r = Sqrt (a) "

static const struct {
  const char *text, *rule, *after;
} rows[] = {
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT "n = Div (d, r) z = Mul (n, s) y = Add (z, b) }", "layer-norm",
     "LayerNormalization"},
    {HEAD IO CONSTS "{ " DEV "d2 = Sub (x, m) q = Mul (d2, d2) " ROOT "n = Div (d, r) z = Mul (s, n) y = Add (b, z) }",
     "layer-norm", "LayerNormalization"},
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT
                    "i = Reciprocal (r) n = Mul (d, i) z = Mul (n, s) y = Add (z, b) }",
     "layer-norm", "LayerNormalization"},
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT "n = Div (d, r) z = Mul (n, s) y = Neg (z) }", "layer-norm",
     "LayerNormalization Neg"},
    {HEAD IO CONSTS "{ q = Pow (x, two) " ROOT "i = Div (one, r) n = Mul (x, i) y = Mul (s, n) }", "layer-norm",
     "SimplifiedLayerNormalization"},
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) w = ReduceMean <axes = [1]> (q) a = Add (w, e) r = Sqrt (a) "
                    "n = Div (d, r) z = Mul (n, s) y = Add (z, b) }",
     "!layer-norm", NULL},
    {HEAD IO CONSTS "{ " DEV "q = Pow (d, two) " ROOT "n = Div (d, r) y = Neg (n) }", "layer-norm-bare",
     "LayerNormalization Neg"},
    {HEAD IO CONSTS "{ q = Pow (x, two) " ROOT "n = Div (x, r) y = Neg (n) }", "layer-norm-bare",
     "SimplifiedLayerNormalization Neg"},
    {HEAD "(float[2, 3, 4] x, float[2, 3, 4] z) => (float[2, 3, 4] y) " CONSTS "{ " DEV "q = Pow (d, two) " ROOT
          "n = Div (d, r) o = Mul (n, s) y = Add (o, z) }",
     "layer-norm", "LayerNormalization Add"},
    {HEAD "(float[2, 3, 4] x) => (float[2, 3, 4] y, float[2, 3, 4] n) " CONSTS "{ " DEV "q = Pow (d, two) " ROOT
          "n = Div (d, r) z = Mul (n, s) y = Add (z, b) }",
     "!layer-norm", NULL},
    {HEAD IO "<float two = {2}, float e = {0.00001}, float[3, 1] s = {1, 2, 3}> { " DEV "q = Pow (d, two) " ROOT
             "n = Div (d, r) y = Mul (n, s) }",
     "!layer-norm", NULL},
};

static void test_before_and_after(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    rg_check(rows[i].text, OX_OPTIMIZE_EXTENDED, rows[i].rule, rows[i].after, 1e-5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
