/* SPDX-License-Identifier: Apache-2.0
 * session/caller_sink.h - makes a caller's write function a sink for the writers of models and values. */
#ifndef OX_SESSION_CALLER_SINK_H
#define OX_SESSION_CALLER_SINK_H

#include "base/sink.h"

typedef struct ox_caller_sink {
  int (*write)(void *ctx, const void *bytes, size_t n); /* non-zero: stop */
  void *ctx;
} ox_caller_sink;

static inline ox_status *ox_caller_sink_write(void *ctx, const void *bytes, size_t n) {
  const ox_caller_sink *c = ctx;
  return c->write(c->ctx, bytes, n) ? ox_fail(OX_FAIL, "writing was stopped by the caller") : NULL;
}
static inline ox_sink ox_caller_sink_of(ox_caller_sink *c) { return (ox_sink){ox_caller_sink_write, c}; }

#endif
