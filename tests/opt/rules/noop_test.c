/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/noop_test.c - the basic rules: graph before, operators after, and graphs that must not match. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G17 "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define G6 "<ir_version: 4, opset_import: [\"\" : 6]> g "

static const struct {
  const char *text, *rule, *after;
} rows[] = {
    {G17 "(float[2] x) => (float[2] y) { c = Constant <value = float {2}> () y = Mul (x, c) }", "constant", "Mul"},
    {G17 "(float[2] x) => (float[2] y) { c = Constant <value_floats = [2.0, 3.0]> () y = Mul (x, c) }", "constant",
     "Mul"},
    {G17 "(float[2] x) => (float[2] y, float z) { z = Constant <value_float = 2.0> () y = Mul (x, z) }", "!constant",
     "Constant Mul"},
    {G17 "(float[2] x) => (float[2] y) { h = Dropout (x) y = Relu (h) }", "dropout", "Relu"},
    {G17 "(float[2] x) => (float[2] y, bool[2] k) { h, k = Dropout (x) y = Relu (h) }", "!dropout", NULL},
    {G17 "(float[2] x) => (float[2] y) { h = Cast <to = 1> (x) y = Relu (h) }", "cast-same-type", "Relu"},
    {G17 "(float[2] x) => (double[2] y) { h = Cast <to = 11> (x) y = Relu (h) }", "!cast-same-type", "Cast Relu"},
    {G17 "(float[2, 3] x) => (float[2, 3] y) { h = Transpose <perm = [0, 1]> (x) y = Relu (h) }", "transpose-identity",
     "Relu"},
    {G17 "(float[2, 3] x) => (float[3, 2] y) { h = Transpose <perm = [1, 0]> (x) y = Relu (h) }", "!transpose-identity",
     "Transpose Relu"},
    {G17 "(float[2, 3, 4] x) => (float[4, 3, 2] y) { h = Transpose <perm = [1, 0, 2]> (x) "
         "i = Transpose <perm = [2, 0, 1]> (h) y = Neg (i) }",
     "transpose-transpose", "Transpose Neg"},
    {G17 "(float[2, 3] x) => (float[2, 3] y) { h = Transpose (x) i = Transpose (h) y = Neg (i) }", "transpose-back",
     "Neg"},
    {G17 "(float[2, 3] x) => (float[2, 3] y, float[3, 2] z) { h = Transpose (x) i = Transpose (h) y = Neg (i) "
         "z = Neg (h) }",
     "transpose-back", "Transpose Neg Neg"},
    {G17 "(float[2, 3, 4] x) => (float[4, 3, 2] y, float[3, 2, 4] z) { h = Transpose <perm = [1, 0, 2]> (x) "
         "i = Transpose <perm = [2, 0, 1]> (h) y = Neg (i) z = Neg (h) }",
     "!transpose-transpose", "Transpose Transpose Neg Neg"},
    {G17 "(float[N, 3] x) => (float[N, 3] y) <int64[2] s = {-1, 3}> { h = Reshape (x, s) y = Neg (h) }", "noop-view",
     "Neg"},
    {G17 "(float[3, 2] x) => (float[2, 3] y) <int64[2] s = {2, 3}> { h = Reshape (x, s) y = Neg (h) }", "!noop-view",
     "Reshape Neg"},
    {G17 "(float[2, 3] x) => (float[3, 2] y) <int64[1] s = {-1}, int64[2] t = {3, 2}> { h = Reshape (x, s) "
         "i = Reshape (h, t) y = Neg (i) }",
     "reshape-reshape", "Reshape Neg"},
    {G17 "(float[2, 3] x) => (float[3, 2] y) <int64[2] s = {3, 2}, int64[2] t = {0, 2}> { h = Reshape (x, s) "
         "i = Reshape (h, t) y = Neg (i) }",
     NULL, "Reshape Neg"},
    {G17 "(float[4] x) => (float[4] y) <int64[1] a = {0}, int64[1] b = {99}> { h = Slice (x, a, b) y = Neg (h) }",
     "noop-slice", "Neg"},
    {G17 "(float[4] x) => (float[4] y) <int64[1] a = {-1}, int64[1] b = {-99}, int64[1] c = {0}, int64[1] d = {-1}> "
         "{ h = Slice (x, a, b, c, d) y = Neg (h) }",
     "!noop-slice", "Slice Neg"},
    {G17 "(float[4] x) => (float[4] y) <int64[2] p = {0, 0}> { h = Pad (x, p) y = Neg (h) }", "noop-pad", "Neg"},
    {G17 "(float[4] x) => (float[4] y) <int64[2] p = {1, -1}> { h = Pad (x, p) y = Neg (h) }", "!noop-pad", "Pad Neg"},
    {G17 "(float[4] x) => (float[4] y) { h = Concat <axis = 0> (x) y = Neg (h) }", "noop-list", "Neg"},
    {G17 "(float[4] x) => (float[4] y) <float o = {1}> { h = Mul (o, x) y = Neg (h) }", "noop-arith", "Neg"},
    {G17 "(float[4] x) => (float[4] y) <float[4] o = {0, 0, 0, 0}> { h = Sub (x, o) y = Neg (h) }", "noop-arith",
     "Neg"},
    {G17 "(float[1] x) => (float[4] y) <float[4] o = {0, 0, 0, 0}> { h = Add (x, o) y = Neg (h) }", "!noop-arith",
     "Add Neg"},
    {G17 "(float[4] x) => (float[4] y) <float o = {1}> { h = Div (o, x) y = Neg (h) }", "!noop-arith", "Div Neg"},
    {G6 "(float[4] x) => (float[4] y) { h = Dropout <is_test = 0> (x) y = Neg (h) }", "!dropout", NULL},
};

static void test_before_and_after(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    rg_check(rows[i].text, OX_OPTIMIZE_BASIC, rows[i].rule, rows[i].after, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
