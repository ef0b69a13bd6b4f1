/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_load_explain.c - why a model was not loaded, in the ABI's codes. It tells apart what the engine has
 * one code for: bytes that are no model, a graph that is none, operators that are given what they do not take. */
#include <errno.h>
#include <string.h>

#include "ort/session/ort_session.h"
#include "ort/ort_status.h"

#define MISSING "operator not implemented: "

/* The first row whose code is the engine's, and whose part is in its text. */
static const struct {
  ox_code code;
  const char *part;
  OrtErrorCode out;
} rows[] = {
    {OX_CANCELLED, "", ORT_MODEL_LOAD_CANCELED},
    {OX_NO_SUCH_FILE, "external data", ORT_FAIL},
    {OX_NO_SUCH_FILE, "not a regular file", ORT_INVALID_ARGUMENT},
    {OX_INVALID_MODEL, "malformed ", ORT_INVALID_PROTOBUF},
    {OX_INVALID_MODEL, "Git LFS", ORT_INVALID_PROTOBUF},
    {OX_INVALID_MODEL, "the model is empty", ORT_INVALID_ARGUMENT},
    {OX_INVALID_MODEL, "there is no graph", ORT_INVALID_ARGUMENT},
    {OX_INVALID_MODEL, "is declared as", ORT_FAIL},
    {OX_INVALID_MODEL, "; wanted the same type", ORT_FAIL},
    {OX_INVALID_MODEL, " inputs, wanted ", ORT_INVALID_GRAPH},
    {OX_INVALID_MODEL, " outputs, wanted ", ORT_INVALID_GRAPH},
    {OX_INVALID_MODEL, " needs the attribute '", ORT_INVALID_GRAPH},
    {OX_INVALID_MODEL, "' of ", ORT_INVALID_GRAPH}, /* an attribute of another kind */
    {OX_INVALID_MODEL, ", wanted one of: ", ORT_INVALID_GRAPH},
    {OX_INVALID_MODEL, ", wanted a tensor", ORT_INVALID_GRAPH},
    {OX_INVALID_MODEL, " is required", ORT_INVALID_GRAPH},
    {OX_INVALID_MODEL, " takes inputs of types (", ORT_INVALID_GRAPH},
    {OX_INVALID_MODEL, ": optimizing: ", ORT_FAIL}, /* axes, shapes, values of attributes */
    {OX_INVALID_MODEL, "): input ", ORT_INVALID_ARGUMENT},
    {OX_INVALID_MODEL, "", ORT_FAIL},
    {OX_SHAPE_MISMATCH, "", ORT_FAIL},
    {OX_INVALID_ARGUMENT, "", ORT_FAIL},
    {OX_NOT_IMPLEMENTED, MISSING, ORT_INVALID_GRAPH},
};

/* Whether the first operator that is missing is of a domain that only clients have. */
static bool is_custom(const char *text) {
  const char *name = strstr(text, MISSING) + strlen(MISSING), *end = name + strcspn(name, "(");
  return memchr(name, '.', (size_t)(end - name)) != NULL && strncmp(name, "ai.onnx", 7) != 0 &&
         strncmp(name, "com.microsoft", 13) != 0;
}

OrtStatus *ort_load_explain(ox_status *st) {
  if (st == NULL) return NULL;
  ox_code code = ox_status_code(st);
  const char *text = ox_status_message(st);
  if (code == OX_NO_SUCH_FILE && strstr(text, strerror(EACCES)) != NULL) { /* it is there */
    OrtStatus *out = ort_fail(ORT_FAIL, "%s", text);
    ox_status_free(st);
    return out;
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].code != code || strstr(text, rows[i].part) == NULL) continue;
    bool custom = code == OX_NOT_IMPLEMENTED && is_custom(text);
    OrtStatus *out = ort_fail(custom ? ORT_FAIL : rows[i].out, "%s", text);
    ox_status_free(st);
    return out;
  }
  return ort_status_from(st);
}
