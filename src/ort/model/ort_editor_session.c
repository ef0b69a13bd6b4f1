/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_editor_session.c - sessions whose model is edited before they run. Until then the session is one of the
 * model as it is, without optimization and providers, so that clients can ask about inputs and outputs and an edit that
 * makes no model is refused at once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/model/ort_editor_model.h"
#include "ort/model/ort_model_edit.h"
#include "ort/model/ort_read.h"
#include "ort/ort_alive.h"

static const char folder_key[] = "session.model_external_initializers_file_folder_path";

void ort_model_edit_release(ort_model_edit *edit) {
  if (edit == NULL) return;
  ort_bytes_deinit(&edit->bytes);
  ort_ReleaseSessionOptions(edit->options);
  free(edit);
}

/* ---- opening ---- */

static OrtStatus *read_all(FILE *file, const char *path, ort_bytes *out) {
  char block[1 << 14];
  size_t n;
  while ((n = fread(block, 1, sizeof block, file)) > 0) ort_put_raw(out, block, n);
  if (out->failed) return ort_out_of_memory();
  return ferror(file) ? ort_fail(ORT_NO_SUCHFILE, "Load model from %s failed: %s", path, strerror(errno)) : NULL;
}

static OrtStatus *read_file(const char *path, ort_bytes *out) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return ort_fail(ORT_NO_SUCHFILE, "Load model from %s failed: %s", path, strerror(errno));
  OrtStatus *st = read_all(file, path, out);
  fclose(file);
  return st;
}

/* Files of initializers lie beside the model, unless the options say where. */
static OrtStatus *set_folder(OrtSessionOptions *options, const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder;
  if (slash == NULL || ort_pairs_get(&options->config, folder_key) != NULL) return NULL;
  ORT_TRY(ort_text_copy(path, &folder));
  folder[slash == path ? 1 : slash - path] = '\0';
  OrtStatus *st = ort_pairs_set(&options->config, folder_key, folder);
  free(folder);
  return st;
}

/* What a session that only shows the model is created with. */
static OrtStatus *plain_options(const OrtSessionOptions *options, OrtSessionOptions **out) {
  ORT_TRY(ort_CloneSessionOptions(options, out));
  OrtSessionOptions *o = *out;
  for (size_t i = 0; i < o->n_providers; i++) {
    free(o->providers[i].name);
    free((void *)o->providers[i].devices);
    ort_pairs_deinit(&o->providers[i].options);
  }
  free(o->optimized_path);
  o->n_providers = 0, o->optimized_path = NULL;
  o->level = ORT_DISABLE_ALL, o->profiling = false, o->has_policy = false, o->select = NULL;
  return NULL;
}

static OrtStatus *show(const ort_model_edit *edit, const OrtEnv *env, OrtSession **session) {
  OrtSessionOptions *plain;
  ORT_TRY(plain_options(edit->options, &plain));
  OrtStatus *st = *session == NULL ? ort_session_create(env, NULL, edit->bytes.p, edit->bytes.n, plain, session)
                                   : ort_session_replace(*session, edit->bytes.p, edit->bytes.n, plain);
  ort_ReleaseSessionOptions(plain);
  return st;
}

static OrtStatus *open(const OrtEnv *env, const char *path, const void *bytes, size_t n,
                       const OrtSessionOptions *options, OrtSession **out) {
  ort_model_edit *edit = calloc(1, sizeof *edit);
  OrtStatus *st = edit != NULL ? ort_options_for(options, &edit->options) : ort_out_of_memory();
  *out = NULL;
  if (st == NULL && path != NULL) st = read_file(path, &edit->bytes);
  if (st == NULL && path != NULL) st = set_folder(edit->options, path);
  if (st == NULL && path == NULL) {
    ort_put_raw(&edit->bytes, bytes, n);
    if (edit->bytes.failed) st = ort_out_of_memory();
  }
  if (st == NULL) st = show(edit, env, out);
  if (st == NULL) (*out)->edit = edit, edit = NULL;
  ort_model_edit_release(edit);
  return st;
}

OrtStatus *ort_editor_CreateModelEditorSession(const OrtEnv *env, const ORTCHAR_T *model_path,
                                               const OrtSessionOptions *options, OrtSession **out) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(model_path);
  ORT_NEED(out);
  return open(env, model_path, NULL, 0, options, out);
}

OrtStatus *ort_editor_CreateModelEditorSessionFromArray(const OrtEnv *env, const void *model_data,
                                                        size_t model_data_length, const OrtSessionOptions *options,
                                                        OrtSession **out) {
  ORT_ALIVE(env, ORT_ALIVE_ENV);
  ORT_NEED(model_data);
  ORT_NEED(out);
  return open(env, NULL, model_data, model_data_length, options, out);
}

/* ---- editing ---- */

OrtStatus *ort_editor_SessionGetOpsetForDomain(const OrtSession *session, const char *domain, int *opset) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(domain);
  ORT_NEED(opset);
  int64_t version = ox_session_opset(session->session, domain);
  if (version == 0 && strcmp(domain, "com.microsoft") == 0) version = 1; /* is there without being imported */
  if (version == 0) return ort_fail(ORT_FAIL, "Domain not used by model: '%s'", domain);
  *opset = (int)version;
  return NULL;
}

static OrtStatus *apply(OrtSession *session, const OrtModel *model) {
  ort_model_edit next = {0}, *edit = session->edit;
  OrtStatus *st = ort_model_merge(&edit->bytes, model, &next.bytes);
  if (st == NULL) st = ort_CloneSessionOptions(edit->options, &next.options);
  if (st == NULL) st = ort_model_give(model, next.options);
  if (st == NULL) st = show(&next, NULL, &session);
  ort_model_edit drop = next;
  if (st == NULL) drop = *edit, *edit = next;
  ort_bytes_deinit(&drop.bytes);
  ort_ReleaseSessionOptions(drop.options);
  return st;
}

OrtStatus *ort_editor_ApplyModelToModelEditorSession(OrtSession *session, OrtModel *model) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  ORT_NEED(model);
  if (session->edit == NULL)
    return ort_fail(ORT_MODEL_LOADED, "This session has already been initialized: it is no editor's, or was finalized");
  if (model->graph == NULL) return ort_fail(ORT_INVALID_ARGUMENT, "the model has no graph (AddGraphToModel)");
  return apply(session, model);
}

/* |options|, if they are given, take the place of those that the session was opened with. */
static OrtStatus *final_options(const ort_model_edit *edit, const OrtSessionOptions *options, OrtSessionOptions **out) {
  if (options == NULL) return ort_CloneSessionOptions(edit->options, out);
  ORT_TRY(ort_CloneSessionOptions(options, out));
  const char *folder = ort_pairs_get(&edit->options->config, folder_key);
  OrtStatus *st = NULL;
  if (folder != NULL && ort_pairs_get(&(*out)->config, folder_key) == NULL)
    st = ort_pairs_set(&(*out)->config, folder_key, folder);
  for (size_t i = 0; i < edit->options->n_initializers && st == NULL; i++)
    st = ort_options_give(*out, edit->options->initializers[i].name, edit->options->initializers[i].value);
  if (st == NULL) return NULL;
  ort_ReleaseSessionOptions(*out);
  return st;
}

OrtStatus *ort_editor_FinalizeModelEditorSession(OrtSession *session, const OrtSessionOptions *options,
                                                 OrtPrepackedWeightsContainer *prepacked_weights_container) {
  ORT_ALIVE(session, ORT_ALIVE_SESSION);
  (void)prepacked_weights_container; /* has nothing to hold: ort_session.c */
  if (options != NULL) ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS);
  OrtSessionOptions *last;
  if (session->edit == NULL) return NULL; /* done already */
  ORT_TRY(final_options(session->edit, options, &last));
  OrtStatus *st = ort_session_replace(session, session->edit->bytes.p, session->edit->bytes.n, last);
  ort_ReleaseSessionOptions(last);
  if (st != NULL) return st;
  ort_model_edit_release(session->edit);
  session->edit = NULL;
  return NULL;
}
