/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/attention_fuse_test.c - attention as exporters write it, and what only looks like it. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define IO "(float[2, 5, 12] a, float[2, 5, 12] b, float[2, 5, 12] c, float[2, 1, 1, 5] mask) => (float[2, 5, 12] y) "
#define CONSTS "<int64[4] s = {2, -1, 3, 4}, int64[3] t = {2, -1, 12}, float r = {2}, float h = {0.7}> "
#define Q "q0 = Reshape (a, s) q = Transpose <perm = [0, 2, 1, 3]> (q0) "
#define K "k0 = Reshape (b, s) k = Transpose <perm = [0, 2, 3, 1]> (k0) "
#define K2 "k0 = Reshape (b, s) k1 = Transpose <perm = [0, 2, 1, 3]> (k0) k = Transpose <perm = [0, 1, 3, 2]> (k1) "
#define V "v0 = Reshape (c, s) v = Transpose <perm = [0, 2, 1, 3]> (v0) "
#define OUT "x = MatMul (p, v) x1 = Transpose <perm = [0, 2, 1, 3]> (x) y = Reshape (x1, t) "
#define DECODER                                                                                                 \
  HEAD "(float[1, S, 12] a, float[1, S, 12] b, float[1, S, 12] c, float[1, 3, P, 4] pk, float[1, 3, P, 4] pv, " \
       "float[1, 1, 1, 4] mask) => (float[1, S, 12] y, float[1, 3, T, 4] k, float[1, 3, T, 4] v) "              \
       "<int64[4] s = {1, -1, 3, 4}, int64[3] t = {1, -1, 12}, float r = {2}> {"                                \
       "q0 = Reshape (a, s) q = Transpose <perm = [0, 2, 1, 3]> (q0) "                                          \
       "k0 = Reshape (b, s) k1 = Transpose <perm = [0, 2, 1, 3]> (k0) k = Concat <axis = 2> (pk, k1) "          \
       "v0 = Reshape (c, s) v1 = Transpose <perm = [0, 2, 1, 3]> (v0) v = Concat <axis = -2> (pv, v1) "         \
       "kt = Transpose <perm = [0, 1, 3, 2]> (k) "
#define SCORES(mask) " m = MatMul (q, kt) d = Div (m, r) e = Add (d, " mask ") p = Softmax (e) "
/* The last of the rows sees no key. */
#define CHOICE                                                                                                \
  HEAD "(float[2, 5, 12] a, float[2, 5, 12] b, float[2, 5, 12] c, float[2, 1, 1, 5] mask) => "                \
       "(float[2, 5, 12] y) <int64[4] s = {2, -1, 3, 4}, int64[3] t = {2, -1, 12}, float r = {2}, "           \
       "float low = {-3.4028235e38}, float high = {-1e4}, bool[1, 1, 5, 5] cond = {1, 0, 0, 0, 1, 1, 1, 0, "  \
       "0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}, bool[1, 1, 5, 1] wide = {1, 0, 1, 0, 1}> {" Q K V \
       "m = MatMul (q, k) d = Div (m, r) "

static const rg_row rows[] = {
    {HEAD IO CONSTS "{ " Q K V "m = MatMul (q, k) d = Div (m, r) e = Add (d, mask) p = Softmax <axis = -1> (e) " OUT
                    "}",
     "attention", "Attention", 1e-5},
    {HEAD IO CONSTS "{ " Q K2 V "m = MatMul (q, k) e = Mul (m, h) p = Softmax <axis = 3> (e) " OUT "}", "attention",
     NULL, 1e-5},
    {HEAD IO CONSTS "{ " Q K V "q2 = Mul (q, h) m = MatMul (q2, k) e = Add (mask, m) p = Softmax (e) " OUT "}",
     "attention", NULL, 1e-5},
    {HEAD IO CONSTS "{ " Q K V "q2 = Mul (q, h) k2 = Mul (k, h) m = MatMul (q2, k2) p = Softmax (m) " OUT "}",
     "attention", NULL, 1e-5},
    {HEAD
     "(float[2, 3, 5, 4] q, float[2, 3, 7, 4] k, float[2, 3, 7, 6] v) => (float[2, 3, 5, 6] y) <float r = {2}> {"
     "kt = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, kt) d = Div (m, r) p = Softmax (d) y = MatMul (p, v) }",
     "attention", NULL, 1e-5},
    {HEAD "(float[1, 1, 12] a, float[1, 1, 12] b, float[1, 1, 12] c, float[1, 3, 6, 4] pk, float[1, 3, 6, 4] pv) => "
          "(float[1, 1, 12] y, float[1, 3, 7, 4] k, float[1, 3, 7, 4] v) "
          "<int64[4] s = {1, -1, 3, 4}, int64[3] t = {1, -1, 12}, float r = {2}> {"
          "q0 = Reshape (a, s) q = Transpose <perm = [0, 2, 1, 3]> (q0) "
          "k0 = Reshape (b, s) k1 = Transpose <perm = [0, 2, 1, 3]> (k0) k = Concat <axis = 2> (pk, k1) "
          "v0 = Reshape (c, s) v1 = Transpose <perm = [0, 2, 1, 3]> (v0) v = Concat <axis = 2> (pv, v1) "
          "kt = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, kt) d = Div (m, r) p = Softmax (d) " OUT "}",
     "attention", NULL, 1e-5},
    /* what else reads the cache may be what the mask is made from: it is not handed over then */
    {DECODER "n = ReduceSum (k) m1 = Mul (mask, n)" SCORES("m1") OUT "}", "attention", NULL, 1e-5},
    {DECODER "n = ReduceSum (v) m1 = Mul (mask, n)" SCORES("m1") OUT "}", "attention", NULL, 1e-5},
    {DECODER "kt0 = Neg (kt) n = ReduceSum (kt0) m1 = Mul (mask, n)" SCORES("m1") OUT "}", "attention", NULL, 1e-5},
    {DECODER "n = Shape <start = 2, end = 3> (k) n1 = Cast <to = 1> (n) m1 = Mul (mask, n1)" SCORES("m1") OUT "}",
     "attention", NULL, 1e-5},
    {DECODER "n = Shape (k) n1 = Cast <to = 1> (n) n2 = ReduceSum (n1) m1 = Mul (mask, n2)" SCORES("m1") OUT "}",
     "cache-shape", "Reshape Shape Shape Gather Mul Add Cast ReduceSum Mul Attention", 1e-5},
    /* the result is read elsewhere, so that heads stay split: K is turned as Q is; a mask that makes more rows of one
     */
    {HEAD "(float[2, 5, 12] a, float[2, 7, 12] b, float[2, 3, 7, 4] v) => (float[2, 5, 3, 4] y, float[2, 3, 5, 4] z) "
          "<int64[4] s = {2, -1, 3, 4}> { " Q K "m = MatMul (q, k) p = Softmax (m) x = MatMul (p, v) "
          "y = Transpose <perm = [0, 2, 1, 3]> (x) z = Neg (x) }",
     "attention", "Reshape Transpose Reshape Transpose Attention Transpose Neg", 1e-5},
    {HEAD "(float[1, 3, 1, 4] q, float[1, 3, 7, 4] k, float[1, 3, 7, 6] v, float[1, 1, 5, 7] w) => "
          "(float[1, 3, 5, 6] y) {"
          "kt = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, kt) e = Add (m, w) p = Softmax (e) "
          "y = MatMul (p, v) }",
     "!attention", NULL, 1e-5},
    /* K is transposed while batch and heads are one dimension; what merged them may be gone */
    {HEAD "(float[2, 3, 5, 4] q, float[2, 3, 7, 4] k, float[2, 3, 7, 6] v) => (float[2, 3, 5, 6] y) "
          "<int64[3] m3 = {-1, 7, 4}, int64[4] s4 = {2, 3, 4, 7}, float r = {0.7}> {"
          "k3 = Reshape (k, m3) kt = Transpose <perm = [0, 2, 1]> (k3) k4 = Reshape (kt, s4) q2 = Mul (q, r) "
          "k5 = Mul (k4, r) m = MatMul (q2, k5) p = Softmax (m) y = MatMul (p, v) }",
     "attention", "Attention", 1e-5},
    {HEAD "(float[2, 3, 5, 4] q, float[6, 7, 4] k, float[2, 3, 7, 6] v) => (float[2, 3, 5, 6] y) "
          "<int64[4] s4 = {2, 3, 4, 7}> {"
          "kt = Transpose <perm = [0, 2, 1]> (k) k4 = Reshape (kt, s4) m = MatMul (q, k4) p = Softmax (m) "
          "y = MatMul (p, v) }",
     "attention", "Reshape Attention", 1e-5},
    {HEAD "(float[2, 3, 5, 4] q, float[7, 6, 4] k, float[2, 3, 7, 6] v) => (float[2, 3, 5, 6] y) "
          "<int64[4] s4 = {2, 3, 4, 7}> {"
          "kt = Transpose <perm = [1, 2, 0]> (k) k4 = Reshape (kt, s4) m = MatMul (q, k4) p = Softmax (m) "
          "y = MatMul (p, v) }",
     "attention", "Transpose Reshape Attention", 1e-5},
    /* split into other dimensions than it is made of */
    {HEAD "(float[2, 3, 5, 4] q, float[6, 4, 7] k, float[2, 3, 7, 6] v) => (float[2, 3, 5, 6] y) "
          "<int64[4] s4 = {2, 3, 4, 7}> {"
          "kt = Transpose <perm = [0, 2, 1]> (k) k4 = Reshape (kt, s4) m = MatMul (q, k4) p = Softmax (m) "
          "y = MatMul (p, v) }",
     "!attention", NULL, 1e-5},
    /* rows that see no key are made 0 behind the Softmax; they are 0 without that, too */
    {HEAD "(float[2, 3, 2, 4] q, float[2, 3, 3, 4] k, float[2, 3, 3, 6] v) => (float[2, 3, 2, 6] y) "
          "<float[1, 1, 2, 3] seen = {0, 0, 0, 1, 0, 1}, float zero = {0}> {"
          "kt = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, kt) mask = Log (seen) e = Add (m, mask) "
          "w = Softmax (e) n = IsNaN (w) p = Where (n, zero, w) y = MatMul (p, v) }",
     "attention", "Attention", 1e-5},
    /* as are those of a score of NaN or inf: few rows, and many */
    {HEAD "(float[2, 3, 2, 4] q, float[2, 3, 3, 4] k, float[2, 3, 3, 6] v) => (float[2, 3, 2, 6] y) "
          "<float[1, 1, 2, 3] seen = {1, -1, 1, 0, 2, 1}, float zero = {0}> {"
          "kt = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, kt) mask = Log (seen) e = Add (m, mask) "
          "w = Softmax (e) n = IsNaN (w) p = Where (n, zero, w) y = MatMul (p, v) }",
     "attention", "Attention", 1e-5},
    {HEAD
     "(float[2, 3, 40, 4] q, float[2, 3, 3, 4] k, float[2, 3, 3, 6] v, bool[1, 1, 40, 3] odd) => "
     "(float[2, 3, 40, 6] y) <float one = {1}, float zero = {0}> {"
     "kt = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, kt) d = Where (odd, zero, one) mask = Reciprocal (d) "
     "e = Add (m, mask) w = Softmax (e) n = IsNaN (w) p = Where (n, zero, w) y = MatMul (p, v) }",
     "attention", "Where Reciprocal Attention", 1e-5},
    {HEAD IO CONSTS "{ " Q K V "m = MatMul (q, k) e = Add (m, mask) w = Softmax (e) n = IsNaN (w) "
                    "p = Where (n, h, w) " OUT "}",
     "!attention", NULL, 1e-5},
    {HEAD IO "<int64[4] s = {2, -1, 3, 4}, int64[3] t = {2, -1, 12}, float zero = {0}> { " Q K V
             "m = MatMul (q, k) e = Add (m, mask) w = Softmax (e) n = IsNaN (m) p = Where (n, zero, w) " OUT "}",
     "!attention", NULL, 1e-5},
    /* windows that have a mask each; alone beside a bias; masks for batch items, with a dimension too many */
    {HEAD
     "(float[6, 3, 5, 4] q, float[6, 3, 5, 4] k, float[6, 3, 5, 4] v, float[1, 2, 1, 5, 5] w) => (float[6, 3, 5, 4] y) "
     "<int64[5] s = {3, 2, 3, 5, 5}, int64[4] t = {6, 3, 5, 5}, float r = {0.5}> {"
     "u = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, u) d = Mul (m, r) f = Reshape (d, s) "
     "h = Add (w, f) i = Reshape (h, t) p = Softmax (i) y = MatMul (p, v) }",
     "attention", "Reshape Attention", 1e-5},
    {HEAD
     "(float[6, 3, 5, 4] q, float[6, 3, 5, 4] k, float[6, 3, 5, 4] v, float[3, 3, 5, 5] w) => (float[6, 3, 5, 4] y) "
     "<int64[5] s = {-1, 3, 3, 5, 5}, int64[4] t = {-1, 3, 5, 5}, float r = {0.5}> {"
     "u = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, u) d = Mul (m, r) f = Reshape (d, s) "
     "h = Add (w, f) i = Reshape (h, t) p = Softmax (i) y = MatMul (p, v) }",
     "attention", "Attention", 1e-5},
    {HEAD "(float[6, 3, 5, 4] q, float[6, 3, 5, 4] k, float[6, 3, 5, 4] v, float[3, 5, 5] b, float[2, 1, 5, 5] w) => "
          "(float[6, 3, 5, 4] y) <int64[5] s = {3, 2, 3, 5, 5}, int64[4] t = {6, 3, 5, 5}> {"
          "u = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, u) e = Add (m, b) f = Reshape (e, s) "
          "h = Add (f, w) i = Reshape (h, t) p = Softmax (i) y = MatMul (p, v) }",
     "attention", "Attention", 1e-5},
    {HEAD
     "(float[6, 3, 5, 4] q, float[6, 3, 5, 4] k, float[6, 3, 5, 4] v, float[3, 1, 1, 5, 5] w) => (float[6, 3, 5, 4] y) "
     "<int64[5] s = {3, 2, 3, 5, 5}, int64[4] t = {6, 3, 5, 5}, float r = {0.5}> {"
     "u = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, u) d = Mul (m, r) f = Reshape (d, s) "
     "h = Add (w, f) i = Reshape (h, t) p = Softmax (i) y = MatMul (p, v) }",
     "!attention", NULL, 1e-5},
    {HEAD
     "(float[6, 2, 5, 4] q, float[6, 2, 5, 4] k, float[6, 2, 5, 4] v, float[1, 2, 5, 5] w) => (float[6, 2, 5, 4] y) "
     "<int64[5] s = {3, 2, 2, 5, 5}, int64[4] t = {6, 2, 5, 5}, float r = {0.5}> {"
     "u = Transpose <perm = [0, 1, 3, 2]> (k) m = MatMul (q, u) d = Mul (m, r) f = Reshape (d, s) "
     "h = Add (w, f) i = Reshape (h, t) p = Softmax (i) y = MatMul (p, v) }",
     "!attention", NULL, 1e-5},
    /* pixels last; a batch that is repeated; weights that are not turned, or that others read */
    {HEAD "(float[2, 3, 4, 5] a, float[2, 3, 4, 7] k, float[2, 3, 6, 7] v, float[3, 5, 7] b) => (float[2, 3, 6, 5] y) "
          "<float r = {0.5}> {"
          "q = Transpose <perm = [0, 1, 3, 2]> (a) m = MatMul (q, k) d = Mul (m, r) e = Add (d, b) p = Softmax (e) "
          "t = Transpose <perm = [0, 1, 3, 2]> (p) y = MatMul (v, t) }",
     "attention-turned", "Transpose Transpose Transpose Attention Transpose", 1e-5},
    {HEAD "(float[2, 3, 5, 4] q, float[2, 3, 4, 7] k, float[2, 3, 1, 7] v) => (float[2, 3, 1, 5] y) <float r = {0.5}> {"
          "k2 = Mul (k, r) m = MatMul (q, k2) p = Softmax (m) t = Transpose <perm = [0, 1, 3, 2]> (p) "
          "y = MatMul (v, t) }",
     "attention-turned", "Transpose Transpose Attention Transpose", 1e-5},
    {HEAD "(float[2, 3, 5, 4] q, float[1, 3, 4, 7] k, float[2, 3, 6, 7] v) => (float[2, 3, 6, 5] y) {"
          "m = MatMul (q, k) p = Softmax (m) t = Transpose <perm = [0, 1, 3, 2]> (p) y = MatMul (v, t) }",
     "!attention-turned", NULL, 1e-5},
    {HEAD "(float[2, 3, 7, 4] q, float[2, 3, 4, 7] k, float[2, 3, 7, 7] v) => (float[2, 3, 7, 7] y) {"
          "m = MatMul (q, k) p = Softmax (m) y = MatMul (v, p) }",
     "!attention-turned", NULL, 1e-5},
    {HEAD
     "(float[2, 3, 5, 4] q, float[2, 3, 4, 7] k, float[2, 3, 6, 7] v) => (float[2, 3, 6, 5] y, float[2, 3, 5, 7] p) "
     "{ m = MatMul (q, k) p = Softmax (m) t = Transpose <perm = [0, 1, 3, 2]> (p) y = MatMul (v, t) }",
     "!attention-turned", NULL, 1e-5},
    /* scores that are given up by choice: with a mask behind that or before, without one; kept where it is false */
    {CHOICE "w = Where (cond, d, low) e = Add (w, mask) p = Softmax (e) " OUT "}", "attention", "Add Attention", 1e-5},
    {CHOICE "w = Where (cond, d, low) e = Add (mask, w) p = Softmax (e) " OUT "}", "attention", NULL, 1e-5},
    {CHOICE "e = Add (d, mask) w = Where (cond, low, e) p = Softmax (w) " OUT "}", "attention", NULL, 1e-5},
    {CHOICE "e = Add (mask, d) w = Where (cond, e, low) p = Softmax (w) " OUT "}", "attention", "Where Attention",
     1e-5},
    {CHOICE "w = Where (cond, low, d) p = Softmax (w) " OUT "}", "attention", NULL, 1e-5},
    {CHOICE "w = Where (cond, d, high) p = Softmax (w) " OUT "}", "!attention", NULL, 1e-5},
    {CHOICE "w = Where (cond, d, high) e = Add (w, mask) p = Softmax (e) " OUT "}", "!attention", NULL, 1e-5},
    {CHOICE "w = Where (wide, d, low) p = Softmax (w) " OUT "}", "!attention", NULL, 1e-5},
    {CHOICE "w = Where (cond, d, low) w2 = Where (cond, w, low) p = Softmax (w2) " OUT "}", "!attention", NULL, 1e-5},
    /* over another axis; probabilities read elsewhere; a mask that is not added; a negative scale */
    {HEAD IO CONSTS "{ " Q K V "m = MatMul (q, k) p = Softmax <axis = 2> (m) " OUT "}", "!attention", NULL, 1e-5},
    {HEAD
     "(float[2, 5, 12] a, float[2, 5, 12] b, float[2, 5, 12] c) => (float[2, 5, 12] y, float[2, 3, 5, 5] p) " CONSTS
     "{ " Q K V "m = MatMul (q, k) p = Softmax (m) " OUT "}",
     "!attention", NULL, 1e-5},
    {HEAD IO CONSTS "{ " Q K V "m = MatMul (q, k) e = Sub (m, mask) p = Softmax (e) " OUT "}", "!attention", NULL,
     1e-5},
    {HEAD
     "(float[2, 5, 12] a, float[2, 5, 12] b, float[2, 5, 12] c, float[2, 1, 5, 1] mask) => (float[2, 5, 12] y) " CONSTS
     "{ " Q K V "m = MatMul (q, k) e = Add (m, mask) p = Softmax (e) " OUT "}",
     "!attention", NULL, 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
