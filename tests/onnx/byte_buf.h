/* SPDX-License-Identifier: Apache-2.0
 * onnx/byte_buf.h - a sink that collects bytes, and models from text, for the tests of the model format. */
#ifndef OX_TESTS_BYTE_BUF_H
#define OX_TESTS_BYTE_BUF_H

#include <stdlib.h>
#include <string.h>

#include "onnx/model.h"
#include "onnx/proto/wire_out.h"
#include "onnx/text.h"
#include "onnx/write.h"
#include "support/check.h"
#include "support/counting_alloc.h"

typedef struct byte_buf {
  unsigned char *p;
  size_t n;
} byte_buf;

static inline ox_status *byte_buf_write(void *ctx, const void *bytes, size_t n) {
  byte_buf *b = ctx;
  b->p = realloc(b->p, b->n + n + 1);
  if (n) memcpy(b->p + b->n, bytes, n);
  b->n += n, b->p[b->n] = 0;
  return NULL;
}
static inline ox_sink byte_buf_sink(byte_buf *b) { return (ox_sink){byte_buf_write, b}; }
static inline void byte_buf_free(byte_buf *b) { free(b->p), *b = (byte_buf){0}; }

/* What |o| holds; frees it. */
static inline byte_buf byte_buf_of(ox_wire_out *o) {
  byte_buf b = {0};
  CHECK_OK(ox_wire_out_flush(o, byte_buf_sink(&b)));
  ox_wire_out_deinit(o);
  if (!b.p) b.p = calloc(1, 1);
  return b;
}

static inline ox_model *model_of_text(const char *text) {
  ox_model *m;
  CHECK_OK(ox_text_read(ox_alloc_heap(), NULL, text, strlen(text), &m));
  return m;
}

static inline byte_buf bytes_of_text(const char *text) {
  byte_buf b = {0};
  ox_model *m = model_of_text(text);
  CHECK_OK(ox_model_write(m, byte_buf_sink(&b)));
  ox_model_destroy(m);
  return b;
}

/* A small model with a bit of everything. */
#define RICH_MODEL                                                                                                    \
  "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1], producer_name: \"p\", metadata_props: [\"k\": \"v\"]>"       \
  "rich (bool c, float[N, 3] x, int64[1] d = {7}) => (float[N, 3] y, seq(float[N]) q, optional(int32) o)"             \
  "<float[3] w = {1, -2.5, nan}, string[2] s = {\"a\", \"b\\\"c\"}, float[N, 3] t, map(string, float[]) m,"           \
  " float16[2] h = {1.5, 2.0}, uint4[3] u = {33, 1}, bool[2] b = {1, 0}> {"                                           \
  " [first] t = Add (x, w)"                                                                                           \
  " r = f.act <alpha = 0.5> (t)"                                                                                      \
  " y = If (c) <then_branch = th () => (float[N, 3] a) <float k = {2}> { a = Mul (r, k) },"                           \
  "             else_branch = el () => (e) { e = Loop (, c, r) <body = lb (i, lc, v) => (lc, z) { z = Add (v, t) }> " \
  "}>"                                                                                                                \
  " q = SequenceEmpty <dtype = 1> ()"                                                                                 \
  " o = Optional <type = int32> ()"                                                                                   \
  " = Sink <i = 1, ii: ints = [], fs = [1.0, inf], ss = [\"x\", \"\"], t = int8[2] {1, 2}, ts = [int8[1] {1}],"       \
  " tp = seq(float[]), sp = sparse_tensor(float[9]) {float[1] {5}, int64[1] {3}}> (s, h, u, b, d)"                    \
  "}"                                                                                                                 \
  "<opset_import: [\"\" : 17], domain: \"f\"> act <alpha, beta: float = 2.0> (a) => (b)"                              \
  " { n = LeakyRelu <alpha: float = @alpha> (a) b = Elu <alpha: float = @beta> (n) }"

#endif
