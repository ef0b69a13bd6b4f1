/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_words.c - the words of the textual syntax, for reader and writer. */
#include <string.h>

#include "graph/dtype.h"
#include "onnx/text/text_parse.h"

const char *ox_text_dtype_name(uint32_t dtype) {
  return dtype == OX_F32 ? "float" : dtype == OX_F64 ? "double" : ox_dtype_name(dtype);
}

uint32_t ox_text_dtype_find(ox_str word) {
  for (uint32_t i = 1; i < OX_DTYPE_COUNT; i++)
    if (ox_str_is(word, ox_text_dtype_name(i))) return i;
  return OX_UNDEFINED;
}

static const char *const attr_kinds[] = {
    NULL,      "float",   "int",    "string",        "tensor",         "graph",      "floats",     "ints",
    "strings", "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};

const char *ox_text_attr_kind_name(uint32_t kind) {
  return kind && kind < OX_COUNT(attr_kinds) ? attr_kinds[kind] : "undefined";
}

uint32_t ox_text_attr_kind_find(ox_str word) {
  for (uint32_t i = 1; i < OX_COUNT(attr_kinds); i++)
    if (ox_str_is(word, attr_kinds[i])) return i;
  return 0;
}
