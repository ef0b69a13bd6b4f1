/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_session_options.c - session options: made, copied, freed. What sets them is in ort_session_setters.c
 * and ort_session_config.c. */
#include "ort/session/ort_session_options.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_alive.h"
#include "ort/ort_api.h"
#include "ort/custom/ort_op_libraries.h"
#include "ort/ort_list.h"

OrtStatus *ort_CreateSessionOptions(OrtSessionOptions **out) {
  ORT_NEED(out);
  OrtSessionOptions *o = *out = calloc(1, sizeof *o);
  if (o == NULL) return ort_out_of_memory();
  o->alive = ORT_ALIVE_SESSION_OPTIONS;
  o->level = ORT_ENABLE_ALL;
  o->cpu_arena = o->mem_pattern = o->per_session_threads = true;
  o->log_severity = -1;
  return NULL;
}

void ort_ReleaseSessionOptions(OrtSessionOptions *o) {
  if (o == NULL || o->alive != ORT_ALIVE_SESSION_OPTIONS) return;
  o->alive = 0;
  free(o->profile_prefix);
  free(o->optimized_path);
  free(o->log_id);
  ort_pairs_deinit(&o->config);
  for (size_t i = 0; i < o->n_providers; i++) {
    free(o->providers[i].name);
    free(o->providers[i].devices);
    ort_pairs_deinit(&o->providers[i].options);
  }
  free(o->providers);
  for (size_t i = 0; i < o->n_dims; i++) free(o->dims[i].name);
  free(o->dims);
  for (size_t i = 0; i < o->n_initializers; i++) {
    free(o->initializers[i].name);
    ox_value_release(o->initializers[i].value);
  }
  free(o->initializers);
  for (size_t i = 0; i < o->n_files; i++) free(o->files[i].name);
  free(o->files);
  free(o->domains);
  ort_op_libraries_release(o->op_libraries);
  free(o);
}

/* ---- copies ---- */

OrtStatus *ort_text_set(char **to, const char *text) {
  char *copy = text != NULL ? strdup(text) : NULL;
  if (text != NULL && copy == NULL) return ort_out_of_memory();
  free(*to);
  *to = copy;
  return NULL;
}

static OrtStatus *copy_provider(const ort_provider_request *from, OrtSessionOptions *to) {
  ORT_TRY(ort_list_grow(&to->providers, to->n_providers, sizeof *to->providers));
  ort_provider_request *p = &to->providers[to->n_providers++];
  ORT_TRY(ort_text_set(&p->name, from->name));
  ORT_TRY(ort_pairs_copy(&from->options, &p->options));
  if (from->devices == NULL) return NULL;
  p->devices = malloc((from->n_devices + 1) * sizeof *p->devices);
  if (p->devices == NULL) return ort_out_of_memory();
  memcpy(p->devices, from->devices, from->n_devices * sizeof *p->devices);
  p->n_devices = from->n_devices;
  return NULL;
}

static OrtStatus *copy_dim(const ort_dim_override *from, OrtSessionOptions *to) {
  ORT_TRY(ort_list_grow(&to->dims, to->n_dims, sizeof *to->dims));
  ort_dim_override *d = &to->dims[to->n_dims++];
  d->by_denotation = from->by_denotation, d->value = from->value;
  return ort_text_set(&d->name, from->name);
}

static OrtStatus *copy_initializer(const ort_given_initializer *from, OrtSessionOptions *to) {
  ORT_TRY(ort_list_grow(&to->initializers, to->n_initializers, sizeof *to->initializers));
  ort_given_initializer *i = &to->initializers[to->n_initializers++];
  i->value = ox_value_retain(from->value), i->external = from->external;
  return ort_text_set(&i->name, from->name);
}

static OrtStatus *copy_file(const ort_given_file *from, OrtSessionOptions *to) {
  ORT_TRY(ort_list_grow(&to->files, to->n_files, sizeof *to->files));
  ort_given_file *f = &to->files[to->n_files++];
  f->bytes = from->bytes, f->n = from->n;
  return ort_text_set(&f->name, from->name);
}

static OrtStatus *copy_owned(const OrtSessionOptions *from, OrtSessionOptions *to) {
  ORT_TRY(ort_text_set(&to->profile_prefix, from->profile_prefix));
  ORT_TRY(ort_text_set(&to->optimized_path, from->optimized_path));
  ORT_TRY(ort_text_set(&to->log_id, from->log_id));
  ORT_TRY(ort_pairs_copy(&from->config, &to->config));
  for (size_t i = 0; i < from->n_providers; i++) ORT_TRY(copy_provider(&from->providers[i], to));
  for (size_t i = 0; i < from->n_dims; i++) ORT_TRY(copy_dim(&from->dims[i], to));
  for (size_t i = 0; i < from->n_initializers; i++) ORT_TRY(copy_initializer(&from->initializers[i], to));
  for (size_t i = 0; i < from->n_files; i++) ORT_TRY(copy_file(&from->files[i], to));
  for (size_t i = 0; i < from->n_domains; i++) {
    ORT_TRY(ort_list_grow(&to->domains, i, sizeof *to->domains));
    to->domains[i] = from->domains[i], to->n_domains = i + 1;
  }
  return NULL;
}

OrtStatus *ort_CloneSessionOptions(const OrtSessionOptions *input, OrtSessionOptions **out) {
  ORT_ALIVE(input, ORT_ALIVE_SESSION_OPTIONS);
  ORT_NEED(out);
  *out = NULL;
  OrtSessionOptions *o = malloc(sizeof *o);
  if (o == NULL) return ort_out_of_memory();
  *o = *input; /* and then what it owns */
  o->profile_prefix = o->optimized_path = o->log_id = NULL;
  o->config = (OrtKeyValuePairs){0};
  o->providers = NULL, o->dims = NULL, o->initializers = NULL, o->files = NULL, o->domains = NULL;
  o->n_providers = o->n_dims = o->n_initializers = o->n_files = o->n_domains = 0;
  ort_op_libraries_retain(o->op_libraries);
  OrtStatus *st = copy_owned(input, o);
  if (st == NULL)
    *out = o;
  else
    ort_ReleaseSessionOptions(o);
  return st;
}
