/* SPDX-License-Identifier: Apache-2.0
 * graph/dtype.h - facts about element types (onnx.proto TensorProto.DataType). */
#ifndef OX_GRAPH_DTYPE_H
#define OX_GRAPH_DTYPE_H

#include <stdbool.h>

#include "onyx/op.h"

/* "float32", "int4" ...; ONNX's names in lower case; "undefined" for what is unknown. */
const char *ox_dtype_name(uint32_t dtype);
/* The dtype of that name (also numpy's, e.g. "float32"), or OX_UNDEFINED. */
uint32_t ox_dtype_find(const char *name);
/* Bits of one element (4 for int4, 8 * sizeof(ox_str) for strings); 0 for an unknown type. */
unsigned ox_dtype_bits(uint32_t dtype);
/* Bytes of |count| elements; sub-byte types round up. False on overflow, a negative count or an unknown type. */
bool ox_dtype_bytes(uint32_t dtype, int64_t count, size_t *out_bytes);
bool ox_dtype_is_float(uint32_t dtype);   /* includes f16, bf16 and the 8-bit and 4-bit floats */
bool ox_dtype_is_signed(uint32_t dtype);

/* "tensor", "sequence" ...: an ox_kind for messages; "unknown" for another number. */
const char *ox_kind_name(uint32_t kind);

/* Scalar conversions; the narrowing ones round to nearest even. NaN stays NaN. */
float ox_f16_to_f32(uint16_t h);
uint16_t ox_f16_from_f32(float f);
float ox_bf16_to_f32(uint16_t h);
uint16_t ox_bf16_from_f32(float f);

#endif
