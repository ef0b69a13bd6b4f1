/* SPDX-License-Identifier: Apache-2.0
 * onnx/sink.h - where written bytes go: a function, called in order. */
#ifndef OX_ONNX_SINK_H
#define OX_ONNX_SINK_H

#include "base/status.h"

typedef struct ox_sink {
  ox_status *(*write)(void *ctx, const void *bytes, size_t n);
  void *ctx;
} ox_sink;

#endif
