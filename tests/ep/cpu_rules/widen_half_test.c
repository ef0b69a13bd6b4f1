/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/widen_half_test.c - float16 computed in float32: what is rounded, and what stays as it is. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1, \"ai.onyx\" : 1]> g "
#define MATRIX "float16[4, 4] w = {1, -2, 3, 0.5, 4, 5, -6, 7, 0.25, 1, 2, 3, 1, 1, -1, 1}"
#define W "<" MATRIX "> "
#define W_BIAS "<" MATRIX ", float16[4] b = {1, 2, 3, -4}> "

static const rg_row rows[] = {
    {HEAD "(float16[3, 4] x) => (float16[3, 4] y) " W "{ a = MatMul (x, w) b = Softmax (a) y = MatMul (b, w) }",
     "widen-half", "Cast Linear Softmax Linear Cast", 4e-3},
    /* weights stay as they are where float32 can be multiplied by them: Gemm with a plain bias, matrices of a batch */
    {HEAD "(float16[3, 4] x) => (float16[3, 4] y) " W_BIAS "{ y = Gemm <transB = 1, alpha = 0.5> (x, w, b) }",
     "widen-half", "Cast Linear Cast", 4e-3},
    {HEAD "(float16[3, 4] x) => (float16[3, 4] y) " W_BIAS "{ y = Gemm <beta = 0.5> (x, w, b) }", "widen-half",
     "Cast Gemm Cast", 4e-3},
    {HEAD "(float16[3, 4] x, float16[4, 4] v) => (float16[3, 4] y) { a = MatMul (x, v) y = Softmax (a) }", "widen-half",
     "Cast Cast MatMul Softmax Cast", 4e-3},
    /* a value that leaves in between */
    {HEAD "(float16[3, 4] x) => (float16[3, 4] y, float16[3, 4] a) " W "{ a = MatMul (x, w) y = Softmax (a) }",
     "widen-half", "Cast Linear Softmax Cast Cast", 4e-3},
    /* what moves elements takes part where they are float32 anyway; a table stays as it is, and a cache */
    {HEAD "(float16[3, 4] x) => (float16[4, 3] y) " W "{ a = MatMul (x, w) t = Transpose (a) y = Softmax (t) }",
     "widen-half", "Cast Linear Transpose Softmax Cast", 4e-3},
    {HEAD "(int64[3] i) => (float16[3, 4] y) " W "{ a = Gather (w, i) y = Softmax (a) }", "widen-half",
     "Gather Cast Softmax Cast", 4e-3},
    {HEAD "(float16[2, 4] past, float16[3, 4] x) => (float16[5, 4] y, float16[5, 4] now) " W
          "{ k = MatMul (x, w) now = Concat <axis = 0> (past, k) y = Softmax (now) }",
     "widen-half", "Cast Linear Cast Concat Cast Softmax Cast", 4e-3},
    {HEAD "(float16[3, 4] x) => (float16[3, 4] y) <" MATRIX ", float16 z = {0}> "
          "{ a = MatMul (x, w) b = Softmax (a) n = IsNaN (b) c = Where (n, z, b) y = MatMul (c, w) }",
     "widen-half", "Cast Linear Softmax IsNaN Where Linear Cast", 4e-3},
    {HEAD "(float16[3, 4] x) => (float16[4, 3] y) { y = Transpose (x) }", "!widen-half", "Transpose", 0},
    /* the model's own Casts: one that rounds stays, one of what is there in float32 reads that */
    {HEAD "(float[3, 4] x) => (float[3, 4] y) " W "{ h = Cast <to = 10> (x) a = MatMul (h, w) y = Cast <to = 1> (a) }",
     "widen-half", "Cast Cast Linear", 4e-3},
    {HEAD "(float16[3, 4] x) => (int64[3, 4] y) " W "{ a = MatMul (x, w) b = Round (a) y = Cast <to = 7> (b) }",
     "widen-half", "Cast Linear Round Cast", 0},
    /* this one takes float16 only */
    {HEAD "(float[1, 3, 4] e, float16[1, 2, 3, 4] q) => (float16[1, 2, 3, 4] y, float16[1, 2, 3, 4] z) "
          "{ y, z = com.microsoft.GemmaRotaryEmbedding (e, q, q, q, q) }",
     "!widen-half", "GemmaRotaryEmbedding", 0},
    /* nothing to do for other types */
    {HEAD "(double[3, 4] x) => (double[3, 4] y) { y = Softmax (x) }", "!widen-half", "Softmax", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
