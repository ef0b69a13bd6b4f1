/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_compile.c - CompileModel: a session is made as the options say, and its model is written. For the CPU
 * that is the optimized model; providers of libraries put their programs into nodes EPContext. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ort/model/ort_editor_model.h"
#include "ort/model/ort_model_write.h"
#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_compile_options.h"
#include "ort/session/ort_model_file.h"
#include "ort/session/ort_session.h"

typedef OrtModelCompilationOptions options_t;

/* ---- before ---- */

/* Beside the input: "model.onnx" becomes "model_ctx.onnx". */
static OrtStatus *default_path(const char *input, char **out) {
  size_t n = strlen(input), room = n + sizeof "_ctx.onnx";
  if (n > 5 && strcmp(input + n - 5, ".onnx") == 0) n -= 5;
  *out = malloc(room);
  if (*out == NULL) return ort_out_of_memory();
  snprintf(*out, room, "%.*s_ctx.onnx", (int)n, input);
  return NULL;
}

static OrtStatus *choose_output(const options_t *o, char **out_path) {
  struct stat st;
  *out_path = NULL;
  if (o->write != NULL || o->output_allocator != NULL) return NULL;
  if (o->output_path != NULL)
    ORT_TRY(ort_text_set(out_path, o->output_path));
  else if (o->input_path != NULL)
    ORT_TRY(default_path(o->input_path, out_path));
  else
    return ort_fail(ORT_FAIL, "CompileModel: the input is no file, and the output is neither a path nor a buffer");
  if ((o->flags & OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS) && stat(*out_path, &st) == 0)
    return ort_fail(ORT_FAIL, "CompileModel: the output '%s' exists already", *out_path);
  return NULL;
}

static OrtStatus *create(const OrtEnv *env, const options_t *o, OrtSession **out) {
  struct stat st;
  OrtKeyValuePairs *config = &o->session->config;
  ORT_TRY(ort_config_add(config, "CompileModel", "ep.context_enable", "1"));
  ORT_TRY(ort_config_add(config, "CompileModel", "ep.context_embed_mode", o->embed ? "1" : "0"));
  if (o->input_path != NULL && stat(o->input_path, &st) != 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "CompileModel: the input '%s' does not exist", o->input_path);
  if (o->input_path != NULL || o->input_bytes != NULL)
    return ort_session_create(env, o->input_path, o->input_bytes, o->input_n, o->session, out);
  if (o->input_model == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "CompileModel: no input model was set: a path, a buffer or an OrtModel");
  return ort_session_create_from_model(env, o->input_model, o->session, out);
}

static OrtStatus *check_compiled(const options_t *o, const OrtSession *s) {
  ox_placement p;
  if (!(o->flags & OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED)) return NULL;
  for (size_t i = 0; ox_session_placement(s->session, i, &p); i++)
    if (strcmp(p.how, "program") == 0) return NULL;
  return ort_fail(ORT_FAIL,
                  "CompileModel: unable to compile any nodes: no provider of the session takes part of the "
                  "model as a whole");
}

/* ---- after ---- */

/* With the parts that libraries compiled, or else as the engine has it. */
static OrtStatus *write_model(const options_t *o, OrtSession *s, ort_bytes *out) {
  ort_bytes made = {0};
  OrtStatus *st = NULL;
  if (o->input_path == NULL && o->input_bytes == NULL) st = ort_model_write(o->input_model, true, &made);
  const void *bytes = o->input_bytes != NULL ? o->input_bytes : made.p;
  size_t n = o->input_bytes != NULL ? o->input_n : made.n;
  if (st == NULL) st = ort_session_context_model(s, o->input_path, bytes, n, out);
  ort_bytes_deinit(&made);
  return st == NULL && out->n == 0 ? ort_model_bytes(s->session, out) : st;
}

/* Data goes to a file, to |data| for a buffer, or where the client says. */
static OrtStatus *move_data(const options_t *o, const char *path, ort_bytes *model, ort_bytes *data) {
  ort_external_place place = {.buffer = data,
                              .location = o->external_file,
                              .threshold = o->external_threshold,
                              .align = o->external_align,
                              .align_from = o->external_align_from,
                              .locate = o->locate,
                              .locate_state = o->locate_state};
  if (o->locate != NULL || o->external_allocator != NULL) return ort_externalize(model, &place);
  return o->external_file == NULL ? NULL : ort_model_move_data(model, path != NULL ? path : "", place);
}

/* A copy in the client's memory; no bytes: NULL. */
static OrtStatus *hand_over(OrtAllocator *allocator, const ort_bytes *bytes, void **out) {
  *out = NULL;
  if (bytes->n == 0) return NULL;
  *out = allocator->Alloc(allocator, bytes->n);
  if (*out == NULL) return ort_out_of_memory();
  memcpy(*out, bytes->p, bytes->n);
  return NULL;
}

static OrtStatus *deliver_model(const options_t *o, const char *path, const ort_bytes *model) {
  void *buffer;
  if (path != NULL) return ort_file_write(path, model->p, model->n);
  if (o->write != NULL) return o->write(o->write_state, model->p, model->n);
  ORT_TRY(hand_over(o->output_allocator, model, &buffer));
  *o->output_buffer = buffer, *o->output_n = model->n;
  return NULL;
}

/* The client's variables for |data| change only if the model arrived, too. */
static OrtStatus *deliver(const options_t *o, const char *path, const ort_bytes *model, const ort_bytes *data) {
  if (o->external_allocator == NULL) return deliver_model(o, path, model);
  void *buffer;
  ORT_TRY(hand_over(o->external_allocator, data, &buffer));
  OrtStatus *st = deliver_model(o, path, model);
  if (st == NULL)
    *o->external_buffer = buffer, *o->external_n = data->n;
  else if (buffer != NULL)
    o->external_allocator->Free(o->external_allocator, buffer);
  return st;
}

static OrtStatus *check_buffers(const options_t *o) {
  if (o->external_allocator == NULL || o->output_allocator == NULL) return NULL;
  if (o->external_buffer != o->output_buffer && o->external_n != o->output_n) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT,
                  "CompileModel: the buffers of the model and of the initializers are to go to the same variable");
}

OrtStatus *ort_compile_CompileModel(const OrtEnv *env, const OrtModelCompilationOptions *model_options) {
  char *path = NULL;
  OrtSession *s = NULL;
  ort_bytes model = {0}, data = {0};
  if (env == NULL) return ort_null_argument("CompileModel", "env");
  if (model_options == NULL) return ort_null_argument("CompileModel", "model_options");
  bool input = model_options->input_path != NULL || model_options->input_bytes != NULL;
  OrtStatus *st = check_buffers(model_options);
  if (st == NULL && input) st = choose_output(model_options, &path);
  if (st == NULL) st = create(env, model_options, &s);
  if (st == NULL && !input) st = choose_output(model_options, &path);
  if (st == NULL) st = check_compiled(model_options, s);
  if (st == NULL) st = write_model(model_options, s, &model);
  if (st == NULL) st = move_data(model_options, path, &model, &data);
  if (st == NULL) st = deliver(model_options, path, &model, &data);
  ort_bytes_deinit(&model);
  ort_bytes_deinit(&data);
  ort_ReleaseSession(s);
  free(path);
  return st;
}
