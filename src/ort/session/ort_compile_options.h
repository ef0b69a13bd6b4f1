/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_compile_options.h - what CompileModel is to read, do and write. */
#ifndef OX_ORT_COMPILE_OPTIONS_H
#define OX_ORT_COMPILE_OPTIONS_H

#include "ort/session/ort_session_options.h"

struct OrtModelCompilationOptions {
  OrtSessionOptions *session; /* a clone */
  char *input_path;
  const void *input_bytes; /* the caller's */
  size_t input_n;
  const OrtModel *input_model; /* the caller's */
  char *output_path;           /* or: */
  OrtAllocator *output_allocator;
  void **output_buffer;
  size_t *output_n; /* or: */
  OrtWriteBufferFunc write;
  void *write_state;
  char *external_file; /* a file's name; or, with an allocator, that of a buffer in the model; or: */
  OrtGetInitializerLocationFunc locate;
  void *locate_state;
  size_t external_threshold, external_align, external_align_from;
  OrtAllocator *external_allocator;
  void **external_buffer;
  size_t *external_n;
  bool embed;
  uint32_t flags;
};

#endif
