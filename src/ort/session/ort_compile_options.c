/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_compile_options.c - setters of OrtModelCompilationOptions. The last input and the last output count.
 */
#include "ort/session/ort_compile_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"

typedef OrtModelCompilationOptions options_t;

/* The name of an API function of that table, for errors. */
#define NEED(argument)                                                                            \
  do {                                                                                            \
    if ((argument) == NULL) return ort_null_argument(__func__ + sizeof "ort_compile", #argument); \
  } while (0)

OrtStatus *ort_compile_CreateModelCompilationOptionsFromSessionOptions(const OrtEnv *env,
                                                                       const OrtSessionOptions *session_options,
                                                                       OrtModelCompilationOptions **out) {
  NEED(env);
  NEED(session_options);
  NEED(out);
  options_t *o = *out = calloc(1, sizeof *o);
  if (o == NULL) return ort_out_of_memory();
  OrtStatus *st = ort_CloneSessionOptions(session_options, &o->session);
  if (st == NULL) {
    o->session->level = ORT_ENABLE_BASIC; /* what is written is for any machine, unless somebody says otherwise */
    return NULL;
  }
  free(o);
  *out = NULL;
  return st;
}

void ort_compile_ReleaseModelCompilationOptions(OrtModelCompilationOptions *o) {
  if (o == NULL) return;
  ort_ReleaseSessionOptions(o->session);
  free(o->input_path);
  free(o->output_path);
  free(o->external_file);
  free(o);
}

static OrtStatus *set_path(char **to, const char *what, const char *path) {
  if (*path == '\0')
    return ort_fail(ORT_INVALID_ARGUMENT, "ModelCompilationOptions: the path of the %s is empty", what);
  return ort_text_set(to, path);
}

static void forget_input(options_t *o) {
  free(o->input_path);
  o->input_path = NULL, o->input_bytes = NULL, o->input_n = 0, o->input_model = NULL;
}

static void forget_output(options_t *o) {
  free(o->output_path);
  o->output_path = NULL, o->output_allocator = NULL, o->write = NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetInputModelPath(OrtModelCompilationOptions *options,
                                                                 const ORTCHAR_T *path) {
  NEED(options);
  NEED(path);
  char *copy = NULL;
  ORT_TRY(set_path(&copy, "input model", path));
  forget_input(options);
  options->input_path = copy;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetInputModelFromBuffer(OrtModelCompilationOptions *options,
                                                                       const void *bytes, size_t n) {
  NEED(options);
  NEED(bytes);
  if (n == 0) return ort_fail(ORT_INVALID_ARGUMENT, "ModelCompilationOptions: the input model has 0 bytes");
  forget_input(options);
  options->input_bytes = bytes, options->input_n = n;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetInputModel(OrtModelCompilationOptions *options,
                                                             const OrtModel *model) {
  NEED(options);
  NEED(model);
  forget_input(options);
  options->input_model = model;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetOutputModelPath(OrtModelCompilationOptions *options,
                                                                  const ORTCHAR_T *path) {
  NEED(options);
  NEED(path);
  char *copy = NULL;
  ORT_TRY(set_path(&copy, "output model", path));
  forget_output(options);
  options->output_path = copy;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetOutputModelBuffer(OrtModelCompilationOptions *options,
                                                                    OrtAllocator *allocator, void **out_buffer,
                                                                    size_t *out_bytes) {
  NEED(options);
  NEED(allocator);
  NEED(out_buffer);
  NEED(out_bytes);
  forget_output(options);
  options->output_allocator = allocator, options->output_buffer = out_buffer, options->output_n = out_bytes;
  *out_buffer = NULL, *out_bytes = 0;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetOutputModelWriteFunc(OrtModelCompilationOptions *options,
                                                                       OrtWriteBufferFunc write, void *state) {
  NEED(options);
  NEED(write);
  forget_output(options);
  options->write = write, options->write_state = state;
  return NULL;
}

static void forget_external(options_t *o) {
  free(o->external_file);
  o->external_file = NULL, o->external_allocator = NULL, o->locate = NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetOutputModelExternalInitializersFile(
    OrtModelCompilationOptions *options, const ORTCHAR_T *path, size_t threshold) {
  NEED(options);
  NEED(path);
  char *copy = NULL;
  ORT_TRY(set_path(&copy, "external initializers", path));
  forget_external(options);
  options->external_file = copy, options->external_threshold = threshold;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
    OrtModelCompilationOptions *options, const ORTCHAR_T *name, size_t threshold, OrtAllocator *allocator,
    void **out_buffer, size_t *out_bytes) {
  NEED(options);
  NEED(name);
  NEED(allocator);
  NEED(out_buffer);
  NEED(out_bytes);
  char *copy = NULL;
  if (*name == '/')
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "ModelCompilationOptions: '%s', the name of the external initializers, is no relative path", name);
  ORT_TRY(set_path(&copy, "external initializers", name));
  forget_external(options);
  options->external_file = copy, options->external_threshold = threshold;
  options->external_allocator = allocator, options->external_buffer = out_buffer, options->external_n = out_bytes;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(
    OrtModelCompilationOptions *options, size_t alignment, size_t least_bytes) {
  NEED(options);
  if ((alignment & (alignment - 1)) != 0 || alignment > SIZE_MAX / 2)
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "ModelCompilationOptions: an alignment of %zu bytes, wanted 0 or a power of two below 2^63",
                    alignment);
  if (least_bytes > SIZE_MAX / 2)
    return ort_fail(ORT_INVALID_ARGUMENT, "ModelCompilationOptions: a threshold of %zu bytes, wanted less than 2^63",
                    least_bytes);
  options->external_align = alignment, options->external_align_from = least_bytes;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(
    OrtModelCompilationOptions *options, OrtGetInitializerLocationFunc locate, void *state) {
  NEED(options);
  NEED(locate);
  forget_external(options);
  options->locate = locate, options->locate_state = state;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetEpContextEmbedMode(OrtModelCompilationOptions *options, bool embed) {
  NEED(options);
  options->embed = embed;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetFlags(OrtModelCompilationOptions *options, uint32_t flags) {
  NEED(options);
  options->flags = flags;
  return NULL;
}

OrtStatus *ort_compile_ModelCompilationOptions_SetGraphOptimizationLevel(OrtModelCompilationOptions *options,
                                                                         GraphOptimizationLevel level) {
  NEED(options);
  return ort_SetSessionGraphOptimizationLevel(options->session, level);
}

OrtStatus *ort_compile_ModelCompilationOptions_SetEpContextBinaryInformation(OrtModelCompilationOptions *options,
                                                                             const ORTCHAR_T *folder,
                                                                             const ORTCHAR_T *name) {
  NEED(options);
  NEED(folder);
  NEED(name);
  if (*folder == '\0' || *name == '\0')
    return ort_fail(ORT_INVALID_ARGUMENT,
                    "ModelCompilationOptions: the folder or the name of EPContext's binary is empty");
  char path[4096];
  const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
  if ((size_t)snprintf(path, sizeof path, "%s%s%s", folder, slash, name) >= sizeof path)
    return ort_fail(ORT_INVALID_ARGUMENT, "ModelCompilationOptions: the path of EPContext's binary is too long");
  return ort_config_add(&options->session->config, "ModelCompilationOptions", "ep.context_file_path", path);
}

OrtStatus *ort_compile_ModelCompilationOptions_SetWeightlessEnabled(OrtModelCompilationOptions *options, bool enable) {
  NEED(options);
  return ort_config_add(&options->session->config, "ModelCompilationOptions", "ep.enable_weightless",
                        enable ? "1" : "0");
}

OrtStatus *ort_compile_ModelCompilationOptions_SetWeightlessMode(OrtModelCompilationOptions *options,
                                                                 OrtWeightlessSupport mode) {
  static const char *const values[] = {"0", "1", "2"};
  NEED(options);
  if ((unsigned)mode > OrtWeightlessSupport_ALL)
    return ort_fail(ORT_INVALID_ARGUMENT, "ModelCompilationOptions: weightless mode %d, wanted 0 to 2", (int)mode);
  return ort_config_add(&options->session->config, "ModelCompilationOptions", "ep.enable_weightless_mode",
                        values[mode]);
}
