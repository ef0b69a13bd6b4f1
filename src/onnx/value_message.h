/* SPDX-License-Identifier: Apache-2.0
 * onnx/value_message.h - a value on its own, outside of a model, as one of the messages of onnx.proto and
 * onnx-data.proto. */
#ifndef OX_ONNX_VALUE_MESSAGE_H
#define OX_ONNX_VALUE_MESSAGE_H

#include "base/arena.h"
#include "graph/graph.h"
#include "base/sink.h"

typedef enum ox_value_message {
  OX_TENSOR_MESSAGE,        /* TensorProto */
  OX_SPARSE_TENSOR_MESSAGE, /* SparseTensorProto */
  OX_SEQUENCE_MESSAGE,      /* SequenceProto */
  OX_MAP_MESSAGE,           /* MapProto */
  OX_OPTIONAL_MESSAGE       /* OptionalProto: any of the others, or nothing */
} ox_value_message;

/* The message for values of |kind| (OX_TENSOR, OX_SEQUENCE, ...). */
ox_value_message ox_value_message_of(uint32_t kind);

/* Reads |bytes|, a |message|, into |*out_value|. Tensor data may point into |bytes|; the rest lives in |arena|. The
 * values of a map become one 1-D tensor if all are scalars of one type, else a sequence. |out_name| may be NULL.
 * Errors: INVALID_MODEL, NOT_IMPLEMENTED, LIMIT, OUT_OF_MEMORY. */
OX_NODISCARD ox_status *ox_value_message_read(ox_arena *arena, ox_value_message message, const void *bytes, size_t n,
                                              ox_tensor *out_value, ox_str *out_name);
/* Writes |value| as |message|; |name| may be NULL. |alloc| gives temporary memory. Errors: the sink's; INVALID_ARGUMENT
 * if |message| cannot hold such a value. */
OX_NODISCARD ox_status *ox_value_message_write(ox_alloc alloc, ox_value_message message, const ox_tensor *value,
                                               const char *name, ox_sink sink);

#endif
