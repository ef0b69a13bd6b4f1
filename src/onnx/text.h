/* SPDX-License-Identifier: Apache-2.0
 * onnx/text.h - ONNX's textual syntax: models that people can read and write.
 *
 *   <ir_version: 8, opset_import: ["" : 17]>
 *   agraph (float[N, 3] x, float[3] bias = {1, 2, 3}) => (float[N, 4] y)
 *   <float[3, 4] w = {...}, float[N, 4] h>
 *   { h = MatMul (x, w)   y = com.microsoft.Gelu <approximate = "tanh"> (h) }
 *
 * As in ONNX: "float" is a scalar, "float[]" a tensor of unknown rank; numbers of 16-bit, 8-bit and 6-bit floats are
 * their bit patterns, those of 4-bit and 2-bit types are bytes of packed elements. Additions: a number with a point or
 * exponent is taken by value for float16 and bfloat16; lists may hold tensors, graphs and types; domains and operators
 * may be quoted; sparse_tensor(float[9]) {float[1] {5}, int64[1] {3}} is a sparse tensor; a model without a header has
 * ir_version 10 and operator set 21. */
#ifndef OX_ONNX_TEXT_H
#define OX_ONNX_TEXT_H

#include "graph/graph.h"
#include "base/sink.h"

/* Reads a model; nothing is borrowed from |text|, |registry| is the model's (ox_model_create). Errors: INVALID_MODEL;
 * syntax errors begin with line:column. */
OX_NODISCARD ox_status *ox_text_read(ox_alloc alloc, const ox_registry *registry, const char *text, size_t n,
                                     ox_model **out_model);
/* Writes |m|: live nodes in topological order. ox_text_read gives an equal model, and onnx.parser too if all names of
 * operators are identifiers. Errors: the sink's; INVALID_MODEL; OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_text_write(const ox_model *m, ox_sink sink);
/* The same for people: constants of more than |max_elements| elements end in "..." and cannot be read back. */
OX_NODISCARD ox_status *ox_text_write_short(const ox_model *m, size_t max_elements, ox_sink sink);

#endif
