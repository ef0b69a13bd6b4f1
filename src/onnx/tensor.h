/* SPDX-License-Identifier: Apache-2.0
 * onnx/tensor.h - TensorProto and SparseTensorProto to ox_tensor. Raw and packed data of fixed width is borrowed from
 * the bytes read (it may be unaligned there), the rest is decoded into an arena. */
#ifndef OX_ONNX_TENSOR_H
#define OX_ONNX_TENSOR_H

#include "base/arena.h"
#include "onnx/external_data.h"
#include "onnx/wire.h"

typedef struct ox_tensor_reader {
  ox_arena *arena;
  ox_external *external;  /* NULL: external data is an error */
  size_t max_dense_bytes; /* of a sparse tensor made dense; 0: no limit */
} ox_tensor_reader;

/* |out_name| (may be NULL) borrows from |bytes|. Errors: INVALID_MODEL naming the tensor, NOT_IMPLEMENTED, LIMIT. */
OX_NODISCARD ox_status *ox_tensor_read(const ox_tensor_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name);
/* A tensor of kind OX_SPARSE; its name is that of its values. Indices are checked against the shape. */
OX_NODISCARD ox_status *ox_sparse_read(const ox_tensor_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name);
/* The dense tensor that |sparse| stands for, in the arena. */
OX_NODISCARD ox_status *ox_sparse_densify(const ox_tensor_reader *r, const ox_tensor *sparse, ox_tensor *out);

/* Appends one dimension, or a packed list of them. Errors: LIMIT, INVALID_MODEL. */
OX_NODISCARD ox_status *ox_read_dim(ox_shape *s, uint64_t dim);
OX_NODISCARD ox_status *ox_read_dims(ox_shape *s, ox_str packed);
/* The field of TensorProto that holds elements of |dtype| when raw_data does not: 4, 5, 6, 7, 10 or 11. */
int ox_tensor_field(uint32_t dtype);
/* dtype of TensorProto.DataType |number|. Errors: INVALID_MODEL; NOT_IMPLEMENTED for the 6-bit floats. */
OX_NODISCARD ox_status *ox_dtype_check(uint64_t number, uint32_t *out_dtype);

#endif
