/* SPDX-License-Identifier: Apache-2.0
 * base/sink.h - where written bytes go: a function, called in order. */
#ifndef OX_BASE_SINK_H
#define OX_BASE_SINK_H

#include "base/status.h"

typedef struct ox_sink {
  ox_status *(*write)(void *ctx, const void *bytes, size_t n);
  void *ctx;
} ox_sink;

#endif
