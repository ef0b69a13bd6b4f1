/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/denotations.h - sizes for dimensions by what the model says they are for. */
#ifndef OX_ONNX_PROTO_DENOTATIONS_H
#define OX_ONNX_PROTO_DENOTATIONS_H

#include <stddef.h>
#include <stdint.h>

/* Open dimensions with denotation names[i] are values[i]. */
typedef struct ox_denotations {
  const char *const *names;
  const int64_t *values;
  size_t n;
} ox_denotations;

#endif
