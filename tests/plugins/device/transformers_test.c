/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/transformers_test.c - operators of transformers on the stand-in for a GPU beside the CPU provider: all
 * layouts, masks and caches. */
#include <stdio.h>

#include "base/macros.h"
#include "plugins/device/beside_cpu.h"

#ifdef GPU_PLUGIN
#define G "<ir_version: 10, opset_import: [\"\" : 24, \"com.microsoft\" : 1]> g "
#define QKV "float[N,5,24] q, float[N,7,24] k, float[N,7,24] v"
#define PASTS "float[N,3,4,8] pk, float[N,3,4,8] pv"
#define GQA "GroupQueryAttention <num_heads = 4, kv_num_heads = 2"
#define CACHE "float[2,2,6,8] pk, float[2,2,6,8] pv"

static const beside_row rows[] = {
    {"heads of their own",
     G "(float[N,4,5,8] q, float[N,2,7,8] k, float[N,2,7,6] v) => (float[N,4,5,6] y) { y = Attention (q, k, v) }"},
    {"rows of heads, a mask, a cap",
     G "(" QKV ", float[5,7] m) => (float[N,5,24] y) { y = Attention <q_num_heads = 3, kv_num_heads = 3, scale = 0.25, "
       "softcap = 2.0> (q, k, v, m) }"},
    {"a past",
     G "(" QKV ", " PASTS ") => (float[N,5,24] y, float[N,3,11,8] a, float[N,3,11,8] b) { y, a, b = Attention "
       "<q_num_heads = 3, kv_num_heads = 3, is_causal = 1> (q, k, v, , pk, pv) }"},
    {"lengths", G "(float[2,1,5,8] q, float[2,1,7,8] k, float[2,1,7,8] v) => (float[2,1,5,8] y) <int64[2] n = {6, 3}> "
                  "{ y = Attention (q, k, v, , , , n) }"},
    {"rows of V beyond the widest kernel", G
     "(float[N,1,3,8] q, float[N,1,70,8] k, float[N,1,70,300] v) => (float[N,1,3,300] y) { y = Attention (q, k, v) }"},
    {"written out", G
     "(float[N,3,5,8] q, float[N,3,7,8] k, float[N,3,7,8] v, float[N,1,1,7] m) => (float[N,3,5,8] y) <float c = {0.5}> "
     "{ t = Transpose <perm = [0,1,3,2]> (k) s = MatMul (q, t) u = Mul (s, c) w = Add (u, m) p = Softmax (w) "
     "y = MatMul (p, v) }"},
    {"multi-head, a bias, keys masked",
     G "(" QKV ", float[72] b) => (float[2,5,24] y) <int32[2,7] m = {1,1,1,0,1,0,1, 1,1,0,0,1,1,1}> "
       "{ y = com.microsoft.MultiHeadAttention <num_heads = 3> (q, k, v, b, m) }"},
    {"multi-head, ends, an added bias",
     G "(" QKV ", float[1,3,5,7] a) => (float[2,5,24] y) <int32[2] m = {4, 7}> "
       "{ y = com.microsoft.MultiHeadAttention <num_heads = 3, unidirectional = 1> (q, k, v, , m, a) }"},
    {"multi-head, a past and a bias",
     G "(" QKV ", " PASTS ", float[72] b) => (float[N,5,24] y, float[N,3,11,8] a, float[N,3,11,8] c) { y, a, c = "
       "com.microsoft.MultiHeadAttention <num_heads = 3> (q, k, v, b, , , pk, pv) }"},
    {"multi-head, split", G "(float[N,5,24] q, float[N,3,7,8] k, float[N,3,7,8] v) => (float[N,5,24] y) { y = "
                            "com.microsoft.MultiHeadAttention <num_heads = 3> (q, k, v) }"},
    {"multi-head, packed", G "(float[N,5,3,3,8] q) => (float[N,5,24] y) { y = com.microsoft.MultiHeadAttention "
                             "<num_heads = 3> (q) }"},
    {"multi-head, keys and values packed", G "(float[N,5,24] q, float[N,7,3,2,8] k) => (float[N,5,24] y) { y = "
                                             "com.microsoft.MultiHeadAttention <num_heads = 3> (q, k) }"},
    {"one product", G "(float[N,5,10] x, float[10,72] w, float[72] b) => (float[N,5,24] y) <int32[2,5,5] m = "
                      "{1,0,1,1,1, 1,1,1,1,0, 1,1,0,1,1, 1,1,1,0,1, 0,1,1,1,1, 1,1,1,1,1, 1,0,1,0,1, 1,1,1,1,1, "
                      "1,1,1,1,0, 1,1,1,0,0}> { y = com.microsoft.Attention <num_heads = 3> (x, w, b, m) }"},
    {"one product, a past",
     G "(float[N,5,10] x, float[10,72] w, float[2,N,3,4,8] p) => (float[N,5,24] y, float[2,N,3,9,8] c) "
       "{ y, c = com.microsoft.Attention <num_heads = 3, unidirectional = 1> (x, w, , , p) }"},
    {"one product of bytes",
     G "(uint8[2,5,10] x, int8[10,72] w, float[72] b, float[2,2,3,4,8] p) => (float[2,5,24] y, float[2,5,24] z, "
       "float[2,2,3,9,8] c) <float xs = {0.02}, float ws = {0.01}, uint8 xz = {121}, int8 wz = {0}, int32[2,5] m = "
       "{1,0,1,1,1, 1,1,1,1,0}> { y = com.microsoft.QAttention <num_heads = 3> (x, w, b, xs, ws, m, xz, wz) z, c = "
       "com.microsoft.QAttention <num_heads = 3, unidirectional = 1> (x, w, b, xs, ws, , xz, wz, p) }"},
    {"experts", G
     "(float[2,5,10] x, float[10,4] r, float[4,6,10] a, float[4,6] b, float[4,10,6] c, float[4,10] d, float[4,6,10] e) "
     "=> (float[2,5,10] y, float[2,5,10] z, float[2,5,10] u) { y = com.microsoft.MoE <k = 2, activation_type = "
     "\"gelu\"> "
     "(x, r, a, b, c, d) z = com.microsoft.MoE <k = 1, activation_type = \"silu\", normalize_routing_weights = 1> (x, "
     "r, a, , c, "
     ", e) u = com.microsoft.MoE <k = 3, activation_type = \"swiglu\"> (x, r, a, b, c, d, e) }"},
    {"experts of few bits",
     G "(float[7,16] x, float[7,5] r, uint8[5,12,8] a, float[5,12] s, float[5,12] b, uint8[5,16,3] c, float[5,16] t, "
       "uint8[5,12,8] e, float[5,12,8] v, uint8[5,16,6] f, float[5,16,3] w, uint8[5,12,4] g, uint8[5,8] o, float[7,5] "
       "m) => (float[7,16] y, float[7,16] z, float[7,16] u) { y = "
       "com.microsoft.QMoE <k = 2, activation_type = \"swiglu\", swiglu_fusion = 1, activation_alpha = 1.7, "
       "activation_beta = 1.0, "
       "swiglu_limit = 7.0> (x, r, a, s, b, c, t) z = com.microsoft.QMoE <k = 3, activation_type = \"swiglu\", "
       "swiglu_fusion = "
       "2, block_size = 2, fc2_expert_weight_bits = 8> (x, r, e, v, , f, w, , , , , g, , , m) u = com.microsoft.QMoE "
       "<k = 4, "
       "activation_type = \"swiglu\", swiglu_fusion = 1> (x, r, a, s, , c, t, , , , , , o) }"},
    {"grouped",
     G "(float[2,3,32] q, float[2,3,16] k, float[2,3,16] v, " CACHE ") => (float[2,3,32] y, float[2,2,A,8] a, "
       "float[2,2,A,8] b) <int32[2] n = {4, 3}, int32 t = {6}> { y, a, b = com.microsoft." GQA
       "> (q, k, v, pk, pv, n, t) }"},
    {"grouped, packed, turned", G
     "(float[2,1,64] q, " CACHE ", float[9,3] c, float[9,3] s) => (float[2,1,32] y, float[2,2,A,8] a, float[2,2,A,8] "
     "b) <int32[2] n = {6, 2}, int32 t = {7}> { y, a, b = com.microsoft." GQA ", do_rotary = 1> (q, , , pk, pv, n, t, "
     "c, s) }"},
    {"grouped, a prompt, a window, interleaved",
     G "(float[2,5,32] q, float[2,5,16] k, float[2,5,16] v, float[9,4] c, float[9,4] s) => (float[2,5,32] y, "
       "float[2,2,A,8] a, float[2,2,A,8] b) <int32[2] n = {4, 2}, int32 t = {5}> { y, a, b = com.microsoft." GQA
       ", do_rotary = 1, rotary_interleaved = 1, local_window_size = 2> (q, k, v, , , n, t, c, s) }"},
    {"a residual", G "(float[N,5,9] x, float[N,5,9] r, float[9] s, float[9] b, float[9] o) => (float[N,5,9] y, "
                     "float[N,5,9] t) { y, , , t = com.microsoft.SkipLayerNormalization (x, r, s, b, o) }"},
    {"a residual for the batch", G "(float[2,5,9] x, float[1,5,9] r, float[9] s) => (float[2,5,9] y) { y = "
                                   "com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.001> (x, r, s) }"},
    {"turned", G "(float[2,5,24] x, float[2,3,5,8] z, float[9,3] c, float[9,3] s, float[9,4] d, float[9,4] t) => "
                 "(float[2,5,24] y, float[2,3,5,8] w) <int64[1] p = {2}, int64[2,5] o = {0,1,2,3,4, 8,7,6,5,4}> { y = "
                 "com.microsoft.RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 6> (x, p, c, s) "
                 "w = com.microsoft.RotaryEmbedding <interleaved = 1> (z, o, d, t) }"},
    {"words, places and segments",
     G "(float[11,9] w, float[6,9] p, float[2,9] s, float[9] g, float[9] b) => (float[2,4,9] y, int32[2] c, "
       "float[2,4,9] t) <int32[2,4] i = {3,10,0,3, 7,7,1,9}, int32[2,4] k = {0,0,1,1, 1,0,1,0}> { y, c, t = "
       "com.microsoft.EmbedLayerNormalization <epsilon = 0.001> (i, k, w, p, s, g, b) }"},
    {"words and places that are given, for all and for each",
     G "(float[11,9] w, float[6,9] p, float[9] g, float[9] b) => (float[2,4,9] y, float[2,4,9] z) "
       "<int32[2,4] i = {3,10,0,3, 7,7,1,9}, int32[1,4] o = {5,0,2,1}, int32[2,4] e = {0,1,2,3, 5,4,3,2}> { y = "
       "com.microsoft.EmbedLayerNormalization (i, , w, p, , g, b, , o) z = com.microsoft.EmbedLayerNormalization "
       "(i, , w, p, , g, b, , e) }"},
    {"GELU", G "(float[N,5,9] x, float[9] b) => (float[N,5,9] y, float[N,5,9] z, float[N,5,9] u) { "
               "y = com.microsoft.BiasGelu (x, b) z = com.microsoft.FastGelu (x) "
               "u = com.microsoft.QuickGelu <alpha = 0.5> (x) }"},
    {"GELU of tanh, a bias", G "(float[N,5,9] x, float[9] b, float16[3,4] h, float16[4] c) => (float[N,5,9] y, "
                               "float16[3,4] z) { y = com.microsoft.FastGelu (x, b) z = com.microsoft.FastGelu (h, c) "
                               "}"},
    {"a bias and a residual, halves of rows", G
     "(float[N,5,8] x, float[8] b, float[N,5,8] k, float16[2,3,6] h, float16[6] c) => (float[N,5,8] y, float[N,5,4] z, "
     "float16[2,3,3] u) { a = com.microsoft.BiasAdd (x, b, k) y = Mul (a, b) z = com.microsoft.BiasSplitGelu (x, b) u = "
     "com.microsoft.BiasSplitGelu (h, c) }"},
};

static void test_as_the_cpu_has_it(void **state) {
  (void)state;
  beside_cpu_check_all(rows, OX_COUNT(rows));
}
#endif

int main(void) {
#ifndef GPU_PLUGIN
  puts("skipped: there is no provider");
  return 0;
#else
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_the_cpu_has_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
