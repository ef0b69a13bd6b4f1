/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/gated_act_test.c - GELU, SiLU and HardSwish in the spellings that exporters use. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define IO "(float[2, 9] x) => (float[2, 9] y) "
#define ERF "<float r = {1.4142135}, float i = {0.70710678}, float one = {1}, float h = {0.5}> "
#define TANH "<float c = {0.044715}, float r = {0.7978845608}, float three = {3}, float one = {1}, float h = {0.5}> "
#define HARD "<float three = {3}, float six = {6}, float zero = {0}, float i = {0.16666667}> "

static const rg_row rows[] = {
    {HEAD IO ERF "{ a = Div (x, r) b = Erf (a) c = Add (b, one) d = Mul (x, c) y = Mul (d, h) }", "gated-activation",
     "Gelu", 2e-6},
    {HEAD IO ERF "{ a = Mul (x, i) b = Erf (a) c = Add (one, b) d = Mul (c, h) y = Mul (x, d) }", "gated-activation",
     "Gelu", 2e-6},
    {HEAD IO ERF "{ a = Div (x, r) b = Erf (a) c = Add (b, one) d = Mul (h, x) y = Mul (d, c) }", "gated-activation",
     "Gelu", 2e-6},
    {HEAD IO ERF "{ a = Div (x, i) b = Erf (a) c = Add (b, one) d = Mul (h, x) y = Mul (d, c) }", "!gated-activation",
     NULL, 2e-6},
    {HEAD IO ERF "{ a = Div (x, r) b = Erf (a) c = Add (b, one) d = Mul (x, c) y = Mul (d, one) }", "!gated-activation",
     NULL, 2e-6},
    {HEAD IO "<float r = {1.4140625}, float one = {1}, float h = {0.5}> " /* in float16 */
             "{ a = Div (x, r) b = Erf (a) c = Add (b, one) d = Mul (x, c) y = Mul (d, h) }",
     "gated-activation", "Gelu", 1e-4},
    {HEAD IO "<float r = {1.414}, float one = {1}, float h = {0.5}> "
             "{ a = Div (x, r) b = Erf (a) c = Add (b, one) d = Mul (x, c) y = Mul (d, h) }",
     "!gated-activation", NULL, 2e-6},
    {HEAD IO TANH "{ p = Pow (x, three) q = Mul (p, c) s = Add (x, q) t = Mul (s, r) u = Tanh (t) v = Add (u, one) "
                  "w = Mul (x, h) y = Mul (w, v) }",
     "gated-activation", "FastGelu", 2e-6},
    {HEAD IO TANH "{ p = Mul (x, x) p3 = Mul (x, p) q = Mul (c, p3) s = Add (q, x) t = Mul (r, s) u = Tanh (t) "
                  "v = Add (one, u) w = Mul (x, v) y = Mul (h, w) }",
     "gated-activation", "FastGelu", 2e-6},
    {HEAD IO TANH "{ p = Mul (x, x) q = Mul (c, p) s = Add (q, one) k = Mul (x, r) t = Mul (k, s) u = Tanh (t) "
                  "v = Add (one, u) w = Mul (x, v) y = Mul (h, w) }",
     "gated-activation", "FastGelu", 2e-6},
    {HEAD IO "{ s = Sigmoid (x) y = Mul (x, s) }", "gated-activation", "QuickGelu", 2e-6},
    {HEAD IO "<float k = {1.702}> { t = Mul (k, x) s = Sigmoid (t) y = Mul (s, x) }", "gated-activation", "QuickGelu",
     2e-6},
    {HEAD "(float[2, 9] x, float[2, 9] z) => (float[2, 9] y) { s = Sigmoid (x) y = Mul (z, s) }", "!gated-activation",
     NULL, 2e-6},
    {HEAD "(float[2, 9] x) => (float[2, 9] y, float[2, 9] s) { s = Sigmoid (x) y = Mul (x, s) }", "!gated-activation",
     NULL, 2e-6},
    {HEAD IO HARD "{ a = Add (x, three) b = Clip (a, zero, six) c = Mul (x, b) y = Div (c, six) }", "gated-activation",
     "HardSwish", 2e-6},
    {HEAD IO HARD "{ a = Add (x, three) b = Clip (a, zero, six) c = Mul (b, i) y = Mul (x, c) }", "gated-activation",
     "HardSwish", 2e-6},
    {HEAD IO HARD "{ a = HardSigmoid <alpha = 0.16666667> (x) y = Mul (a, x) }", "gated-activation", "HardSwish", 2e-6},
    {HEAD IO HARD "{ a = HardSigmoid (x) y = Mul (a, x) }", "!gated-activation", NULL, 2e-6},
    /* a power that is neither square nor cube */
    {HEAD IO "<float c = {0.044715}, float r = {0.7978845608}, float e = {3.5}, float one = {1}, float h = {0.5}> "
             "{ a = Abs (x) p = Pow (a, e) q = Mul (p, c) s = Add (a, q) t = Mul (s, r) u = Tanh (t) v = Add (u, one) "
             "w = Mul (a, h) y = Mul (w, v) }",
     "!gated-activation", NULL, 2e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
