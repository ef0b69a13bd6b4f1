/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_load_explain.c - why a model was not loaded, in the ABI's codes. */
#include "ort/ort_session.h"
#include "ort/ort_status.h"

OrtStatus *ort_load_explain(ox_status *st, const char *path, const void *bytes, size_t n) {
  (void)path, (void)bytes, (void)n;
  if (st == NULL) return NULL;
  if (ox_status_code(st) != OX_CANCELLED) return ort_status_from(st);
  OrtStatus *out = ort_fail(ORT_MODEL_LOAD_CANCELED, "%s", ox_status_message(st));
  ox_status_free(st);
  return out;
}
