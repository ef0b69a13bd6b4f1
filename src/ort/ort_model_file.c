/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_model_file.c - see ort_model_file.h. */
#include "ort/ort_model_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ort/ort_status.h"

static int write_piece(void *file, const void *bytes, size_t n) { return fwrite(bytes, 1, n, file) != n; }

static bool wants_ort_format(const OrtSessionOptions *o, const char *path) {
  const char *format = ort_pairs_get(&o->config, "session.save_model_format");
  size_t n = strlen(path);
  if (format != NULL) return strcmp(format, "ORT") == 0;
  return n > 4 && strcmp(path + n - 4, ".ort") == 0;
}

OrtStatus *ort_model_write_file(const ox_session *s, const OrtSessionOptions *options, const char *path) {
  if (wants_ort_format(options, path))
    return ort_fail(ORT_NOT_IMPLEMENTED, "'%s': models are written in ONNX's format, not in ORT's", path);
  FILE *file = fopen(path, "wb");
  if (file == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "'%s' cannot be written: %s", path, strerror(errno));
  ox_status *st = ox_session_write(s, OX_WRITE_MODEL, write_piece, file);
  bool closed = fclose(file) == 0;
  if (st == NULL && closed) return NULL;
  ox_status_free(st);
  remove(path);
  return ort_fail(ORT_FAIL, "'%s' cannot be written: %s", path, strerror(errno));
}
