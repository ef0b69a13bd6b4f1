/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/qdq_nbits_test.c - products by weights in blocks of rows keep their few bits, whatever their type, zero
 * points and sizes; others do not match. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g "
/* |n| / 7 integers of a type in rows of |columns|. */
#define INTEGERS(n, columns, k, to)                                                                          \
  "<int64 from = {0}, int64 end = {" #n "}, int64 by = {7}, int64 k = {" #k "}, int64[2] s = {-1, " #columns \
  "}> { "                                                                                                    \
  "r = Range (from, end, by) f = Mod (r, k) i = Cast <to = " #to "> (f) q = Reshape (i, s) "
/* Floats from 0.5 on, and integers of type |to| beside them. */
#define SCALES(rows, columns, count)                                     \
  "c = Constant <value_ints = [" #rows ", " #columns                     \
  "]> () t0 = Constant <value_float = 0.5> () "                          \
  "t1 = Constant <value_float = " #count                                 \
  ".4> () t2 = Constant <value_float = 1.0> () t3 = Range (t0, t1, t2) " \
  "t = Reshape (t3, c) "
#define ZEROS(k, to)                                                                            \
  "k0 = Constant <value_float = " #k ".0> () z0 = Mod <fmod = 1> (t3, k0) z1 = Cast <to = " #to \
  "> (z0) z = Reshape (z1, c) "
#define SCALAR "t0 = Constant <value_float = 0.5> () "
#define BLOCKS(size) "DequantizeLinear <axis = 0, block_size = " #size "> "

static const rg_row rows[] = {
    {HEAD "(float[3, 64] x) => (float[3, 70] y) " INTEGERS(31360, 70, 16, 21) SCALES(4, 70, 280)
         ZEROS(16, 21) "w = " BLOCKS(16) "(q, t, z) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-6},
    {HEAD "(float[3, 64] x) => (float[3, 70] y) " INTEGERS(31360, 70, 16, 21)
         SCALES(2, 70, 140) "w = " BLOCKS(32) "(q, t) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-6},
    {HEAD "(float[2, 3, 64] x) => (float[2, 3, 70] y) " INTEGERS(31360, 70, 8, 22)
         SCALES(2, 70, 140) "w = " BLOCKS(32) "(q, t) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-6},
    /* a last block that is short, an odd number of blocks and of columns, a bias */
    {HEAD "(float[3, 150] x) => (float[3, 71] y) " INTEGERS(74550, 71, 8, 22) SCALES(3, 71, 213)
         ZEROS(8, 22) "w = " BLOCKS(64) "(q, t, z) p = MatMul (x, w) b0 = Constant <value_ints = [71]> () "
                                        "b1 = Constant <value_float = 0.25> () b = Expand (b1, b0) y = Add (p, b) }",
     "qdq-nbits", "MatMulNBits", 1e-6},
    {HEAD "(float[3, 150] x) => (float[3, 71] y) " INTEGERS(74550, 71, 251, 2) SCALES(3, 71, 213)
         ZEROS(200, 2) "w = " BLOCKS(64) "(q, t, z) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-6},
    {HEAD "(float[150] x) => (float[71] y) " INTEGERS(74550, 71, 127, 3)
         SCALES(3, 71, 213) "w = " BLOCKS(64) "(q, t) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-6},
    /* more blocks than a piece of zero points has, more rows than a strip */
    {HEAD "(float[40, 4176] x) => (float[40, 5] y) " INTEGERS(146160, 5, 16, 21) SCALES(261, 5, 1305)
         ZEROS(16, 21) "w = " BLOCKS(16) "(q, t, z) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-5},
    /* large, with a scale for all weights, or for each column; turned before or after; rows that do not fill blocks */
    {HEAD "(float[n, 2048] x) => (float[n, 2060] y) " INTEGERS(29532160, 2060, 251, 3) SCALAR
     "w = DequantizeLinear (q, t0) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-5},
    {HEAD "(float[3, 2050] x) => (float[3, 2060] y) " INTEGERS(29561000, 2060, 251, 2) SCALES(1, 2060, 2060)
         ZEROS(200, 2) "w = DequantizeLinear (q, t3, z1) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-5},
    {HEAD "(float[3, 2050] x) => (float[3, 2060] y) " INTEGERS(29561000, 2050, 251, 2) SCALES(1, 2060, 2060)
         ZEROS(200, 2) "v = DequantizeLinear <axis = -2> (q, t3, z1) w = Transpose (v) y = MatMul (x, w) }",
     "qdq-nbits", "MatMulNBits", 1e-5},
    {HEAD "(float[3, 2050] x, int64[2] at) => (float[3, 2060] y, int8[2, 2050] e) " INTEGERS(29561000, 2050, 127, 3)
         SCALAR "v = Transpose <perm = [1, 0]> (q) w = DequantizeLinear (v, t0) y = MatMul (x, w) e = Gather (q, at) }",
     "qdq-nbits", "MatMulNBits Gather", 1e-5},
    /* a scale for each row; many rows of A; small; of four bits */
    {HEAD "(float[3, 2060] x) => (float[3, 2060] y) " INTEGERS(29705200, 2060, 251, 2)
         SCALES(1, 2060, 2060) "w = DequantizeLinear <axis = 0> (q, t3) y = MatMul (x, w) }",
     "!qdq-nbits", NULL, 1e-5},
    {HEAD "(float[2, 32, 2048] x) => (float[2, 32, 2060] y) " INTEGERS(29532160, 2060, 251, 3) SCALAR
     "w = DequantizeLinear (q, t0) y = MatMul (x, w) }",
     "!qdq-nbits", NULL, 1e-5},
    {HEAD "(float[3, 64] x) => (float[3, 70] y) " INTEGERS(31360, 70, 127, 3) SCALAR
     "w = DequantizeLinear (q, t0) y = MatMul (x, w) }",
     "!qdq-nbits", NULL, 1e-6},
    {HEAD "(float[3, 2048] x) => (float[3, 2060] y) " INTEGERS(29532160, 2060, 8, 22) SCALAR
     "w = DequantizeLinear (q, t0) y = MatMul (x, w) }",
     "!qdq-nbits", NULL, 1e-5},
    /* blocks along rows, of another size, weights with another reader */
    {HEAD "(float[3, 64] x) => (float[3, 64] y) " INTEGERS(28672, 64, 16, 21)
         SCALES(64, 2, 128) "w = DequantizeLinear <axis = 1, block_size = 32> (q, t) y = MatMul (x, w) }",
     "!qdq-nbits", NULL, 1e-6},
    {HEAD "(float[3, 64] x) => (float[3, 70] y) " INTEGERS(31360, 70, 16, 21)
         SCALES(2, 70, 140) "w = " BLOCKS(48) "(q, t) y = MatMul (x, w) }",
     "!qdq-nbits", NULL, 1e-6},
    {HEAD "(float[3, 64] x) => (float[3, 70] y, float[64, 70] e) " INTEGERS(31360, 70, 16, 21)
         SCALES(2, 70, 140) "w = " BLOCKS(32) "(q, t) y = MatMul (x, w) e = Neg (w) }",
     "!qdq-nbits", NULL, 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
