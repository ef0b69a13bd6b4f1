/* SPDX-License-Identifier: Apache-2.0
 * onnx/write.c - a model to a sink or a file. */
#include "onnx/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_replace.h"
#include "onnx/proto/proto_write.h"

ox_status *ox_model_write(const ox_model *m, ox_sink sink) {
  ox_wire_out o = ox_wire_out_of(m->alloc);
  ox_status *st = ox_out_model(&o, m);
  if (!st) st = ox_wire_out_flush(&o, sink);
  ox_wire_out_deinit(&o);
  return st;
}

static ox_status *write_to_file(void *ctx, const void *bytes, size_t n) {
  if (fwrite(bytes, 1, n, ctx) == n) return NULL;
  return ox_fail(OX_FAIL, "writing failed: %s", strerror(errno));
}

ox_status *ox_model_write_file(const ox_model *m, const char *path) {
  ox_file_replace r;
  if (!ox_file_replace_open(&r, path)) return ox_fail(OX_FAIL, "%s: %s", path, strerror(errno));
  ox_status *st = ox_model_write(m, (ox_sink){write_to_file, r.file});
  if (!ox_file_replace_close(&r, !st) && !st) st = ox_fail(OX_FAIL, "%s: %s", path, strerror(errno));
  return st;
}
