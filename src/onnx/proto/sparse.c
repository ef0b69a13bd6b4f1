/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/sparse.c - SparseTensorProto: checked when read, so that users of its indices need not check again. */
#include <string.h>

#include "base/cksize.h"
#include "graph/dtype.h"
#include "graph/shape.h"
#include "onnx/proto/onnx_fields.h"
#include "onnx/proto/tensor.h"

static int64_t index_at(const ox_tensor *indices, size_t i) {
  int64_t v;
  memcpy(&v, (const char *)indices->data + i * sizeof v, sizeof v); /* may be unaligned: it lies in the file */
  return v;
}

/* The row-major position that index |k| stands for, or -1 if it is outside |shape|. */
static int64_t position(const ox_tensor *indices, const ox_shape *shape, int64_t count, size_t k) {
  if (indices->shape.rank == 1) {
    int64_t at = index_at(indices, k);
    return at >= 0 && at < count ? at : -1;
  }
  int64_t at = 0;
  for (int d = 0; d < shape->rank; d++) {
    int64_t i = index_at(indices, k * (size_t)shape->rank + (size_t)d);
    if (i < 0 || i >= shape->dim[d]) return -1;
    at = at * shape->dim[d] + i; /* < count, which did not overflow */
  }
  return at;
}

static ox_status *check(const ox_tensor *sparse) {
  const ox_tensor *part = sparse->data, *values = &part[0], *indices = &part[1];
  int64_t count = ox_shape_count(&sparse->shape);
  if (count < 0) return ox_fail(OX_INVALID_MODEL, "its shape is too large");
  if (values->shape.rank != 1) return ox_fail(OX_INVALID_MODEL, "its values have rank %d, not 1", values->shape.rank);
  int64_t nnz = values->shape.dim[0];
  bool linear = indices->shape.rank == 1 && indices->shape.dim[0] == nnz;
  bool rows = indices->shape.rank == 2 && indices->shape.dim[0] == nnz && indices->shape.dim[1] == sparse->shape.rank;
  if (indices->dtype != OX_I64 || (!linear && !rows)) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_INVALID_MODEL, "its indices are %s%s, not int64[%lld] or int64[%lld,%d]",
                   ox_dtype_name(indices->dtype), ox_shape_text(&indices->shape, text), (long long)nnz, (long long)nnz,
                   sparse->shape.rank);
  }
  for (size_t k = 0; k < (size_t)nnz; k++)
    if (position(indices, &sparse->shape, count, k) < 0)
      return ox_fail(OX_INVALID_MODEL, "its index %zu is outside its shape", k);
  return NULL;
}

ox_status *ox_sparse_read(const ox_tensor_reader *r, ox_str bytes, ox_tensor *out, ox_str *out_name) {
  ox_wire w = ox_wire_sub(bytes);
  ox_wire_field f;
  ox_str name = {"", 0};
  ox_tensor *part = OX_ARENA_ARRAY(r->arena, ox_tensor, 2);
  if (!part) return ox_oom();
  *out = (ox_tensor){.kind = OX_SPARSE, .data = part, .bytes = 2 * sizeof *part, .shape = ox_shape_scalar()};
  while (ox_wire_next(&w, &f)) switch (f.tag) {
      case OX_WIRE_LEN(OX_SPARSE_TENSOR_PROTO_VALUES):
        OX_TRY(ox_tensor_read(r, f.bytes, &part[0], &name));
        break;
      case OX_WIRE_LEN(OX_SPARSE_TENSOR_PROTO_INDICES):
        OX_TRY(ox_tensor_read(r, f.bytes, &part[1], NULL));
        break;
      case OX_WIRE_VARINT(OX_SPARSE_TENSOR_PROTO_DIMS):
        OX_TRY(ox_read_dim(&out->shape, f.value));
        break;
      case OX_WIRE_LEN(OX_SPARSE_TENSOR_PROTO_DIMS):
        OX_TRY(ox_read_dims(&out->shape, f.bytes));
        break;
      default:
        break;
    }
  if (out_name) *out_name = name;
  out->dtype = part[0].dtype;
  ox_status *st = ox_wire_end(&w, "SparseTensorProto");
  if (!st) st = check(out);
  return ox_status_note(st, "sparse tensor '%.*s'", (int)OX_MIN(name.n, 200), name.p);
}

ox_status *ox_sparse_dense_bytes(const ox_tensor *sparse, size_t *out_bytes) {
  int64_t count = ox_shape_count(&sparse->shape);
  if (ox_dtype_bytes(sparse->dtype, count, out_bytes)) return NULL;
  return ox_fail(OX_LIMIT, "a sparse tensor of %lld elements would be too large as a dense one", (long long)count);
}

ox_status *ox_sparse_densify(const ox_tensor_reader *r, const ox_tensor *sparse, ox_tensor *out) {
  const ox_tensor *part = sparse->data, *values = &part[0], *indices = &part[1];
  int64_t count = ox_shape_count(&sparse->shape);
  *out = (ox_tensor){.kind = OX_TENSOR, .dtype = sparse->dtype, .shape = sparse->shape};
  OX_TRY(ox_sparse_dense_bytes(sparse, &out->bytes));
  unsigned char *dense = out->data = ox_arena_alloc(r->arena, out->bytes);
  if (!dense) return ox_oom();
  unsigned bits = ox_dtype_bits(out->dtype);
  const unsigned char *from = values->data;
  for (size_t k = 0; k < (size_t)values->shape.dim[0]; k++) {
    size_t at = (size_t)position(indices, &sparse->shape, count, k);
    if (bits >= 8) {
      memcpy(dense + at * (bits / 8), from + k * (bits / 8), bits / 8);
    } else {
      ox_bits_set(dense, at, bits, ox_bits_get(from, k, bits));
    }
  }
  return NULL;
}
