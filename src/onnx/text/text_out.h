/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_out.h - pieces of the textual syntax, written through a buffer (private to onnx/). */
#ifndef OX_ONNX_TEXT_OUT_H
#define OX_ONNX_TEXT_OUT_H

#include "graph/graph.h"
#include "base/sink.h"

typedef struct ox_text_out {
  ox_sink sink;
  ox_status *st; /* the first error; nothing is written after it */
  size_t max_elements;
  uint32_t indent;
  size_t n;
  char buf[4096];
} ox_text_out;

OX_PRINTF(2, 3) void ox_text_put(ox_text_out *o, const char *fmt, ...); /* pieces of up to 256 bytes */
void ox_text_puts(ox_text_out *o, const char *s, size_t n);
void ox_text_line(ox_text_out *o); /* a new line, indented */
void ox_text_flush(ox_text_out *o);

void ox_text_put_quoted(ox_text_out *o, ox_str s);
void ox_text_put_name(ox_text_out *o, const char *name); /* quoted if it is not an identifier */
bool ox_text_is_ident(const char *s, size_t n);
void ox_text_put_float(ox_text_out *o, float f); /* always with a point, an exponent or a word */
/* False if the syntax cannot express the type: its element type is unknown. */
bool ox_text_can_type(const ox_type *t);
void ox_text_put_type(ox_text_out *o, const ox_model *m, const ox_type *t);
/* "float[2] w = {1, 2}"; |name| NULL: without a name. Sparse tensors too. */
void ox_text_put_tensor(ox_text_out *o, const ox_tensor *t, const char *name);

#endif
