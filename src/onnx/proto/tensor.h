/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/tensor.h - TensorProto and SparseTensorProto to ox_tensor. Raw and packed data of fixed width is borrowed
 * from the bytes read (it may be unaligned there), the rest is decoded into an arena. */
#ifndef OX_ONNX_PROTO_TENSOR_H
#define OX_ONNX_PROTO_TENSOR_H

#include "base/arena.h"
#include "onnx/proto/external_data.h"
#include "onnx/proto/given.h"
#include "onnx/proto/wire.h"

typedef struct ox_tensor_reader {
  ox_arena *arena;
  ox_external *external; /* NULL: external data is an error */
  ox_givens *given;      /* contents in place of those in the bytes; NULL: none */
} ox_tensor_reader;

/* |out_name| (may be NULL) borrows from |bytes|. Errors: INVALID_MODEL naming the tensor, NOT_IMPLEMENTED, LIMIT. */
OX_NODISCARD ox_status *ox_tensor_read(const ox_tensor_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name);
/* A tensor of kind OX_SPARSE; its name is that of its values. Indices are checked against the shape. */
OX_NODISCARD ox_status *ox_sparse_read(const ox_tensor_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name);
/* The bytes of |sparse| as a dense tensor. Error: LIMIT if no memory could hold them. */
OX_NODISCARD ox_status *ox_sparse_dense_bytes(const ox_tensor *sparse, size_t *out_bytes);
/* The dense tensor that |sparse| stands for, in the arena. */
OX_NODISCARD ox_status *ox_sparse_densify(const ox_tensor_reader *r, const ox_tensor *sparse, ox_tensor *out);

/* Appends one dimension, or a packed list of them. Errors: LIMIT, INVALID_MODEL. */
OX_NODISCARD ox_status *ox_read_dim(ox_shape *s, uint64_t dim);
OX_NODISCARD ox_status *ox_read_dims(ox_shape *s, ox_str packed);
/* The field of TensorProto that holds elements of |dtype| when raw_data does not: OX_TENSOR_PROTO_..._DATA. */
int ox_tensor_field(uint32_t dtype);
/* dtype of TensorProto.DataType |number|. Error: INVALID_MODEL. */
OX_NODISCARD ox_status *ox_dtype_check(uint64_t number, uint32_t *out_dtype);

/* Element |i| of a type of |bits| < 8 bits: elements lie low bits first, those of 6 bits straddle bytes. */
static inline unsigned ox_bits_get(const unsigned char *p, size_t i, unsigned bits) {
  size_t bit = i * bits;
  unsigned at = (unsigned)(bit % 8), v = (unsigned)p[bit / 8] >> at;
  if (at + bits > 8) v |= (unsigned)p[bit / 8 + 1] << (8 - at);
  return v & ((1u << bits) - 1);
}
static inline void ox_bits_set(unsigned char *p, size_t i, unsigned bits, unsigned v) {
  size_t bit = i * bits;
  unsigned at = (unsigned)(bit % 8), mask = ((1u << bits) - 1) << at;
  v = v << at & mask;
  p[bit / 8] = (unsigned char)((p[bit / 8] & ~mask) | v);
  if (at + bits > 8) p[bit / 8 + 1] = (unsigned char)((p[bit / 8 + 1] & ~(mask >> 8)) | v >> 8);
}

#endif
