/* SPDX-License-Identifier: Apache-2.0
 * bench/models/ort_tensor.h - tensors in files, as the programs here read and write them without a library for
 * protobuf: the four fields of TensorProto that matter (onnx.proto). Whatever fails ends the program. */
#ifndef ORT_TENSOR_H
#define ORT_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_RANK = 32 };

typedef struct tensor {
  unsigned char *bytes; /* aligned; the owner frees it */
  size_t n_bytes, rank;
  int64_t dims[MAX_RANK];
  int type; /* TensorProto's numbers are ONNXTensorElementDataType's */
} tensor;

/* Prints a line to stderr and ends the program with exit code 1. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2), noreturn))
#endif
void die(const char *format, ...);

/* Reads input_|index|.pb of |folder|, which has raw_data; false: there is none. */
bool tensor_read(tensor *t, const char *folder, size_t index);
/* Writes output_|index|.pb to |folder|; a type without a fixed size ends the program. */
void tensor_write(const tensor *t, const char *folder, size_t index);
/* Bytes of an element of |type|; 0: it has no fixed size. */
size_t tensor_element_bytes(int type);

#endif
