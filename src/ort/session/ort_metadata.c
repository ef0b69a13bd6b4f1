/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_metadata.c - what a model says of itself: a copy that outlives the session. */
#include "ort/session/ort_metadata.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/value/ort_memory.h"
#include "ort/session/ort_session_options.h"
#include "ort/ort_status.h"

void ort_ReleaseModelMetadata(OrtModelMetadata *m) {
  if (m == NULL) return;
  free(m->producer);
  free(m->graph);
  free(m->domain);
  free(m->description);
  free(m->graph_description);
  ort_pairs_deinit(&m->custom);
  free(m);
}

/* The engine's keys come first, in this order; then the model's own. */
static OrtStatus *fill(const ox_session *s, OrtModelMetadata *m) {
  const char *key, *value;
  const struct {
    const char *key;
    char **to;
  } known[] = {{"producer_name", &m->producer},
               {"producer_version", NULL},
               {"domain", &m->domain},
               {"doc_string", &m->description},
               {"graph_name", &m->graph},
               {"ir_version", NULL},
               {"model_version", NULL},
               {"opset", NULL},
               {"graph_doc_string", &m->graph_description}};
  size_t i = 0;
  for (; i < sizeof known / sizeof *known; i++) {
    ox_session_metadata(s, i, &key, &value);
    if (known[i].to != NULL) ORT_TRY(ort_text_set(known[i].to, value));
    if (strcmp(key, "model_version") == 0) m->version = *value != '\0' ? strtoll(value, NULL, 10) : INT64_MAX;
  }
  for (ox_session_metadata(s, i, &key, &value); key != NULL; ox_session_metadata(s, ++i, &key, &value))
    ORT_TRY(ort_pairs_set(&m->custom, key, value));
  return NULL;
}

OrtStatus *ort_metadata_create(const ox_session *s, OrtModelMetadata **out) {
  *out = NULL;
  OrtModelMetadata *m = calloc(1, sizeof *m);
  if (m == NULL) return ort_out_of_memory();
  OrtStatus *st = fill(s, m);
  if (st == NULL)
    *out = m;
  else
    ort_ReleaseModelMetadata(m);
  return st;
}

#define TEXT(slot, field)                                                                                \
  OrtStatus *ort_##slot(const OrtModelMetadata *model_metadata, OrtAllocator *allocator, char **value) { \
    ORT_NEED(model_metadata);                                                                            \
    ORT_NEED(allocator);                                                                                 \
    ORT_NEED(value);                                                                                     \
    return ort_copy_text(allocator, model_metadata->field, value);                                       \
  }
TEXT(ModelMetadataGetProducerName, producer)
TEXT(ModelMetadataGetGraphName, graph)
TEXT(ModelMetadataGetDomain, domain)
TEXT(ModelMetadataGetDescription, description)
TEXT(ModelMetadataGetGraphDescription, graph_description)

OrtStatus *ort_ModelMetadataGetVersion(const OrtModelMetadata *model_metadata, int64_t *value) {
  ORT_NEED(model_metadata);
  ORT_NEED(value);
  *value = model_metadata->version;
  return NULL;
}

/* *value NULL: the model has no such key. */
OrtStatus *ort_ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata *model_metadata, OrtAllocator *allocator,
                                                    const char *key, char **value) {
  ORT_NEED(model_metadata);
  ORT_NEED(allocator);
  ORT_NEED(key);
  ORT_NEED(value);
  *value = NULL;
  const char *text = ort_pairs_get(&model_metadata->custom, key);
  return text != NULL ? ort_copy_text(allocator, text, value) : NULL;
}

static void free_texts(OrtAllocator *allocator, char **texts, size_t n) {
  for (size_t i = 0; i < n; i++) allocator->Free(allocator, texts[i]);
  allocator->Free(allocator, texts);
}

OrtStatus *ort_ModelMetadataGetCustomMetadataMapKeys(const OrtModelMetadata *model_metadata, OrtAllocator *allocator,
                                                     char ***keys, int64_t *num_keys) {
  ORT_NEED(model_metadata);
  ORT_NEED(allocator);
  ORT_NEED(keys);
  ORT_NEED(num_keys);
  size_t n = model_metadata->custom.n;
  *keys = NULL, *num_keys = 0;
  if (n == 0) return NULL;
  char **copy = allocator->Alloc(allocator, n * sizeof *copy);
  if (copy == NULL) return ort_out_of_memory();
  for (size_t i = 0; i < n; i++) {
    OrtStatus *st = ort_copy_text(allocator, model_metadata->custom.keys[i], &copy[i]);
    if (st == NULL) continue;
    free_texts(allocator, copy, i);
    return st;
  }
  *keys = copy, *num_keys = (int64_t)n;
  return NULL;
}
