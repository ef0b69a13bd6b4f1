/* SPDX-License-Identifier: Apache-2.0
 * onnx/loose.h - values in files of their own: TensorProto, SparseTensorProto, SequenceProto, MapProto, OptionalProto.
 */
#ifndef OX_ONNX_LOOSE_H
#define OX_ONNX_LOOSE_H

#include "base/arena.h"
#include "graph/graph.h"
#include "onnx/sink.h"

typedef enum ox_loose_kind {
  OX_LOOSE_TENSOR,
  OX_LOOSE_SPARSE,
  OX_LOOSE_SEQUENCE,
  OX_LOOSE_MAP,
  OX_LOOSE_OPTIONAL
} ox_loose_kind;

/* The message that holds values of type |t|. */
ox_loose_kind ox_loose_kind_of(const ox_type *t);

/* Reads |bytes| into |*out_value|. Tensor data may point into |bytes|, everything else lives in |arena|. A map whose
 * values are all scalars of one type gets a 1-D tensor of values, else a sequence. |out_name| may be NULL.
 * Errors: INVALID_MODEL, NOT_IMPLEMENTED, LIMIT, OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_loose_read(ox_arena *arena, ox_loose_kind kind, const void *bytes, size_t n,
                                      ox_tensor *out_value, ox_str *out_name);
/* Writes |value| as |kind|; |name| may be NULL. |alloc| serves while it runs. Errors: the sink's; INVALID_ARGUMENT if
 * the value is not of that kind. */
OX_NODISCARD ox_status *ox_loose_write(ox_alloc alloc, ox_loose_kind kind, const ox_tensor *value, const char *name,
                                       ox_sink sink);

#endif
