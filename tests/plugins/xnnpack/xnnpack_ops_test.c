/* SPDX-License-Identifier: Apache-2.0
 * plugins/xnnpack/xnnpack_ops_test.c - operators on the provider "xnnpack" beside the CPU's: who runs them, and what
 * comes out, at several shapes and twice each. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/echo_ep.h"
#include "support/ep_models.h"
#include "support/text_session.h"

typedef struct {
  const char *what;
  const char *io;    /* "float[N,3,8,8] x => float[A,B,C,D] y" */
  const char *inits; /* NAME:TYPE=DIMS; - TYPE f: floats in [-1, 1), h: of 16 bits, p: in [0.01, 0.02), i8, u8, i32;
                      * one number: see add_init */
  const char *nodes;
  size_t n_theirs;  /* nodes that xnnpack has at level NONE */
  double tolerance; /* relative to the largest */
} row;

#define IMAGE "float[N,4,9,11] x => float[A,B,C,D] y"
#define F 1e-5
#define HALVES 2e-3   /* the CPU rounds after each node */
#define ONE_STEP 0.02 /* of bytes that reach at least 50 */

#define QDQ_CONV(attrs)                                                         \
  "d = DequantizeLinear (q, s, z) v = DequantizeLinear <axis = 0> (w, ws, wz) " \
  "c = Conv " attrs " (d, v, b) r = Relu (c) t = QuantizeLinear (r, ys, yz) y = DequantizeLinear (t, ys, yz)"

/* |node| between bytes: from q, of scale s and zero point z, to t, of scale ys and zero point yz. */
#define QDQ(node) \
  "d = DequantizeLinear (q, s, z) " node " t = QuantizeLinear (c, ys, yz) y = DequantizeLinear (t, ys, yz)"
#define QLINEAR(call) "t = com.microsoft." call " y = DequantizeLinear (t, ys, yz)"
#define BYTES "uint8[N,4,9,11] q => float[A,B,C,D] y"
#define SIGNED "int8[N,4,9,11] q => float[A,B,C,D] y"
#define SAME "s:p=;z:u8=;ys:same=;yz:same8="

static const row rows[] = {
    {"Conv", IMAGE, "w:f=6,4,3,3;b:f=6", "y = Conv (x, w, b)", 1, F},
    {"Conv of one pixel", IMAGE, "w:f=5,4,1,1", "y = Conv (x, w)", 1, F},
    {"Conv with pads that differ", IMAGE, "w:f=6,4,3,2", "y = Conv <pads = [2,0,1,3], strides = [2,1]> (x, w)", 1, F},
    {"Conv with dilations", IMAGE, "w:f=6,4,2,3", "y = Conv <dilations = [3,2]> (x, w)", 1, F},
    {"Conv, pads from the shape, a window lower than its stride", IMAGE, "w:f=6,4,1,3",
     "y = Conv <auto_pad = \"SAME_UPPER\", strides = [2,1]> (x, w)", 0, F},
    {"Conv, pads from the shape, a pixel", IMAGE, "w:f=6,4,1,1",
     "y = Conv <auto_pad = \"SAME_UPPER\", strides = [2,3]> (x, w)", 1, F},
    {"Conv, pads from the shape", IMAGE, "w:f=6,4,3,3", "y = Conv <auto_pad = \"SAME_UPPER\", strides = [2,3]> (x, w)",
     1, F},
    {"Conv, pads below", IMAGE, "w:f=6,4,2,2", "y = Conv <auto_pad = \"SAME_LOWER\"> (x, w)", 0, F},
    {"Conv in groups", IMAGE, "w:f=6,2,3,3;b:f=6", "y = Conv <group = 2> (x, w, b)", 1, F},
    {"depthwise", IMAGE, "w:f=4,1,3,3;b:f=4", "y = Conv <group = 4, pads = [1,1,1,1]> (x, w, b)", 1, F},
    {"depthwise, of 25", IMAGE, "w:f=4,1,5,5", "y = Conv <group = 4, pads = [2,2,2,2], strides = [2,2]> (x, w)", 1, F},
    {"depthwise, of 49", IMAGE, "w:f=4,1,7,7", "y = Conv <group = 4, pads = [3,3,3,3]> (x, w)", 0, F},
    {"depthwise, two of each", IMAGE, "w:f=8,1,3,3", "y = Conv <group = 4> (x, w)", 1, F},
    {"Conv in one dimension", "float[N,4,17] x => float[A,B,C] y", "w:f=6,4,3;b:f=6",
     "y = Conv <pads = [2,1], strides = [2]> (x, w, b)", 1, F},
    {"Conv in three", "float[N,2,4,4,4] x => float[A,B,C,D,E] y", "w:f=3,2,2,2,2", "y = Conv (x, w)", 0, F},
    {"Conv of a free image", "float[N,4,H,W] x => float[A,B,C,D] y", "w:f=6,4,1,1;v:f=3,6,1,1",
     "c = Conv (x, w) r = Relu (c) y = Conv (r, v)", 3, F},
    {"Conv, Relu", IMAGE, "w:f=6,4,3,3", "c = Conv (x, w) y = Relu (c)", 2, F},
    {"Conv, Clip without a least", IMAGE, "w:f=6,4,3,3;m:one=", "c = Conv (x, w) y = Clip (c, , m)", 2, F},
    {"Conv, Relu, Clip", IMAGE, "w:f=6,4,3,3;m:one=", "c = Conv (x, w) r = Relu (c) y = Clip (r, , m)", 3, F},
    {"Conv that two read", "float[N,4,9,11] x => float[A,B,C,D] y, float[A,B,C,D] r", "w:f=6,4,3,3",
     "c = Conv (x, w) r = Relu (c) y = Neg (c)", 3, F},
    {"ConvTranspose", IMAGE, "w:f=4,5,3,3;b:f=5", "y = ConvTranspose <strides = [2,2], pads = [1,0,0,1]> (x, w, b)", 1,
     F},
    {"ConvTranspose in groups", IMAGE, "w:f=4,3,3,2",
     "y = ConvTranspose <group = 2, strides = [3,2], output_padding = [2,1]> (x, w)", 1, F},
    {"ConvTranspose to a shape", IMAGE, "w:f=4,3,3,3", "y = ConvTranspose <output_shape = [11,13]> (x, w)", 0, F},
    {"MaxPool", IMAGE, "", "y = MaxPool <kernel_shape = [3,2], strides = [2,1], pads = [1,0,1,1]> (x)", 1, 0},
    {"MaxPool with dilations", IMAGE, "", "y = MaxPool <kernel_shape = [2,2], dilations = [2,3]> (x)", 1, 0},
    {"MaxPool, sizes up", IMAGE, "", "y = MaxPool <kernel_shape = [2,2], strides = [2,2], ceil_mode = 1> (x)", 0, 0},
    {"MaxPool of bytes", "uint8[N,4,9,11] x => float[A,B,C,D] y", "",
     "p = MaxPool <kernel_shape = [3,3]> (x) y = Cast <to = 1> (p)", 1, 0},
    {"MaxPool, Relu", IMAGE, "", "p = MaxPool <kernel_shape = [2,2]> (x) y = Relu (p)", 2, 0},
    {"AveragePool", IMAGE, "", "y = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1], strides = [2,2]> (x)", 1, F},
    {"AveragePool of few rows", "float[N,4,5,7] x => float[A,B,C,D] y", "",
     "y = AveragePool <kernel_shape = [7,7], pads = [3,3,3,3], strides = [2,2]> (x)", 1, F},
    {"AveragePool of few rows, pads from the shape", "float[N,4,5,7] x => float[A,B,C,D] y", "",
     "y = AveragePool <kernel_shape = [7,7], auto_pad = \"SAME_UPPER\", strides = [2,2]> (x)", 1, F},
    {"AveragePool of enough rows", "float[N,4,7,7] x => float[A,B,C,D] y", "",
     "y = AveragePool <kernel_shape = [7,7], pads = [3,3,3,3], strides = [2,2]> (x)", 1, F},
    {"AveragePool that counts pads", IMAGE, "",
     "y = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1> (x)", 0, F},
    {"AveragePool of a lower image", IMAGE, "", "y = AveragePool <kernel_shape = [11,9], strides = [3,2]> (x)", 1, F},
    {"AveragePool of a smaller image", IMAGE, "",
     "y = AveragePool <kernel_shape = [13,14], strides = [4,2], pads = [1,0,1,2]> (x)", 1, F},
    {"MaxPool of a smaller image", IMAGE, "",
     "y = MaxPool <kernel_shape = [12,13], strides = [5,4], pads = [0,1,0,0]> (x)", 1, 0},
    {"MaxPool of an image much lower", IMAGE, "", "y = MaxPool <kernel_shape = [13,3], strides = [3,1]> (x)", 1, 0},
    {"GlobalAveragePool", IMAGE, "", "y = GlobalAveragePool (x)", 1, F},
    {"Resize to twice", IMAGE, "s:scales2=", "y = Resize <mode = \"linear\"> (x, , s)", 1, F},
    {"Resize, corners", IMAGE,
     "s:scales2=", "y = Resize <mode = \"linear\", coordinate_transformation_mode = \"align_corners\"> (x, , s)", 1, F},
    {"Resize, nearest", IMAGE, "s:scales2=", "y = Resize <mode = \"nearest\"> (x, , s)", 0, 0},
    {"MatMul", "float[N,3,7] x => float[A,B,C] y", "w:f=7,5", "y = MatMul (x, w)", 1, F},
    {"MatMul, Add, Relu", "float[N,3,7] x => float[A,B,C] y", "w:f=7,5;b:f=1,5",
     "m = MatMul (x, w) a = Add (b, m) y = Relu (a)", 3, F},
    {"MatMul with a vector", "float[N,7] x => float[A] y", "w:f=7", "y = MatMul (x, w)", 1, F},
    {"MatMul of a vector", "float[7] x => float[A] y", "w:f=7,5", "y = MatMul (x, w)", 1, F},
    {"MatMul of two inputs", "float[N,7] x, float[7,3] w => float[A,B] y", "", "y = MatMul (x, w)", 1, F},
    {"products of two inputs", "float[N,2,5,7] x, float[2,7,3] z => float[A,B,C,D] y", "",
     "p = MatMul (x, z) t = Transpose <perm = [0,1,3,2]> (p) y = MatMul (t, p)", 3, F},
    {"a product that is repeated", "float[5,7] x, float[N,1,7,3] z => float[A,B,C,D] y", "", "y = MatMul (x, z)", 1, F},
    {"a product of no sums", "float[N,5,0] x, float[N,0,3] z => float[A,B,C] y", "", "y = MatMul (x, z)", 1, F},
    {"a product by a transpose", "float[N,2,5,7] x, float[N,2,3,7] z => float[A,B,C,D] y", "",
     "t = Transpose <perm = [0,1,3,2]> (z) y = MatMul (x, t)", 2, F},
    {"a product by a transpose, many rows", "float[N,2,19,70] x, float[N,1,33,70] z => float[A,B,C,D] y", "",
     "t = Transpose <perm = [0,1,3,2]> (z) y = MatMul (x, t)", 2, F},
    {"a product by a transpose of more axes", "float[N,2,5,40] x, float[N,3,2,40] z => float[A,B,C,D] y", "",
     "t = Transpose <perm = [0,2,3,1]> (z) y = MatMul (x, t)", 2, F},
    {"a product by a transpose of other axes", "float[N,2,5,7] x, float[7,3,2] z => float[A,B,C,D] y", "",
     "t = Transpose (z) u = Transpose <perm = [0,2,1]> (t) y = MatMul (x, u)", 3, F},
    {"a product by a transpose that others read", "float[N,7,7] x => float[A,B,C] y", "",
     "t = Transpose <perm = [0,2,1]> (x) p = MatMul (x, t) y = Add (p, t)", 3, F},
    {"a product by a transposed matrix", "float[N,7] x => float[A,B] y", "w:f=5,7;b:f=5",
     "t = Transpose (w) p = MatMul (x, t) y = Add (p, b)", 3, F},
    {"a product by a transpose, float16", "float16[N,2,5,7] x, float16[N,3,2,7] z => float[A,B,C,D] y", "",
     "t = Transpose <perm = [0,2,3,1]> (z) p = MatMul (x, t) y = Cast <to = 1> (p)", 2, HALVES},
    {"Gemm", "float[N,7] x => float[A,B] y", "w:f=7,5;b:f=5", "y = Gemm (x, w, b)", 1, F},
    {"Gemm, transB", "float[N,7] x => float[A,B] y", "w:f=5,7;b:f=1,5", "g = Gemm <transB = 1> (x, w, b) y = Relu (g)",
     2, F},
    {"Gemm, transA", "float[7,3] x => float[A,B] y", "w:f=7,5", "y = Gemm <transA = 1> (x, w)", 0, F},
    {"Gemm, alpha", "float[N,7] x => float[A,B] y", "w:f=7,5", "y = Gemm <alpha = 2.0> (x, w)", 0, F},
    {"Gemm, C a column", "float[3,7] x => float[A,B] y", "w:f=7,5;b:f=3,1", "y = Gemm (x, w, b)", 0, F},
    {"Softmax", "float[N,3,7] x => float[A,B,C] y", "", "y = Softmax (x)", 1, F},
    {"Softmax of channels", IMAGE, "", "y = Softmax <axis = 1> (x)", 1, F},
    {"Softmax of rows", IMAGE, "", "y = Softmax <axis = 2> (x)", 1, F},
    {"Softmax of the batch", IMAGE, "", "y = Softmax <axis = 0> (x)", 1, F},
    {"PRelu", IMAGE, "s:f=4,1,1", "y = PRelu (x, s)", 1, F},
    {"PRelu of one slope", IMAGE, "s:f=1", "y = PRelu (x, s)", 1, F},
    {"PRelu of columns", IMAGE, "s:f=11", "y = PRelu (x, s)", 0, F},
    {"one input", IMAGE, "m:one=",
     "a = Abs (x) b = Neg (a) c = Ceil (b) d = Floor (x) e = Add (c, d) f = Sigmoid (e) g = Sqrt (f) h = HardSwish (g)"
     " i = LeakyRelu <alpha = 0.2> (b) j = Elu <alpha = 0.5> (i) k = Mul (h, j) l = Round (x) n = Clip (l, , m) y = "
     "Sub (k, n)",
     14, F},
    {"LeakyRelu that rises", IMAGE, "", "y = LeakyRelu <alpha = -0.5> (x)", 0, F},
    {"two inputs", "float[N,4,1,11] x, float[N,1,9,1] z => float[A,B,C,D] y", "c:f=4,1,1;e:p=11",
     "a = Add (x, z) b = Mul (a, c) d = Max (b, z) g = Min (d, a) h = Div (g, e) y = Sub (h, x)", 6, F},
    {"sums within bounds", "float[N,4,9,11] x, float[4,1,11] z => float[A,B,C,D] y",
     "w:f=4,4,1,1;m:one=;e:p=11;b:f=4,1,1",
     "v = Conv (x, w) a = Add (v, x) r = Relu (a) s = Mul (r, b) t = Clip (s, , m) u = Sub (z, t) o = Relu (u) d = Div "
     "(e, x) q = Clip (d, , m) h = Add (q, o) y = Relu (h)",
     11, F},
    {"a sum of scalars within bounds", "float x, float z => float y", "", "a = Add (x, z) y = Relu (a)", 2, F},
    {"a long sum within bounds", "float[N,9000] x, float[N,9000] z => float[A,B] y", "", "a = Add (x, z) y = Relu (a)",
     2, 0},
    {"what is read again", IMAGE, "w:f=6,4,3,3",
     "c = Conv (x, w) n = Neg (c) s = Sigmoid (n) a = Sub (c, s) r = Relu (a) m = Mul (n, r) y = Max (m, s)", 7, F},
    {"Exp", IMAGE, "", "y = Exp (x)", 0, F},
    {"scalars", "float x, float z => float y", "", "a = Add (x, z) b = Sigmoid (a) c = Transpose (b) y = Mul (c, x)", 4,
     F},
    {"six dimensions", "float[N,2,1,3,1,5] x, float[2,3,1,4,1] z => float[A,B,C,D,E,G] y", "",
     "a = Sub (x, z) b = Softmax <axis = 3> (a) y = Transpose <perm = [5,0,4,1,3,2]> (b)", 3, F},
    {"seven dimensions", "float[N,1,1,1,1,1,2] x => float[A,B,C,D,E,G,H] y", "", "y = Neg (x)", 0, F},
    {"one input, twice", "float[N,4,9,11] x => float[A,B,C,D] y, float[A,B,C,D] z", "w:f=6,4,1,1",
     "c = Conv (x, w) y = Concat <axis = 1> (c) z = Mul (c, c)", 3, F},
    {"outputs that are read", "float[N,4,9,11] x => float[A,B,C,D] c, float[A,B,C,D] a, float[A,B,C,D] y",
     "w:f=6,4,1,1", "c = Conv (x, w) a = Abs (c) y = Add (a, c)", 3, F},
    {"constants beside a Conv", IMAGE, "w:f=6,4,3,3;b:f=6,1,1;c:f=1;d:f=7,9",
     "v = Conv (x, w) e = Mul (v, b) f = Add (e, c) g = Sub (d, f) y = Relu (g)", 5, F},
    {"a vector beside a Conv", "float[N,4,9,11] x, float[9] z => float[A,B,C,D] y", "w:f=6,4,3,3",
     "v = Conv (x, w) y = Mul (v, z)", 2, F},
    {"Pad", IMAGE, "p:pads=", "w = Relu (x) y = Pad (w, p)", 2, 0},
    {"Pad of edges", "float[2,4,9,11] x => float[A,B,C,D] y", "p:pads=", "y = Pad <mode = \"edge\"> (x, p)", 0, 0},
    {"Concat of channels", IMAGE, "w:f=6,4,1,1", "c = Conv (x, w) y = Concat <axis = 1> (c, x, c)", 2, F},
    {"Concat of rows", IMAGE, "w:f=4,4,1,1", "c = Conv (x, w) y = Concat <axis = -2> (x, c)", 2, F},
    {"Split", "float[N,4,9,11] x => float[A,B,C,D] y, float[A,B,C,D] z", "w:f=6,4,1,1",
     "c = Conv (x, w) y, z = Split <axis = 1> (c)", 2, F},
    {"Transpose", IMAGE, "w:f=6,4,1,1", "c = Conv (x, w) y = Transpose <perm = [0,2,3,1]> (c)", 2, F},
    {"Transpose, all turned", IMAGE, "", "y = Transpose (x)", 1, 0},
    {"DepthToSpace", IMAGE, "", "y = DepthToSpace <blocksize = 2> (x)", 1, 0},
    {"DepthToSpace, CRD", IMAGE, "w:f=12,4,1,1", "c = Conv (x, w) y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (c)",
     2, F},
    {"QDQ Conv, unsigned with signed channels", "uint8[N,4,9,11] q => float[A,B,C,D] y",
     "s:one=;z:u8=;w:i8=6,4,3,3;ws:p=6;wz:zero6=;b:f=6;ys:one=;yz:u8=", QDQ_CONV(""), 6, ONE_STEP},
    {"QDQ Conv, one scale", "int8[N,4,9,11] q => float[A,B,C,D] y",
     "s:one=;z:i8=;w:i8=6,4,3,3;ws:p=;wz:zero=;b:f=6;ys:one=;yz:i8=", QDQ_CONV("<pads = [1,1,1,1]>"), 6, ONE_STEP},
    {"QDQ Conv, unsigned weights", "uint8[N,4,9,11] q => float[A,B,C,D] y",
     "s:one=;z:u8=;w:u8=6,4,3,3;ws:p=;wz:u8=;b:f=6;ys:one=;yz:u8=", QDQ_CONV(""), 6, ONE_STEP},
    {"QDQ Conv, scales that the library asserts against", "uint8[N,4,9,11] q => float[A,B,C,D] y",
     "s:one=;z:u8=;w:i8=6,4,3,3;ws:tiny=;wz:zero=;b:null6=;ys:one=;yz:u8=", QDQ_CONV(""), 6, ONE_STEP},
    {"QLinearConv, scales that the library asserts against", "uint8[N,4,9,11] x => float[A,B,C,D] y",
     "s:one=;z:u8=;w:u8=6,4,3,3;ws:tiny=;wz:u8=;ys:one=;yz:u8=",
     "q = QLinearConv (x, s, z, w, ws, wz, ys, yz) y = Cast <to = 1> (q)", 0, ONE_STEP},
    {"constants of no elements", "float[3,4] x => float[A,B] y", "c:none=", "d = Concat <axis = 1> (x, c) y = Relu (d)",
     2, 0},
    {"QLinearConv, signed", "int8[N,4,9,11] x => float[A,B,C,D] y",
     "s:p=;z:i8=;w:i8=6,4,3,3;ws:p=6;wz:zero6=;ys:p=;yz:i8=;b:i32=6",
     "q = QLinearConv <pads = [1,0,2,1]> (x, s, z, w, ws, wz, ys, yz, b) y = Cast <to = 1> (q)", 1, ONE_STEP},
    {"QLinearConv, unsigned", "uint8[N,4,9,11] x => float[A,B,C,D] y",
     "s:p=;z:u8=;w:u8=6,4,3,3;ws:p=;wz:u8=;ys:p=;yz:u8=",
     "q = QLinearConv (x, s, z, w, ws, wz, ys, yz) y = Cast <to = 1> (q)", 1, ONE_STEP},
    {"QDQ Add and GlobalAveragePool", "uint8[N,4,9,11] a, uint8[N,4,9,11] b => float[A,B,C,D] y",
     "s:p=;z:u8=;t:p=;ys:p=;yz:u8=",
     "d = DequantizeLinear (a, s, z) e = DequantizeLinear (b, t, z) f = Add (d, e) r = Relu (f) q = QuantizeLinear (r, "
     "ys, yz)"
     " g = DequantizeLinear (q, ys, yz) p = GlobalAveragePool (g) h = QuantizeLinear (p, ys, yz) y = DequantizeLinear "
     "(h, ys, yz)",
     9, ONE_STEP},
    {"float16", "float16[N,4,9,11] x => float[A,B,C,D] y, float16[A,B,C,D] a", "w:h=6,4,3,3;b:h=6;m:h=;k:h=6,1,1",
     "c = Conv (x, w, b) d = Clip (c, m) a = Mul (d, k) e = MaxPool <kernel_shape = [2,2]> (a) f = Concat <axis = 1> "
     "(e, e) g = Transpose (f) y = Cast <to = 1> (g)",
     6, HALVES},
    {"float16, a product", "float16[N,7] x => float[A,B] y", "w:h=7,5;b:h=5",
     "m = MatMul (x, w) a = Add (m, b) r = Relu (a) y = Cast <to = 1> (r)", 3, HALVES},
    {"QLinearMatMul", "uint8[N,3,7] x => float[A,B,C] y", "s:p=;z:u8=;w:i8=7,5;ws:p=;wz:i8=;ys:p=;yz:u8=",
     "q = QLinearMatMul (x, s, z, w, ws, wz, ys, yz) y = Cast <to = 1> (q)", 1, ONE_STEP},
    {"QLinearMatMul, scales of columns", "int8[N,3,7] x => float[A,B,C] y",
     "s:p=;z:i8=;w:i8=7,6;ws:p=6;wz:zero6=;ys:p=;yz:i8=",
     "q = QLinearMatMul (x, s, z, w, ws, wz, ys, yz) y = Cast <to = 1> (q)", 0, ONE_STEP},
    {"QDQ Sigmoid", BYTES, "s:p=;z:u8=;ys:256=;yz:u0=", QDQ("c = Sigmoid (d)"), 4, ONE_STEP},
    {"QDQ Sigmoid of other scales", BYTES, "s:p=;z:u8=;ys:p=;yz:u0=", QDQ("c = Sigmoid (d)"), 4, ONE_STEP},
    {"QDQ Tanh", BYTES, "s:p=;z:u8=;ys:128=;yz:u128=", QDQ("c = Tanh (d)"), 4, ONE_STEP},
    {"QDQ Tanh, signed", SIGNED, "s:p=;z:i8=;ys:128=;yz:zero=", QDQ("c = Tanh (d)"), 4, ONE_STEP},
    {"QDQ Tanh of other scales", BYTES, "s:p=;z:u8=;ys:p=;yz:u128=", QDQ("c = Tanh (d)"), 3, ONE_STEP},
    {"Tanh", IMAGE, "", "y = Tanh (x)", 0, F},
    {"Tanh that others read", "uint8[N,4,9,11] q => float[A,B,C,D] y, float[A,B,C,D] c",
     "s:p=;z:u8=;ys:128=;yz:u128=", QDQ("c = Tanh (d)"), 3, ONE_STEP},
    {"Tanh, out of order", "uint8[N,4,9,11] q => float[A,B,C,D] y", "s:p=;z:u8=;ys:128=;yz:u128=",
     "t = QuantizeLinear (c, ys, yz) e = DequantizeLinear (t, ys, yz) y = Add (e, k) c = Tanh (d)"
     " d = DequantizeLinear (q, s, z) r = Relu (d) k = Erf (r)",
     6, ONE_STEP},
    {"QDQ Elu", SIGNED, "s:p=;z:i8=;ys:p=;yz:i8=", QDQ("c = Elu <alpha = 0.5> (d)"), 4, ONE_STEP},
    {"QDQ LeakyRelu", BYTES, "s:p=;z:u8=;ys:p=;yz:u8=", QDQ("c = LeakyRelu <alpha = 0.2> (d)"), 4, ONE_STEP},
    {"QDQ LeakyRelu, signed", SIGNED, "s:p=;z:i8=;ys:p=;yz:i8=", QDQ("c = LeakyRelu (d)"), 4, ONE_STEP},
    {"QDQ LeakyRelu that is steep", BYTES, "s:p=;z:u8=;ys:p=;yz:u8=", QDQ("c = LeakyRelu <alpha = 1.5> (d)"), 4,
     ONE_STEP},
    {"QDQ Softmax", BYTES, "s:p=;z:u8=;ys:256=;yz:u0=", QDQ("c = Softmax (d)"), 4, ONE_STEP},
    {"QDQ Softmax of large logits", BYTES, "s:one=;z:u8=;ys:256=;yz:u0=", QDQ("c = Softmax (d)"), 4, ONE_STEP},
    {"QDQ Softmax, signed", SIGNED, "s:p=;z:i8=;ys:256=;yz:low=", QDQ("c = Softmax (d)"), 4, ONE_STEP},
    {"QDQ Softmax of channels", BYTES, "s:p=;z:u8=;ys:256=;yz:u0=", QDQ("c = Softmax <axis = 1> (d)"), 4, ONE_STEP},
    {"QDQ Relu", BYTES, SAME, QDQ("c = Relu (d)"), 4, 0},
    {"QDQ Clip", SIGNED, "s:p=;z:i8=;ys:same=;yz:same8=;m:p=", QDQ("c = Clip (d, , m)"), 4, 0},
    {"QDQ Relu of other scales", BYTES, "s:p=;z:u8=;ys:p=;yz:u8=", QDQ("c = Relu (d)"), 4, ONE_STEP},
    {"QDQ MaxPool", BYTES, SAME, QDQ("c = MaxPool <kernel_shape = [3,2], pads = [1,0,1,1]> (d)"), 4, 0},
    {"QDQ MaxPool of other scales", BYTES, "s:p=;z:u8=;ys:p=;yz:u8=", QDQ("c = MaxPool <kernel_shape = [2,2]> (d)"), 4,
     ONE_STEP},
    {"QDQ AveragePool", BYTES, "s:p=;z:u8=;ys:p=;yz:u8=", QDQ("c = AveragePool <kernel_shape = [2,2]> (d)"), 4,
     ONE_STEP},
    {"QDQ AveragePool of nine", SIGNED,
     "s:p=;z:i8=;ys:p=;yz:i8=", QDQ("c = AveragePool <kernel_shape = [3,3], strides = [2,1]> (d) "), 4, ONE_STEP},
    {"QDQ AveragePool of the same scale", BYTES, SAME, QDQ("c = AveragePool <kernel_shape = [2,2]> (d)"), 4, ONE_STEP},
    {"QDQ AveragePool with pads", BYTES,
     "s:p=;z:u8=;ys:p=;yz:u8=", QDQ("c = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1]> (d)"), 4, ONE_STEP},
    {"QLinearSigmoid", BYTES, "s:p=;z:u8=;ys:256=;yz:u0=", QLINEAR("QLinearSigmoid (q, s, z, ys, yz)"), 2, ONE_STEP},
    {"QLinearSigmoid of other scales", BYTES, "s:p=;z:u8=;ys:p=;yz:u0=", QLINEAR("QLinearSigmoid (q, s, z, ys, yz)"), 1,
     ONE_STEP},
    {"QLinearLeakyRelu", SIGNED, "s:p=;z:i8=;ys:p=;yz:i8=", QLINEAR("QLinearLeakyRelu <alpha = 0.3> (q, s, z, ys, yz)"),
     2, ONE_STEP},
    {"QLinearSoftmax", BYTES, "s:p=;z:u8=;ys:256=;yz:u0=", QLINEAR("QLinearSoftmax <opset = 17> (q, s, z, ys, yz)"), 2,
     ONE_STEP},
    {"QLinearSoftmax of rows", BYTES,
     "s:p=;z:u8=;ys:256=;yz:u0=", QLINEAR("QLinearSoftmax <opset = 17, axis = 2> (q, s, z, ys, yz)"), 1, ONE_STEP},
    {"QLinearAveragePool", BYTES, "s:p=;z:u8=;ys:p=;yz:u8=",
     QLINEAR("QLinearAveragePool <kernel_shape = [2,3], strides = [2,2]> (q, s, z, ys, yz)"), 2, ONE_STEP},
    {"QLinearAveragePool of the same scale", BYTES, SAME,
     QLINEAR("QLinearAveragePool <kernel_shape = [2,3]> (q, s, z, ys, yz)"), 2, ONE_STEP},
    {"QLinearGlobalAveragePool", SIGNED,
     "s:p=;z:i8=;ys:p=;yz:i8=", QLINEAR("QLinearGlobalAveragePool (q, s, z, ys, yz)"), 2, ONE_STEP},
    {"QLinearGlobalAveragePool of an even area", "uint8[N,4,2,11] q => float[A,B,C,D] y", SAME,
     QLINEAR("QLinearGlobalAveragePool (q, s, z, ys, yz)"), 1, 0},
    {"QLinearAdd", "uint8[N,4,9,11] q, uint8[4,1,11] r => float[A,B,C,D] y",
     "s:p=;z:u8=;rs:p=;rz:u8=;ys:p=;yz:u8=", QLINEAR("QLinearAdd (q, s, z, r, rs, rz, ys, yz)"), 2, ONE_STEP},
    {"QLinearMul", "int8[N,4,9,11] q, int8[N,4,9,11] r => float[A,B,C,D] y",
     "s:p=;z:i8=;rs:p=;rz:i8=;ys:p=;yz:i8=", QLINEAR("QLinearMul (q, s, z, r, rs, rz, ys, yz)"), 2, ONE_STEP},
    {"what is quantized for others", "float[N,4,9,11] x => float[A,B,C,D] y", "s:p=;z:u8=;w:f=3,4,1,1",
     "q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Conv (d, w)", 3, F},
};

/* ---- models ---- */

static char text[1 << 16];
static uint32_t seed;
static double first_scale; /* of the initializers so far: the first p, the first scalar of bytes */
static int first_zero;
enum { NONE = 1000 };
static bool first_signed;

static double next(void) { /* in [0, 1) */
  seed = seed * 1664525u + 1013904223u;
  return (double)(seed >> 8) / (1 << 24);
}

static void add(const char *format, ...) {
  va_list args;
  size_t n = strlen(text);
  va_start(args, format);
  vsnprintf(text + n, sizeof text - n, format, args);
  va_end(args);
  assert_true(strlen(text) + 1 < sizeof text);
}

/* NAME:TYPE=DIMS of one initializer. */
static void add_init(const char *item) {
  char name[16], type[16];
  size_t n = 1;
  assert_int_equal(sscanf(item, "%15[^:]:%15[^=]", name, type), 2);
  const char *dims = strchr(item, '=') + 1;
  if (strcmp(type, "one") == 0) add("float %s = {0.5}", name);
  if (strcmp(type, "tiny") == 0) add("float %s = {1e-20}", name);
  if (strcmp(type, "null6") == 0) add("float[6] %s = {0,0,0,0,0,0}", name);
  if (strcmp(type, "none") == 0) add("float[3,0] %s = {}", name);
  if (strcmp(type, "128") == 0) add("float %s = {0.0078125}", name);
  if (strcmp(type, "256") == 0) add("float %s = {0.00390625}", name);
  if (strcmp(type, "same") == 0) add("float %s = {%.6f}", name, first_scale);
  if (strcmp(type, "u0") == 0) add("uint8 %s = {0}", name);
  if (strcmp(type, "u128") == 0) add("uint8 %s = {128}", name);
  if (strcmp(type, "low") == 0) add("int8 %s = {-128}", name);
  if (strcmp(type, "same8") == 0) add("%s %s = {%d}", first_signed ? "int8" : "uint8", name, first_zero);
  if (strcmp(type, "zero") == 0) add("int8 %s = {0}", name);
  if (strcmp(type, "zero6") == 0) add("int8[6] %s = {0,0,0,0,0,0}", name);
  if (strcmp(type, "pads") == 0) add("int64[8] %s = {0,1,2,0,1,0,0,3}", name);
  if (strcmp(type, "scales2") == 0) add("float[4] %s = {1,1,2,3}", name);
  static const char *const types[][2] = {{"f", "float"}, {"p", "float"},  {"h", "float16"},
                                         {"i8", "int8"}, {"u8", "uint8"}, {"i32", "int32"}};
  for (size_t t = 0; t < OX_COUNT(types); t++) {
    if (strcmp(type, types[t][0]) != 0) continue;
    if (*dims)
      add("%s[%s] %s = {", types[t][1], dims, name);
    else
      add("%s %s = {", types[t][1], name);
    for (const char *at = dims; *at; at += *at == ',') n *= strtoul(at, (char **)&at, 10);
    for (size_t i = 0; i < n; i++) {
      double v = next();
      add(i ? ", " : "");
      if (t == 0 || t == 2) add("%.6f", 2 * v - 1);
      if (t == 1) add("%.6f", 0.01 + 0.01 * v);
      if (t == 3) add("%d", (int)(v * 255) - 127);
      if (t == 4) add("%d", (int)(v * 255));
      if (t == 1 && !first_scale) first_scale = 0.01 + 0.01 * v;
      if ((t == 3 || t == 4) && first_zero == NONE)
        first_zero = (int)(v * 255) - (t == 3 ? 127 : 0), first_signed = t == 3;
      if (t == 5) add("%d", (int)(v * 2000) - 1000);
    }
    add("}");
  }
}

static void make(const row *r) {
  seed = 1, first_scale = 0, first_zero = NONE;
  const char *arrow = strstr(r->io, " => ");
  *text = 0;
  add("<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (%.*s) => (%s)", (int)(arrow - r->io), r->io,
      arrow + 4);
  char list[256], *rest = list;
  snprintf(list, sizeof list, "%s", r->inits);
  add("%s", *list ? " <" : "");
  for (char *item = strtok_r(list, ";", &rest); item; item = strtok_r(NULL, ";", &rest)) {
    if (item != list) add(", ");
    add_init(item);
  }
  add("%s { %s }", *r->inits ? "> " : " ", r->nodes);
}

/* ---- sessions ---- */

static size_t count_theirs(const ox_session *s) {
  ox_placement p;
  size_t n = 0;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) n += strcmp(p.owner, "xnnpack") == 0;
  return n;
}

/* How many nodes more the library's API of 2024 has than that of 2022, or fewer. */
static int n_newer(const char *what) {
  static const struct {
    const char *what;
    int n;
  } newer[] = {{"Exp", 1},
               {"Tanh", 1},
               {"Tanh that others read", 1},
               {"QDQ Tanh of other scales", 1},
               {"QLinearSigmoid of other scales", 1},
               {"QLinearLeakyRelu", -1},
               {"AveragePool of few rows", -1},
               {"AveragePool of few rows, pads from the shape", -1},
               {"QLinearAveragePool", XNNPACK_AVERAGES_BYTES - 1},
               {"QLinearAveragePool of the same scale", XNNPACK_AVERAGES_BYTES - 1}};
  for (size_t i = 0; i < OX_COUNT(newer) && XNNPACK_API >= 2024; i++)
    if (strcmp(newer[i].what, what) == 0) return newer[i].n;
  return 0;
}

/* |others|: operators that another provider is asked about first. */
static void check(const row *r, uint32_t level, uint32_t threads, const char *others) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  const char *key = "ops";
  size_t n_theirs = (size_t)((int)r->n_theirs + n_newer(r->what));
  const ox_provider_spec specs[] = {{"echo", {1, &key, &others}}, {"xnnpack", {0}}};
  ox_session_opts so;
  ox_env *env;
  ox_session *s;
  make(r);
  ox_session_opts_init(&so);
  so.providers = others ? specs : specs + 1, so.n_providers = others ? 2 : 1;
  so.optimize = level, so.n_threads = threads;
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(ox_env_load_plugin(env, XNNPACK_PLUGIN));
  if (others) CHECK_OK(ox_env_add_provider(env, echo_ep()));
  ox_status *st = text_session(env, text, &so, &s);
  if (st) fail_msg("%s: %s", r->what, ox_status_message(st));
  if (level == OX_OPTIMIZE_NONE && !others && count_theirs(s) != n_theirs)
    fail_msg("%s: xnnpack has %zu nodes, not %zu", r->what, count_theirs(s), n_theirs);
  for (int64_t batch = 3; batch >= 0; batch--) {
    ep_inputs in;
    ep_outputs want, got;
    ep_cpu_outputs(text, level, batch, &want);
    ep_inputs_make(env, s, batch, &in);
    for (int run = 0; run < 2; run++) {
      st = ep_run(s, &in, &got);
      if (st) fail_msg("%s, batch %d: %s", r->what, (int)batch, ox_status_message(st));
      ep_outputs_compare(r->what, &want, &got, r->tolerance);
      ep_outputs_free(&got);
    }
    ep_outputs_free(&want);
    ep_inputs_free(&in);
  }
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
}

static void test_operators_are_the_cpus(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    check(&rows[i], OX_OPTIMIZE_NONE, 1, NULL);
    check(&rows[i], OX_OPTIMIZE_BASIC, 2, NULL);
  }
}

/* An operator may find what it is between with somebody else. */
static void test_beside_another_provider(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    check(&rows[i], OX_OPTIMIZE_NONE, 1, "QuantizeLinear");
    check(&rows[i], OX_OPTIMIZE_NONE, 1, "DequantizeLinear");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators_are_the_cpus),
                                     cmocka_unit_test(test_beside_another_provider)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
