/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/dequantize_later_test.c - weights that are dequantized as they are packed, of every granularity, and
 * what is folded instead. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g "
/* K x 160 integers of a type, and scales and zero points for them. */
#define INTEGERS(n, k, to)                                                  \
  "<int64 from = {0}, int64 end = {" #n "}, int64 by = {7}, int64 k = {" #k \
  "}, int64[2] s = {-1, 160}> { "                                           \
  "r = Range (from, end, by) f = Mod (r, k) i = Cast <to = " #to "> (f) q = Reshape (i, s) "
#define BYTES INTEGERS(143360, 251, 2)
#define SIGNED INTEGERS(143360, 127, 3)
#define SHORTS INTEGERS(143360, 32003, 5)
#define NIBBLES INTEGERS(143360, 16, 21)
/* |count| numbers from 0.5 on */
#define NUMBERS(name, shape, count, type)                                                               \
  name "0 = Constant <value_float = 0.5> () " name "1 = Constant <value_float = " #count ".4> () " name \
       "2 = Constant <value_float = 1.0> () " name "3 = Range (" name "0, " name "1, " name "2) " name  \
       "4 = Cast <to = " type "> (" name "3) " name " = Reshape <allowzero = 0> (" name "4, " shape ") "
#define SHAPE(name, dims) name " = Constant <value_ints = [" dims "]> () "

static const rg_row rows[] = {
    {HEAD "(float[3, 128] x) => (float[3, 160] y) " BYTES
          "t = Constant <value_float = 0.01> () z0 = Constant <value_int = 100> () z = Cast <to = 2> (z0) "
          "w = DequantizeLinear (q, t, z) y = MatMul (x, w) }",
     "dequantize-later", "MatMul", 1e-6},
    {HEAD "(float[3, 128] x) => (float[3, 160] y) " SIGNED
          "t = Constant <value_float = 0.01> () w = DequantizeLinear (q, t) y = MatMul (x, w) }",
     "dequantize-later", "MatMul", 1e-6},
    {HEAD "(float[3, 128] x) => (float[3, 160] y) " SHORTS SHAPE("c", "160") NUMBERS("t", "c", 160, "1")
         NUMBERS("z", "c", 160, "5") "w = DequantizeLinear <axis = 1> (q, t, z) y = MatMul (x, w) }",
     "dequantize-later", "MatMul", 1e-6},
    {HEAD "(float[3, 160] x) => (float[3, 128] y) " BYTES SHAPE("c", "128") NUMBERS("t", "c", 128, "1")
         NUMBERS("z", "c", 128, "2") "w = DequantizeLinear <axis = 0> (q, t, z) y = Gemm <transB = 1> (x, w) }",
     "dequantize-later", "Gemm", 1e-6},
    /* blocks of rows, the last one short, and of columns */
    {HEAD "(float[3, 128] x) => (float[3, 160] y) " NIBBLES SHAPE("c", "3, 160")
         NUMBERS("t", "c", 480, "1") "w = DequantizeLinear <axis = 0, block_size = 48> (q, t) y = MatMul (x, w) }",
     "dequantize-later", "MatMul", 1e-6},
    {HEAD "(float[3, 128] x) => (float[3, 160] y) " BYTES SHAPE("c", "128, 5") NUMBERS("t", "c", 640, "1")
         NUMBERS("z", "c", 640, "2") "w = DequantizeLinear <axis = 1, block_size = 32> (q, t, z) y = MatMul (x, w) }",
     "dequantize-later", "MatMul", 1e-6},
    /* two readers, of which one does not pack */
    {HEAD "(float[3, 128] x, int64[2] at) => (float[3, 160] y, float[2, 160] e) " BYTES
          "t = Constant <value_float = 0.01> () w = DequantizeLinear (q, t) y = MatMul (x, w) e = Gather (w, at) }",
     "dequantize-later", "MatMul Gather", 1e-6},
    /* small ones are folded, and what leaves the model */
    {HEAD "(float[3, 80] x) => (float[3, 160] y) " INTEGERS(
         89600, 251, 2) "t = Constant <value_float = 0.01> () w = DequantizeLinear (q, t) y = MatMul (x, w) }",
     "!dequantize-later", "MatMul", 1e-6},
    {HEAD "(float[3, 128] x) => (float[3, 160] y, float[128, 160] w) " BYTES
          "t = Constant <value_float = 0.01> () w = DequantizeLinear (q, t) y = MatMul (x, w) }",
     "!dequantize-later", "DequantizeLinear MatMul", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
