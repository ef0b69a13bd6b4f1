/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/operators_test.c - operators on the stand-in for a GPU beside the CPU provider: all of their
 * attributes and types that the device takes, edges first. */
#include <stdio.h>

#include "base/macros.h"
#include "plugins/device/beside_cpu.h"

#ifdef GPU_PLUGIN
#define G "<ir_version: 10, opset_import: [\"\" : 22, \"com.microsoft\" : 1]> g "
/* 64 and 32-bit integers of both signs, made of bytes. */
#define WIDE "x = Cast <to = 7> (k) v = Cast <to = 6> (k) "
#define ROI                                                                                                      \
  "(float[2,3,6,7] x) => (float[5,3,2,3] y) <float[5,4] r = {0,0,6,5, 1,1,3,4, -3,-2,2,9, 5,5,5,5, 2,1,30,20}, " \
  "int64[5] b = {0,1,1,0,1}> "
#define QLINEAR "float xs = {0.05}, uint8 xz = {117}, float ys = {0.07}, uint8 yz = {121}"
#define BYTES "(uint8[2,5,6,8] x) => "

static const beside_row rows[] = {
    {"RoiAlign, as many samples as pixels", G ROI "{ y = RoiAlign <output_height = 2, output_width = 3> (x, r, b) }"},
    {"RoiAlign, two samples, whole pixels",
     G ROI "{ y = RoiAlign <output_height = 2, output_width = 3, sampling_ratio = 2, spatial_scale = 0.5, "
           "coordinate_transformation_mode = \"output_half_pixel\"> (x, r, b) }"},
    {"RoiAlign, the largest", G ROI "{ y = RoiAlign <output_height = 2, output_width = 3, sampling_ratio = 3, "
                                    "mode = \"max\"> (x, r, b) }"},
    {"MaxRoiPool",
     G "(float[2,3,6,7] x) => (float[4,3,2,3] y) <float[4,5] r = {0,0,0,6,5, 1,1.5,0.5,3,4, 0,-3,-2,2,9, 1,5,5,1,1}> "
       "{ y = MaxRoiPool <pooled_shape = [2,3], spatial_scale = 0.75> (x, r) }"},
    {"NhwcMaxPool",
     G BYTES "(uint8[2,3,3,8] y) { y = com.microsoft.NhwcMaxPool <kernel_shape = [3,2], strides = [2,2], "
             "pads = [1,0,1,0]> (x) }"},
    {"NhwcMaxPool of signed bytes, dilated",
     G "(int8[2,5,6,7] x) => (int8[2,3,4,7] y) { y = com.microsoft.NhwcMaxPool <kernel_shape = [2,2], dilations = "
       "[2,2]> (x) }"},
    {"QLinearAveragePool, channels last",
     G BYTES "(uint8[2,3,3,8] y) <" QLINEAR "> { y = com.microsoft.QLinearAveragePool <kernel_shape = [3,2], strides = "
             "[2,2], pads = [1,0,1,0], channels_last = 1> (x, xs, xz, ys, yz) }"},
    {"QLinearAveragePool, channels last, padding counts",
     G BYTES "(uint8[2,5,6,8] y) <" QLINEAR "> { y = com.microsoft.QLinearAveragePool <kernel_shape = [3,3], pads = "
             "[1,1,1,1], count_include_pad = 1, channels_last = 1> (x, xs, xz, ys, yz) }"},
    {"QLinearGlobalAveragePool, channels last",
     G BYTES "(uint8[2,1,1,8] y) <" QLINEAR "> { y = com.microsoft.QLinearGlobalAveragePool <channels_last = 1> "
             "(x, xs, xz, ys, yz) }"},
    {"QLinearConv, channels last", G
     "(uint8[2,5,6,8] x, int8[9,4,3,3] w, int32[18] b) => (uint8[2,3,6,18] y) <" QLINEAR
     ", float ws = {0.01}, int8 wz = {0}> { v = Concat <axis = 0> (w, w) y = com.microsoft.QLinearConv <kernel_shape = "
     "[3,3], pads = [1,1,1,1], strides = [2,1], group = 2, channels_last = 1> (x, xs, xz, v, ws, wz, ys, yz, b) }"},
    {"QLinearConv, depthwise, channels last",
     G BYTES "(uint8[2,5,6,8] y) <" QLINEAR ", float ws = {0.01}, int8 wz = {0}, int8[8,1,1,3] w = {1,2,3,4,5,6,7,8,9,"
             "-1,-2,-3,-4,-5,-6,-7,-8,-9,10,11,12,13,14,15}> { y = com.microsoft.QLinearConv <kernel_shape = [1,3], "
             "auto_pad = \"SAME_UPPER\", group = 8, channels_last = 1> (x, xs, xz, w, ws, wz, ys, yz) }"},
    {"functions of angles",
     G "(float[N,3,5] x) => (float[N,3,5] a, float[N,3,5] b, float[N,3,5] c, float[N,3,5] d, float[N,3,5] e, "
       "float[N,3,5] f, float[N,3,5] g, float[N,3,5] h, float[N,3,5] i) { a = Acos (x) b = Asin (x) c = Atan (x) "
       "d = Tan (x) e = Sinh (x) f = Cosh (x) g = Asinh (x) u = Exp (c) h = Acosh (u) t = Sin (x) i = Atanh (t) }"},
    {"Shrink", G "(float[N,3,5] x) => (float[N,3,5] y, float[N,3,5] z) { y = Shrink <lambd = 0.3, bias = 0.1> (x) "
                 "z = Shrink (x) }"},
    {"IsInf", G "(float[N,3,5] x) => (bool[N,3,5] a, bool[N,3,5] b, bool[N,3,5] c, bool[N,3,5] d) <float[5] o = "
                "{0, 1, 0, -1, 2}> { u = Div (x, o) a = IsInf (u) b = IsInf <detect_negative = 0> (u) "
                "c = IsInf <detect_positive = 0> (u) d = IsInf <detect_negative = 0, detect_positive = 0> (u) }"},
    {"integers are divided",
     G "(int8[N,4] k) => (int64[N,4] a, int64[N,4] b, int64[N,4] c, int32[N,4] d, int32[N,4] e) "
       "<int64[4] n = {3, -4, 0, -1}, int32[4] m = {-3, 5, -1, 0}> { " WIDE "a = Div (x, n) b = Mod (x, n) "
       "c = Mod <fmod = 1> (x, n) d = Div (v, m) e = Mod (v, m) }"},
    {"the least integer over -1",
     G "(int8[N,1] k) => (int32[N,2] y, int64[2,1] z) <int32[1,2] l = {-2147483648, 7}, "
       "int32 n = {-1}, int64[2,1] w = {-9223372036854775808, 5}, int64[1,1] u = {-1}> "
       "{ " WIDE "s = Sub (v, v) i = Add (s, l) y = Div (i, n) j = Neg (w) h = Neg (j) z = Div (h, u) }"},
    {"integers between bounds",
     G "(int8[N,4] k) => (int64[N,4] a, int64[N,4] b, int32[N,4] c, int32[N,4] d) <int64 l = {-1}, "
       "int64 h = {2}, int32 m = {1}> { " WIDE "a = Clip (x, l, h) b = Clip (x, , l) c = Clip (v, m) d = Clip (v) }"},
    {"bits",
     G "(int8[N,4] k, uint8[N,4] w) => (int32[N,4] a, int32[N,4] b, int32[N,4] c, int64[N,4] d, uint8[N,4] e, "
       "uint8[N,4] f) <int32[4] n = {3, -4, 1, 255}, uint8[4] m = {0, 1, 7, 8}> { " WIDE "a = BitwiseAnd (v, n) "
       "b = BitwiseOr (v, n) c = BitwiseXor (v, n) d = BitwiseNot (x) e = BitShift <direction = \"LEFT\"> (w, m) "
       "f = BitShift <direction = \"RIGHT\"> (w, m) }"},
    {"other integers", G "(uint32[N,4] x, int16[N,4] v, uint64[N,4] w, uint16[N,4] u) => (uint32[N,4] a, int16[N,4] b, "
                         "uint64[N,4] c, uint16[N,4] d) { y = Add (x, x) a = Sub (y, x) z = Mul (v, v) b = Neg (z) "
                         "c = Max (w, w) d = BitwiseNot (u) }"},
    {"integers summed",
     G "(int8[N,3,40] k) => (int64[N,3] a, int64[N,3,1] b, int64[1,1,40] c, "
       "int64[N,40] d, int32[N,3] e, int32[N,1,40] f, int32[40] g) <int64[1] last = {2}, int64[1] one "
       "= {1}, int64[2] two = {0, 1}> { " WIDE "a = ReduceSum <keepdims = 0> (x, last) b = ReduceMax (x, last) "
       "c = ReduceMin (x, two) d = ReduceProd <keepdims = 0> (x, one) e = ReduceMin <keepdims = 0> "
       "(v, last) f = ReduceMax (v, one) g = ReduceSum <keepdims = 0> (v, two) }"},
    {"frames of a signal",
     G "(float[N,50] x, float[N,50,1] v, float[N,50,2] c) => (float[N,12,9,2] y, float[N,5,16,2] z, float[N,12,9,2] u) "
       "<int64 step = {3}, int64 far = {7}, int64 length = {16}, int64 odd = {17}, float[16] w = {0.1,0.2,0.3,0.4,0.5,"
       "0.6,0.7,0.8,0.9,0.8,0.7,0.6,0.5,0.4,0.3,0.2}> { y = STFT (x, step, w, length) z = STFT <onesided = 0> (c, far, "
       "w) "
       "u = STFT (v, step, , odd) }"},
    {"Fourier transforms", G
     "(float[N,3,20,1] x, float[N,20,2] c) => (float[N,3,11,2] a, float[N,3,20,2] b, float[N,20,2] d, float[N,20,2] e, "
     "float[N,17,2] f, float[N,32,2] g) <int64 odd = {17}, int64 more = {32}> { a = DFT <onesided = 1> (x) b = DFT (x) "
     "d = DFT (c) e = DFT <inverse = 1> (c) f = DFT (c, odd) g = DFT (c, more) }"},
    {"fused products",
     G "(float[N,3,5,4] a, float[N,3,5,6] b, float[6,4] c, float[4] d, float[5] v) => (float[N,3,4,6] x, "
       "float[N,3,5,6] y, "
       "float[N,3,5,4] z, float[N,3,6] u) { x = com.microsoft.FusedMatMul <transA = 1, alpha = 0.5> (a, b) "
       "y = com.microsoft.FusedMatMul <transB = 1> (a, c) z = com.microsoft.GemmFastGelu (b, c, d) "
       "u = com.microsoft.FusedMatMul <transB = 1, transA = 1> (b, v) }"},
    {"FusedMatMulActivation, TransposeMatMul, FusedGemm", G
     "(float[5,4] a, float[5,6] b, float[6] c) => (float[4,6] x, float[4,6] y, float[4,6] z) { "
     "x = com.microsoft.FusedMatMulActivation <transA = 1, activation = \"LeakyRelu\", activation_alpha = 0.25> (a, b) "
     "y = com.microsoft.TransposeMatMul <transA = 1> (a, b) z = com.microsoft.FusedGemm <transA = 1, alpha = 2.0, "
     "beta = 0.5, activation = \"HardSigmoid\", activation_alpha = 0.3, activation_beta = 0.4> (a, b, c) }"},
    {"FusedConv",
     G "(float[N,3,6,7] x, float[5,3,3,3] w, float[5] b, float[N,5,6,7] z) => (float[N,5,6,7] p, float[N,5,6,7] q, "
       "float[N,5,6,7] r) { p = com.microsoft.FusedConv <pads = [1,1,1,1], activation = \"Relu\"> (x, w, b, z) "
       "q = com.microsoft.FusedConv <pads = [1,1,1,1], activation = \"Clip\", activation_params = [-0.5, 0.75]> (x, w, "
       "b) "
       "r = com.microsoft.FusedConv <pads = [1,1,1,1]> (x, w, , z) }"},
    {"Einsum as products where they lie",
     G "(float[N,3,5,4] q, float[N,3,6,4] k, float[N,5,3,4] r, float[N,6,3,4] s, float[4,2,6] w) => (float[N,3,5,6] a, "
       "float[N,3,6,5] b, float[N,3,5,6] c, float[N,3,5,2,6] d, float[5,N,6,3,3] e) { a = Einsum <equation = "
       "\"bhqd,bhkd->bhqk\"> (q, k) b = Einsum <equation = \"bhqd,bhkd->bhkq\"> (q, k) c = Einsum <equation = "
       "\"bqhd, bkhd -> bhqk\"> (r, s) d = Einsum <equation = \"bhqd,dxy->bhqxy\"> (q, w) e = Einsum <equation = "
       "\"bqhd,bkgd->qbkhg\"> (r, s) }"},
    {"Einsum as products of what is moved",
     G "(float[N,3,5,4] q, float[N,3,6,4] k, float[N,4,3] s, float[N,4] v, float[N,3,4] t) => (float[N,5,6,3] a, "
       "float[4,N,3] b, float[N] c, float[N,4,3] d, float[3,4] e) { a = Einsum <equation = \"bhqd,bhkd->bqkh\"> (q, k) "
       "b = Einsum <equation = \"bdh,bd->dbh\"> (s, v) c = Einsum <equation = \"bd,bd->b\"> (v, v) "
       "d = Einsum <equation = \"bdh,bd->bdh\"> (s, v) e = Einsum <equation = \"bhd,bd->hd\"> (t, v) }"},
    {"Einsum of sides of one and of all letters, and of one operand",
     G "(float[N,1,5,4] q, float[N,3,6,4] k, float[3,4] v, float[5] u) => (float[N,3,5,6] a, float b, float[3,4,5] c, "
       "float[4,N,6,3] d, float[3,1,4] e) <int64[1] one = {1}> { a = Einsum <equation = \"bhqd,bhkd->bhqk\"> (q, k) b "
       "= Einsum <equation = \"ij,ij->\"> "
       "(v, v) c = Einsum <equation = \"ij,k->ijk\"> (v, u) d = Einsum <equation = \"bhkd->dbkh\"> (k) o = ReduceSum "
       "<keepdims = 1> (q) "
       "l = Squeeze (o) z = Reshape (l, one) e = Einsum <equation = \"hd,x->hxd\"> (v, z) }"},
    {"Gather of one place", G
     "(float[3,N,64] x) => (float[N,64] a, float[1,N,64] b, float[3,64] c, float[3,N] d, float[3,N,1] e) <int64 one = "
     "{1}, int64[1] last = {-1}, int32 zero = {0}> { r = Relu (x) i = Gather (r, one) a = Neg (i) j = Gather (r, last) "
     "b = Exp (j) c = Gather <axis = 1> (r, zero) d = Gather <axis = 2> (r, one) e = Gather <axis = -1> (r, last) }"},
    {"moves that move nothing",
     G "(float[1,192] x, float[N,128] y, float[N,1,3,64] t) => (float[1,64] a, float[1,64] b, float[64] c, "
       "float[N,3,1,64] d, "
       "float[1,128] e, float[1,64] f, float[1,64] g) <int64[3] s = {64, 64, 64}, int64[1] zero = {0}, int64[1] one = "
       "{1}, "
       "int64[1] two = {2}, int64[1] half = {64}, int64[1] two_halves = {128}, int64[1] shape = {64}> { r = Relu (x) "
       "p, q, w = Split <axis = 1> (r, s) "
       "a = Neg (p) b = Mul (q, w) v = Reshape (w, shape) c = Exp (v) u = Abs (t) i = Transpose <perm = [0,2,1,3]> (u) "
       "d = Neg (i) n = Neg (y) e = Slice (n, one, two, zero) m = Slice (n, one, two, zero) "
       "k = Slice (m, half, two_halves, one) f = Exp (k) g = Slice (x, half, two_halves, one) }"},
    {"pieces that are written in place",
     G "(float[1,64] x, float[1,64] y) => (float[8,64] a, float[64] b, float[1,64] c, float[2,64] d, float[3,64] e) "
       "<int64[1] "
       "shape = {64}> { p = Relu (x) q = Neg (y) w = Exp (p) a = Concat <axis = 0> (p, q, x, p, w, y, q, p) b = "
       "Reshape (w, "
       "shape) c = Abs (q) d = Concat <axis = 0> (c, c) u = Mul (p, q) v = Concat <axis = 0> (u, w) f = Neg (v) "
       "e = Concat <axis = 0> (f, u) }"},
    {"floats to integers, also those that hold them not", G
     "(float[N,12] x) => (uint8[N,12] a, int8[N,12] b, uint16[N,12] c, int16[N,12] d, uint32[N,12] e, int32[N,12] f, "
     "uint64[N,12] g, int64[N,12] h, bool[N,12] i, float16[N,12] j) <float[12] m = {0, -0.5, 100.5, 300, -300, 70000, "
     "3e9, -3e9, 1e10, 1.5e19, -1e19, 1e30}> { s = Mul (x, x) o = Sub (s, s) z = Add (o, m) a = Cast <to = 2> (z) "
     "b = Cast <to = 3> (z) c = Cast <to = 4> (z) d = Cast <to = 5> (z) e = Cast <to = 12> (z) f = Cast <to = 6> (z) "
     "g = Cast <to = 13> (z) h = Cast <to = 7> (z) i = Cast <to = 9> (z) j = Cast <to = 10> (m) }"},
    {"integers of all widths to others and to floats", G
     "(uint64[N,9] u, int8[N,9] k, int16[N,9] s, uint32[N,9] v) => (float[N,9] a, int8[N,9] b, uint16[N,9] c, "
     "uint64[N,9] d, float[N,9] e, bool[N,9] f, int16[N,9] g, float[N,9] h) { n = BitwiseNot (u) a = Cast <to = 1> (n) "
     "b = Cast <to = 3> (n) c = Cast <to = 4> (k) d = Cast <to = 13> (k) e = Cast <to = 1> (s) f = Cast <to = 9> (s) "
     "g = Cast <to = 5> (v) h = Cast <to = 1> (v) }"},
    {"one, two, three and four operands",
     G "(float[N,3,5] x, float[3,1] y, float[N,1,5] z, float[5] w) => (float[3,1] a, float[N,3,5] b, float[N,3,5] c, "
       "float[N,3,5] d, float[N,3,5] e, float[N,3,5] f, float[3,1] g) { a = Sum (y) b = Sum (y, z, w) c = Max (w, y, "
       "z, x) "
       "s = Min (x, y, z) d = Neg (s) e = Mean (y, z) m = Mean (w, y, x) f = Relu (m) g = Mean (y) }"},
    {"GroupNorm, channels last and first",
     G "(float[N,5,7,6] x, float[N,6,5,7] v, float[6] s, float[6] b) => (float[N,5,7,6] y, float[N,5,7,6] z, "
       "float[N,6,5,7] u) { y = com.microsoft.GroupNorm <groups = 3, activation = 1> (x, s, b) g = "
       "com.microsoft.GroupNorm <groups = 2, activation = 0, epsilon = 0.01> (x, s, b) z = Mul (g, s) "
       "u = com.microsoft.GroupNorm <groups = 3, activation = 1, channels_last = 0> (v, s, b) }"},
    {"GroupNorm of a wide scale", G "(float16[N,5,7,6] x, float[6] s, float[6] b) => (float16[N,5,7,6] y) { y = "
                                    "com.microsoft.GroupNorm <groups = 6, activation = 0> (x, s, b) }"},
    {"SkipGroupNorm",
     G "(float[2,5,7,6] x, float[2,6,5,7] v, float[6] s, float[6] b, float[2,5,7,6] k, float[2,6] c, float[2,6,1,1] d, "
       "float[6] o) => (float[2,5,7,6] y, float[2,5,7,6] a, float[2,5,7,6] z, float[2,5,7,6] e, float[2,6,5,7] u, "
       "float[2,6,5,7] f) { y, a = com.microsoft.SkipGroupNorm <groups = 3, activation = 1> (x, s, b, k, o) "
       "z, e = com.microsoft.SkipGroupNorm <groups = 2, activation = 0> (x, s, b, c) u, f = "
       "com.microsoft.SkipGroupNorm <groups = 3, activation = 1, channels_last = 0> (v, s, b, d, o) }"},
    {"NhwcConv", G
     "(float[N,6,7,4] x, float[6,2,3,3] w, float[6] b, float[5,4,1,1] p) => (float[N,3,4,6] y, float[N,6,7,5] z) { y = "
     "com.microsoft.NhwcConv <pads = [1,1,1,1], strides = [2,2], group = 2> (x, w, b) t = com.microsoft.NhwcConv (x, "
     "p) z = Relu (t) }"},
    {"NhwcFusedConv",
     G "(float[N,6,7,4] x, float[5,4,3,3] w, float[5,4,1,1] p, float[5] b, float[N,6,7,5] r) => (float[N,6,7,5] y, "
       "float[N,6,7,5] z) { y = com.microsoft.NhwcFusedConv <pads = [1,1,1,1], activation = \"Relu\"> (x, w, b, r) "
       "z = com.microsoft.NhwcFusedConv <activation = \"LeakyRelu\", activation_params = [0.25]> (x, p, b, r) }"},
    {"DynamicQuantizeMatMul",
     G "(float[N,5,20] x, int8[20,9] w, uint8[20,3] v, float[9] b) => (float[N,5,9] y, float[N,5,3] z) <float[9] s = "
       "{0.01,0.02,0.03,0.04,0.05,0.06,0.07,0.08,0.09}, int8[9] o = {0,1,2,3,4,-1,-2,-3,-4}, float[1] t = {0.02}, "
       "uint8[1] u = {117}> { y = com.microsoft.DynamicQuantizeMatMul (x, w, s, o, b) z = "
       "com.microsoft.DynamicQuantizeMatMul (x, v, t, u) }"},
    {"DynamicQuantizeLinear of nothing but zeros",
     G "(float[N,5] x) => (uint8[N,5] y, float s, uint8 z) <float o = {0}> { v = Mul (x, o) y, s, z = "
       "DynamicQuantizeLinear (v) }"},
    {"DynamicQuantizeLSTM",
     G "(float[5,3,7] x, uint8[1,7,24] w, uint8[1,6,24] r) => (float[5,1,3,6] y, float[1,3,6] h, float[1,3,6] c) "
       "<float[1] s = {0.002}, uint8[1] z = {117}> { y, h, c = com.microsoft.DynamicQuantizeLSTM <hidden_size = 6> (x, "
       "w, r, , , , , , s, z, s, z) }"},
    {"DynamicQuantizeLSTM, both ways, a scale for each column", G
     "(float[4,N,8] x, int8[2,8,68] w, int8[2,17,68] r, float[2,68] v, int8[2,68] z, float[2,136] b, float[2,N,17] "
     "i) => (float[4,2,N,17] y) <float k = {0.001}> { a = Abs (v) s = Mul (a, k) y = "
     "com.microsoft.DynamicQuantizeLSTM <hidden_size = 17, direction = \"bidirectional\"> (x, w, r, b, , i, i, , s, z, "
     "s, z) }"},
    {"DynamicQuantizeLSTM, constant weights, lengths, backwards",
     G "(float[5,6,2] x, float[1,6,2] i, float[1,6] p) => (float[5,1,6,2] y, float[1,6,2] h) <uint8[1,2,8] w = "
       "{0,255,128,127,3,77,200,9, 250,1,129,126,30,70,20,90}, int32[6] l = {4,1,0,3,2,4}, float[1] s = {0.01}, "
       "uint8[1] z = {130}> { y, h = com.microsoft.DynamicQuantizeLSTM <hidden_size = 2, direction = \"reverse\", clip "
       "= 0.75, input_forget = 1> (x, w, w, , l, i, i, p, s, z, s, z) }"},
    {"DynamicQuantizeLSTM, constant weights of two directions",
     G "(float[3,N,1] x) => (float[3,2,N,1] y) <int8[2,1,4] w = {0,-128,127,5, 50,-61,70,-18}, float[2] s = "
       "{0.01,0.02}, int8[2] z = {3,-5}, float[2,4] t = {0.01,0.02,0.03,0.04,0.05,0.06,0.07,0.08}, int8[2,4] u = "
       "{0,1,2,3,-1,-2,-3,-4}> { y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1, direction = "
       "\"bidirectional\"> (x, w, w, , , , , , s, z, t, u) }"},
    {"QLinearSoftmax", G
     "(uint8[2,5,6] x, int8[3,40] v) => (uint8[2,5,6] a, uint8[2,5,6] b, int8[3,40] c) <float xs = {0.05}, uint8 xz = "
     "{117}, float ys = {0.00390625}, uint8 yz = {0}, float s = {0.11}, int8 z = {3}, int8 w = {-128}> { a = "
     "com.microsoft.QLinearSoftmax (x, xs, xz, ys, yz) b = com.microsoft.QLinearSoftmax <axis = 1, opset = 11> (x, "
     "xs, xz, ys, yz) c = com.microsoft.QLinearSoftmax <axis = -1> (v, s, z, ys, w) }"},
    {"QLinearWhere",
     G "(uint8[2,5,6] x, uint8[5,1] v, uint8[2,1,6] k) => (uint8[2,5,6] y) <" QLINEAR
       ", uint8 half = {128}> { c = Greater (k, half) y = com.microsoft.QLinearWhere (c, x, xs, xz, v, ys, yz, xs, yz) "
       "}"},
    {"GatherBlockQuantized",
     G "(uint8[7,16] x, float[7,2] s, uint8[7,1] z, float16[7,2] h, uint8[7,32] w) => (float[2,3,32] a, float[2,3,32] "
       "b, float16[2,3,32] c, float[2,3,32] d) <int64[2,3] i = {0,6,3,-1,2,2}, int32[2,3] j = {5,1,0,-7,6,4}> { a = "
       "com.microsoft.GatherBlockQuantized <block_size = 16> (x, i, s, z) b = com.microsoft.GatherBlockQuantized "
       "<block_size = 16> (x, j, s) c = com.microsoft.GatherBlockQuantized <block_size = 16> (x, i, h) d = "
       "com.microsoft.GatherBlockQuantized <block_size = 16, bits = 8> (w, i, s) }"},
    {"GatherBlockQuantized along another axis, of nibbles",
     G "(float[4,1,6] s) => (float[4,3,6] a, float[4,3,6] b) <int4[4,5,6] x = "
       "{11,48,85,122,159,196,233,14,51,88,125,162,199,236,17,54,91,128,165,202,239,20,57,94,131,168,205,242,23,60,97,"
       "134,171,208,245,26,63,100,137,174,211,248,29,66,103,140,177,214,251,32,69,106,143,180,217,254,35,72,109,146}, "
       "int4[4,1,6] z = {7,60,113,166,219,16,69,122,175,228,25,78}, int64[3] i = {4,0,-2}> { a = "
       "com.microsoft.GatherBlockQuantized <gather_axis = 1, quantize_axis = 1, block_size = 16> (x, i, s, z) b = "
       "com.microsoft.GatherBlockQuantized <gather_axis = 1, quantize_axis = 1, block_size = 16> (x, i, s) }"},
    {"CropAndResize", G
     "(float[2,3,6,7] x) => (float[4,3,2,3] y, float[4,3,1,4] z) <float[4,4] r = {0,0,1,1, 0.2,0.1,0.7,0.9, -0.5,0,1.5,"
     "1, 0.9,0.8,0.2,0.3}, int32[4] b = {0,1,1,0}, int32[2] s = {2,3}, int32[2] t = {1,4}> { y = "
     "com.microsoft.CropAndResize <extrapolation_value = 0.5> (x, r, b, s) z = com.microsoft.CropAndResize <mode = "
     "\"nearest\"> (x, r, b, t) }"},
    {"Col2Im",
     G "(float[N,18,12] x, float[N,8,5] v) => (float[N,3,5,6] y, float[N,2,9] z) <int64[2] i = {5,6}, int64[2] b = "
       "{2,3}, int64[1] j = {9}, int64[1] c = {4}> { g = Col2Im <strides = [2,1], pads = [1,0,1,0], dilations = "
       "[2,1]> (x, i, b) y = Relu (g) z = Col2Im <strides = [2], pads = [1,2]> (v, j, c) }"},
    {"LpPool", G
     "(float[N,3,6,7] x, float16[N,3,9] h) => (float[N,3,5,3] a, float[N,3,6,7] b, float[N,3,3,4] c, float16[N,3,3] d) "
     "{ a = LpPool <kernel_shape = [2,3], strides = [1,2]> (x) b = LpPool <kernel_shape = [3,3], p = 1, auto_pad = "
     "\"SAME_UPPER\"> (x) c = LpPool <kernel_shape = [3,2], p = 3, strides = [2,2], pads = [1,1,0,0], ceil_mode = 1, "
     "dilations = [1,1]> (x) d = LpPool <kernel_shape = [3], strides = [3]> (h) }"},
    {"GlobalLpPool", G "(float[N,3,6,7] x) => (float[N,3,1,1] a, float[N,3,1,1] b, float[N,3,1,1] c) { a = "
                       "GlobalLpPool (x) b = GlobalLpPool <p = 1> (x) c = GlobalLpPool <p = 4> (x) }"},
    {"ReverseSequence",
     G "(float[5,3,4] x, float16[5,3] h, uint8[3,5,2] b) => (float[5,3,4] y, float16[5,3] z, uint8[3,5,2] u) <int64[3] "
       "l = {5,0,3}> { y = ReverseSequence (x, l) z = ReverseSequence (h, l) u = ReverseSequence <batch_axis = 0, "
       "time_axis = 1> (b, l) }"},
    {"DeformConv", G
     "(float[2,4,5,6] x, float[6,2,3,3] w, float[2,36,5,6] o, float[6] b, float[2,18,5,6] m) => (float[2,6,5,6] y, "
     "float[2,6,5,6] z) { c = DeformConv <pads = [1,1,1,1], group = 2, offset_group = 2> (x, w, o, b, m) y = Relu (c) "
     "z = DeformConv <pads = [2,2,2,2], dilations = [2,2], group = 2, offset_group = 2> (x, w, o) }"},
    {"DeformConv of one axis, and of three",
     G "(float[2,4,9] x, float[3,4,2] w, float[2,2,4] o, float[1,2,3,4,5] v, float[2,2,1,2,2] f, float[1,12,3,3,4] q) "
       "=> (float[2,3,4] y, float[1,2,3,3,4] z) { y = DeformConv <strides = [2]> (x, w, o) z = DeformConv (v, f, q) }"},
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
