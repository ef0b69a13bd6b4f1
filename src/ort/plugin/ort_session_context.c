/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_session_context.c - the model with compiled parts of a session, as bytes and as a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ort/ort_api.h"
#include "ort/session/ort_model_file.h"
#include "ort/session/ort_session.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_file_read.h"
#include "ort/plugin/ort_session_eps.h"

OrtStatus *ort_session_context_model(OrtSession *s, const char *path, const void *bytes, size_t n, ort_bytes *out) {
  unsigned char *file = NULL;
  if (!ort_session_eps_compiled(s->eps)) return NULL;
  if (path != NULL) ORT_TRY(ort_file_read(path, &file, &n));
  OrtStatus *st = ort_session_eps_context_model(s->eps, path != NULL ? file : bytes, n, out);
  free(file);
  return st;
}

/* What the options say, or beside the model: "model.onnx" becomes "model_ctx.onnx". */
static OrtStatus *choose_path(const OrtSession *s, const char *model, char **out) {
  const char *given = ort_pairs_get(&s->options->config, "ep.context_file_path");
  if (given != NULL && *given != 0) return ort_text_set(out, given);
  if (model == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "the model came from memory: ep.context_file_path has to say where the model "
                    "with compiled parts goes");
  const char *folder = strrchr(model, '/'), *dot = strrchr(model, '.');
  size_t n = dot != NULL && (folder == NULL || dot > folder) ? (size_t)(dot - model) : strlen(model);
  size_t room = n + sizeof "_ctx.onnx";
  *out = malloc(room);
  if (*out == NULL) return ort_out_of_memory();
  snprintf(*out, room, "%.*s_ctx.onnx", (int)n, model);
  return NULL;
}

OrtStatus *ort_session_context_save(OrtSession *s, const char *path, const void *bytes, size_t n) {
  const char *enable = ort_pairs_get(&s->options->config, "ep.context_enable");
  struct stat there;
  char *target = NULL;
  ort_bytes model = {0};
  if (enable == NULL || strcmp(enable, "1") != 0 || !ort_session_eps_compiled(s->eps)) return NULL;
  OrtStatus *st = choose_path(s, path, &target);
  if (st == NULL && stat(target, &there) == 0)
    st = ort_fail(ORT_FAIL, "Failed to generate EP context model since the file '%s' exist already.", target);
  if (st == NULL) st = ort_session_context_model(s, path, bytes, n, &model);
  if (st == NULL) st = ort_file_write(target, model.p, model.n);
  ort_bytes_deinit(&model);
  free(target);
  return st;
}
