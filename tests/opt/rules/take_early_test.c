/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/take_early_test.c - rows that are taken before they are computed, by each kind of node that works row by
 * row, and takers that must stay. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define G23 "<ir_version: 10, opset_import: [\"\" : 23]> g "
#define W "float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}"
#define B "float[4] b = {1, -2, 3, -4}"
#define FIRST "int64 i = {0}"
#define LAST "int64[1] s = {-1}, int64[1] e = {9223372036854775807}, int64[1] a = {1}"

static const rg_row rows[] = {
    {G "(float[2, 9, 4] x) => (float[2, 4] y) <" W
       ", int64 i = {-1}> { m = MatMul (x, w) y = Gather <axis = 1> (m, i) }",
     "take-early", "Gather MatMul Gather", 1e-5},
    {G "(float[2, 9, 4] x) => (float[2, 2, 4] y) <" W ", int64[2] i = {3, 0}> { "
       "m = MatMul (x, w) y = Gather <axis = -2> (m, i) }",
     "take-early", "Gather MatMul", 1e-5},
    {G "(float[n, s, 4] x) => (float[n, 1, 4] y) <" W ", " LAST "> { m = MatMul (x, w) y = Slice (m, s, e, a) }",
     "take-early", "Slice MatMul", 1e-5},
    {G "(float[9, 4] x) => (float[2, 4] y) <" W ", " B ", int64[1] s = {1}, int64[1] e = {3}> { "
       "m = Gemm (x, w, b) r = Relu (m) y = Slice (r, s, e) }",
     "take-early", NULL, 1e-5},
    {G "(float[9, 4] x, float[9, 4] c) => (float[4] y) <" W ", " FIRST "> { m = Gemm (x, w, c) y = Gather (m, i) }",
     "take-early", NULL, 1e-5},
    /* B and C are one value, of which only C has rows */
    {G "(float[4, 4] x, float[4, 3] b) => (float[3] y) <" FIRST "> { m = Gemm (x, b, b) y = Gather (m, i) }",
     "take-early", NULL, 1e-5},
    /* what is added: a row, a column, all of it, one number; the same value twice */
    {G "(float[1, 9, 4] x, float[9, 1] c, float[1, 9, 4] z) => (float[1, 4] y) <" W ", " B ", float h = {0.5}, " FIRST
       "> { "
       "m = MatMul (x, w) p = Add (m, b) q = Sub (p, c) r = Mul (z, q) s = Div (r, h) t = Mul (s, s) "
       "y = Gather <axis = 1> (t, i) }",
     "take-early", NULL, 1e-5},
    /* the end of a network: what two takers wait for */
    {G "(float[1, 9, 4] x, float[1, 9, 4] r) => (float[1, 4] y) <" W ", " B ", " FIRST "> { "
       "m = MatMul (x, w) n = Add (m, b) s = Add (r, n) q = LayerNormalization (s, b) p = MatMul (q, w) u = Erf (p) "
       "t = Add (s, u) y = Gather <axis = 1> (t, i) }",
     "take-early", NULL, 1e-4},
    {G "(float[1, 9, 4] x) => (float[1, 4] y) <" W ", " B ", float two = {2.0}, " FIRST "> { "
       "m = MatMul (x, w) u = ReduceMean <axes = [-1]> (m) d = Sub (m, u) q = Pow (d, two) "
       "v = ReduceMean <axes = [-1]> (q) k = Add (v, two) c = Sqrt (k) f = Div (d, c) h = Mul (f, b) "
       "y = Gather <axis = 1> (h, i) }",
     "take-early", NULL, 1e-4},
    /* heads: the axis moves */
    {G "(float[1, 9, 4] x, float[1, 2, 2, 9] k, float[1, 2, 9, 2] v) => (float[1, 4] y) <" W
       ", int64[4] split = {1, 9, 2, 2}, int64[3] join = {0, 0, -1}, " FIRST "> { "
       "m = MatMul (x, w) h = Reshape (m, split) q = Transpose <perm = [0, 2, 1, 3]> (h) s = MatMul (q, k) "
       "p = Softmax <axis = -1> (s) o = MatMul (p, v) t = Transpose <perm = [0, 2, 1, 3]> (o) j = Reshape (t, join) "
       "y = Gather <axis = 1> (j, i) }",
     "take-early", NULL, 1e-4},
    {G23 "(float[1, 9, 4] x, float[1, 9, 4] k, float[9, 9] a) => (float[1, 4] y) <" W ", " FIRST "> { "
         "q = MatMul (x, w) o = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, k, a) "
         "y = Gather <axis = 1> (o, i) }",
     "take-early", NULL, 1e-4},
    /* none: most rows; other readers; along what is summed up; no product that would be saved */
    {G "(float[2, 3, 4] x) => (float[2, 2, 4] y) <" W ", int64[2] i = {2, 0}> { "
       "m = MatMul (x, w) y = Gather <axis = 1> (m, i) }",
     "!take-early", "MatMul Gather", 1e-5},
    {G "(float[2, s, 4] x) => (float[2, t, 4] y) <" W ", int64[1] s = {1}, int64[1] e = {100}, int64[1] a = {1}> { "
       "m = MatMul (x, w) y = Slice (m, s, e, a) }",
     "!take-early", "MatMul Slice", 1e-5},
    {G "(float[n, 4] x) => (float[1, 4] y) <" W ", int64[1] s = {0}, int64[1] e = {1}> { "
       "m = MatMul (x, w) y = Slice (m, s, e) }",
     "!take-early", "MatMul Slice", 1e-5},
    {G "(float[2, 9, 4] x) => (float[2, 4] y, float[2, 9, 4] m) <" W ", " FIRST "> { "
       "m = MatMul (x, w) y = Gather <axis = 1> (m, i) }",
     "!take-early", "MatMul Gather", 1e-5},
    {G "(float[2, 9, 4] x) => (float[2, 4] y, float[2, 4] z) <" W ", " FIRST ", int64 j = {2}> { "
       "m = MatMul (x, w) y = Gather <axis = 1> (m, i) z = Gather <axis = 1> (m, j) }",
     "!take-early", "MatMul Gather Gather", 1e-5},
    {G "(float[2, 9, 4] x) => (float[2, 9] y) <" W ", " FIRST "> { m = MatMul (x, w) y = Gather <axis = 2> (m, i) }",
     "!take-early", "MatMul Gather", 1e-5},
    {G "(float[9, 4] x) => (float[9] y) <" W ", " B ", " FIRST "> { "
       "m = MatMul (x, w) q = LayerNormalization (m, b) y = Gather <axis = 1> (q, i) }",
     "!take-early", NULL, 1e-4},
    {G "(float[9, 4] x) => (float[4] y) <" W ", " FIRST
       "> { m = MatMul (x, w) q = Softmax <axis = 0> (m) y = Gather (q, i) }",
     "!take-early", NULL, 1e-5},
    {G "(float[2, 9, 4] x) => (float[4] y) <" W ", int64[2] r = {18, 4}, " FIRST "> { "
       "m = MatMul (x, w) q = Reshape (m, r) y = Gather (q, i) }",
     "!take-early", NULL, 1e-5},
    {G "(float[2, 9, 4] x) => (float[2, 4] y) <" FIRST "> { m = Erf (x) y = Gather <axis = 1> (m, i) }", "!take-early",
     "Erf Gather", 1e-5},
    {G23 "(float[1, 9, 4] x, float[1, 9, 4] k) => (float[1, 4] y) <" W ", " FIRST "> { "
         "q = MatMul (x, w) o = Attention <q_num_heads = 2, kv_num_heads = 2, is_causal = 1> (q, k, k) "
         "y = Gather <axis = 1> (o, i) }",
     "!take-early", NULL, 1e-4},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
