/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_model_file.c - see ort_model_file.h. */
#include "ort/session/ort_model_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_replace.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"

static int add_piece(void *ctx, const void *bytes, size_t n) {
  ort_bytes *b = ctx;
  ort_put_raw(b, bytes, n);
  return b->failed;
}

OrtStatus *ort_model_bytes(const ox_session *s, ort_bytes *out) {
  *out = (ort_bytes){0};
  OrtStatus *st = ort_status_from(ox_session_write(s, OX_WRITE_MODEL, add_piece, out));
  if (st != NULL) ort_bytes_deinit(out);
  return st;
}

static OrtStatus *cannot(const char *path) {
  return ort_fail(ORT_INVALID_ARGUMENT, "'%s' cannot be written: %s", path, strerror(errno));
}

OrtStatus *ort_file_write(const char *path, const void *bytes, size_t n) {
  ox_file_replace r; /* the file may be the session's own model, which is mapped */
  if (!ox_file_replace_open(&r, path)) return cannot(path);
  OrtStatus *st = fwrite(bytes, 1, n, r.file) == n ? NULL : cannot(path);
  if (!ox_file_replace_close(&r, st == NULL) && st == NULL) st = cannot(path);
  return st;
}

OrtStatus *ort_model_move_data(ort_bytes *model, const char *path, ort_external_place place) {
  const char *slash = strrchr(path, '/');
  size_t folder = slash != NULL ? (size_t)(slash + 1 - path) : 0, room = folder + strlen(place.location) + 1;
  char *whole = malloc(room);
  if (whole == NULL) return ort_out_of_memory();
  snprintf(whole, room, "%.*s%s", (int)folder, path, place.location);
  OrtStatus *st = NULL;
  ox_file_replace r;
  if (ox_file_replace_open(&r, whole)) {
    place.file = r.file;
    st = ort_externalize(model, &place);
    if (!ox_file_replace_close(&r, st == NULL) && st == NULL) st = cannot(whole);
  } else {
    st = cannot(whole);
  }
  free(whole);
  return st;
}

static bool is_ort_format(const char *path) {
  size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".ort") == 0;
}

OrtStatus *ort_model_write_file(const ox_session *s, const char *path, const char *external, size_t threshold) {
  ort_bytes model;
  if (is_ort_format(path))
    return ort_fail(ORT_NOT_IMPLEMENTED, "'%s': models are written in ONNX's format, not in ORT's", path);
  ORT_TRY(ort_model_bytes(s, &model));
  const ort_external_place place = {.location = external, .threshold = threshold};
  OrtStatus *st = external != NULL ? ort_model_move_data(&model, path, place) : NULL;
  if (st == NULL) st = ort_file_write(path, model.p, model.n);
  ort_bytes_deinit(&model);
  return st;
}
