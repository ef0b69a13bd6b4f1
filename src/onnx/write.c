/* SPDX-License-Identifier: Apache-2.0
 * onnx/write.c - a model to a sink or a file. */
#include "onnx/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  ox_status *st = NULL;
  size_t n = strlen(path) + sizeof ".part";
  char *part = ox_new(m->alloc, n);
  if (!part) return ox_oom();
  snprintf(part, n, "%s.part", path);
  FILE *file = fopen(part, "wb");
  if (!file) {
    st = ox_fail(OX_FAIL, "%s: %s", part, strerror(errno));
    goto done;
  }
  st = ox_model_write(m, (ox_sink){write_to_file, file});
  if (fclose(file) != 0 && !st) st = ox_fail(OX_FAIL, "%s: %s", part, strerror(errno));
  if (!st && rename(part, path) != 0) st = ox_fail(OX_FAIL, "%s: %s", path, strerror(errno));
  if (st) remove(part);
done:
  ox_delete(m->alloc, part, n);
  return st;
}
