/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_initializers.c - contents that a client has for initializers: values to share, values for external
 * data, and whole files of it. */
#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/session/ort_session_options.h"
#include "ort/value/ort_value.h"
#include "ort/ort_list.h"

#define ALIVE(options) ORT_ALIVE(options, ORT_ALIVE_SESSION_OPTIONS)

static OrtStatus *add(OrtSessionOptions *o, const char *function, const char *name, const OrtValue *value,
                      bool external) {
  for (size_t i = 0; i < o->n_initializers; i++)
    if (strcmp(o->initializers[i].name, name) == 0)
      return ort_fail(ORT_INVALID_ARGUMENT, "%s: a value for '%s' has been added already", function, name);
  if (value->tensor->kind != OX_TENSOR || value->value == NULL)
    return ort_fail(ORT_INVALID_ARGUMENT, "%s: the value for '%s' is not a tensor of the client's", function, name);
  ORT_TRY(ort_list_grow(&o->initializers, o->n_initializers, sizeof *o->initializers));
  ort_given_initializer *i = &o->initializers[o->n_initializers];
  ORT_TRY(ort_text_set(&i->name, name));
  i->value = ox_value_retain(value->value), i->external = external;
  o->n_initializers++;
  return NULL;
}

OrtStatus *ort_AddInitializer(OrtSessionOptions *options, const char *name, const OrtValue *val) {
  ALIVE(options);
  ORT_NEED(name);
  ORT_NEED(val);
  return add(options, "AddInitializer", name, val, false);
}

OrtStatus *ort_AddExternalInitializers(OrtSessionOptions *options, const char *const *names,
                                       const OrtValue *const *values, size_t n) {
  ALIVE(options);
  if (n > 0) ORT_NEED(names);
  if (n > 0) ORT_NEED(values);
  for (size_t i = 0; i < n; i++) {
    if (names[i] == NULL || values[i] == NULL)
      return ort_fail(ORT_INVALID_ARGUMENT, "AddExternalInitializers: name or value %zu is NULL", i);
    ORT_TRY(add(options, "AddExternalInitializers", names[i], values[i], true));
  }
  return NULL;
}

OrtStatus *ort_AddExternalInitializersFromFilesInMemory(OrtSessionOptions *options, const ORTCHAR_T *const *names,
                                                        char *const *buffers, const size_t *lengths, size_t n) {
  ALIVE(options);
  if (n > 0) ORT_NEED(names);
  if (n > 0) ORT_NEED(buffers);
  if (n > 0) ORT_NEED(lengths);
  for (size_t i = 0; i < n; i++) {
    if (names[i] == NULL || *names[i] == '\0' || buffers[i] == NULL || lengths[i] == 0)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "AddExternalInitializersFromFilesInMemory: name or content of file %zu is NULL or empty", i);
    for (size_t k = 0; k < options->n_files; k++)
      if (strcmp(options->files[k].name, names[i]) == 0)
        return ort_fail(ORT_INVALID_ARGUMENT,
                        "AddExternalInitializersFromFilesInMemory: file '%s' has been added already", names[i]);
    ORT_TRY(ort_list_grow(&options->files, options->n_files, sizeof *options->files));
    ort_given_file *f = &options->files[options->n_files];
    ORT_TRY(ort_text_set(&f->name, names[i]));
    f->bytes = buffers[i], f->n = lengths[i];
    options->n_files++;
  }
  return NULL;
}
