/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_parse.h - what the files of the text reader share (private to onnx/). The reader translates text to
 * ModelProto bytes and lets the model reader do the rest: names, order and limits are checked in one place. */
#ifndef OX_ONNX_TEXT_PARSE_H
#define OX_ONNX_TEXT_PARSE_H

#include "onnx/proto/wire_out.h"
#include "onnx/text/text_lex.h"
#include "onyx/ep.h"

typedef struct ox_text {
  ox_lex lex;
  ox_wire_out out;
  uint32_t depth;
} ox_text;

/* What a tensor literal must know about the type in front of it. */
typedef struct ox_text_type {
  bool is_tensor, is_sparse, has_shape, is_numeric; /* is_numeric: all dimensions are numbers */
  uint32_t dtype;
  int32_t rank;
  int64_t dim[OX_MAX_RANK];
} ox_text_type;

OX_NODISCARD ox_status *ox_text_enter(ox_text *t);
static inline void ox_text_leave(ox_text *t) { t->depth--; }
bool ox_text_at_type(ox_text *t);
/* Each of these writes one message as field |number|. */
OX_NODISCARD ox_status *ox_text_type_read(ox_text *t, uint32_t number, ox_text_type *out_type);
OX_NODISCARD ox_status *ox_text_tensor(ox_text *t, uint32_t number, ox_str name, const ox_text_type *type);
OX_NODISCARD ox_status *ox_text_sparse(ox_text *t, uint32_t number, const ox_text_type *type);
OX_NODISCARD ox_status *ox_text_props(ox_text *t, uint32_t number); /* "key": "value", ... ] */
OX_NODISCARD ox_status *ox_text_attr(ox_text *t, uint32_t number, ox_str name);
OX_NODISCARD ox_status *ox_text_graph(ox_text *t, uint32_t number, ox_str name);

/* ONNX's word for an element type ("float", "int64"), and back (OX_UNDEFINED: not one). */
const char *ox_text_dtype_name(uint32_t dtype);
uint32_t ox_text_dtype_find(ox_str word);
/* The word for a kind of attributes ("ints"), and back (0: not one). */
const char *ox_text_attr_kind_name(uint32_t kind);
uint32_t ox_text_attr_kind_find(ox_str word);

#endif
