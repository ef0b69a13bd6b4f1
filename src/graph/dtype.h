/* SPDX-License-Identifier: Apache-2.0
 * graph/dtype.h - facts about element types (onnx.proto TensorProto.DataType). */
#ifndef OX_GRAPH_DTYPE_H
#define OX_GRAPH_DTYPE_H

#include <stdbool.h>

#include "onyx/ep.h"

#define OX_BIT(dtype) ((uint32_t)1 << (dtype))

/* Sets of element types, for ox_op_def.types. */
enum {
  OX_T_FLOAT16S = OX_BIT(OX_F16) | OX_BIT(OX_BF16),
  OX_T_FLOAT = OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_T_FLOAT16S,
  OX_T_SINT = OX_BIT(OX_I8) | OX_BIT(OX_I16) | OX_BIT(OX_I32) | OX_BIT(OX_I64),
  OX_T_UINT = OX_BIT(OX_U8) | OX_BIT(OX_U16) | OX_BIT(OX_U32) | OX_BIT(OX_U64),
  OX_T_INT = OX_T_SINT | OX_T_UINT,
  OX_T_NUMBER = OX_T_FLOAT | OX_T_INT,
  OX_T_COMPLEX = OX_BIT(OX_C64) | OX_BIT(OX_C128),
  OX_T_FLOAT8 = OX_BIT(OX_F8E4M3FN) | OX_BIT(OX_F8E4M3FNUZ) | OX_BIT(OX_F8E5M2) | OX_BIT(OX_F8E5M2FNUZ) | OX_BIT(OX_F8E8M0),
  OX_T_SUBBYTE = OX_BIT(OX_U4) | OX_BIT(OX_I4) | OX_BIT(OX_F4E2M1) | OX_BIT(OX_U2) | OX_BIT(OX_I2),
  OX_T_FLOAT6 = OX_BIT(OX_F6E2M3) | OX_BIT(OX_F6E3M2),
  OX_T_INDEX = OX_BIT(OX_I32) | OX_BIT(OX_I64),
  /* all but float6, which the standard allows in casts, quantization and optionals only */
  OX_T_ALL = (1 << OX_F6E2M3) - 2
};

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

/* Scalar conversions; the narrowing ones round to nearest even. NaN stays NaN. */
float ox_f16_to_f32(uint16_t h);
uint16_t ox_f16_from_f32(float f);
float ox_bf16_to_f32(uint16_t h);
uint16_t ox_bf16_from_f32(float f);

#endif
