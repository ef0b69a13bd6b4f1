/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_status.c - a status is a code and its text in one block. Out of memory there is one that nobody frees. */
#include "ort/ort_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"

struct OrtStatus {
  OrtErrorCode code;
  char text[24]; /* longer in blocks of malloc */
};

static OrtStatus no_memory = {ORT_FAIL, "out of memory"};

static OrtStatus *make(OrtErrorCode code, const char *text) {
  size_t n = strlen(text) + 1;
  size_t room = sizeof no_memory.text;
  OrtStatus *st = malloc(offsetof(OrtStatus, text) + (n > room ? n : room));
  if (st == NULL) return &no_memory;
  st->code = code;
  memcpy(st->text, text, n);
  return st;
}

OrtStatus *ort_fail(OrtErrorCode code, const char *fmt, ...) {
  char text[2048];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return make(code, text);
}

OrtStatus *ort_out_of_memory(void) { return &no_memory; }

OrtStatus *ort_null_argument(const char *function, const char *argument) {
  return ort_fail(ORT_INVALID_ARGUMENT, "%s: '%s' is NULL", function, argument);
}

/* By ox_code. */
static const OrtErrorCode codes[] = {
    [OX_OK] = ORT_OK,
    [OX_FAIL] = ORT_FAIL,
    [OX_INVALID_ARGUMENT] = ORT_INVALID_ARGUMENT,
    [OX_NO_SUCH_FILE] = ORT_NO_SUCHFILE,
    [OX_INVALID_MODEL] = ORT_INVALID_GRAPH,
    [OX_NOT_IMPLEMENTED] = ORT_NOT_IMPLEMENTED,
    [OX_OUT_OF_MEMORY] = ORT_FAIL,
    [OX_INCOMPATIBLE] = ORT_EP_FAIL,
    [OX_CANCELLED] = ORT_FAIL,
    [OX_LIMIT] = ORT_FAIL,
    [OX_SHAPE_MISMATCH] = ORT_INVALID_ARGUMENT,
};

/* Codes of clients that the engine has none for go through it as they are, from here on. */
enum { FOREIGN = 0x10000 };

static OrtErrorCode code_from(ox_code code) {
  if ((int)code >= FOREIGN) return (OrtErrorCode)((int)code - FOREIGN);
  return (size_t)code < sizeof codes / sizeof *codes ? codes[code] : ORT_FAIL;
}

static ox_code code_to(OrtErrorCode code) {
  for (ox_code c = OX_FAIL; c <= OX_SHAPE_MISMATCH; c++)
    if (codes[c] == code) return c;
  return (ox_code)(FOREIGN + (int)code);
}

OrtStatus *ort_status_from(ox_status *st) {
  if (st == NULL) return NULL;
  OrtStatus *out = make(code_from(ox_status_code(st)), ox_status_message(st));
  ox_status_free(st);
  return out;
}

ox_status *ort_status_to(OrtStatus *st, ox_status *(*status_make)(ox_code code, const char *text)) {
  if (st == NULL) return NULL;
  ox_status *out = status_make(code_to(st->code), st->text);
  ort_ReleaseStatus(st);
  return out;
}

OrtStatus *ort_CreateStatus(OrtErrorCode code, const char *msg) { return make(code, msg != NULL ? msg : ""); }

OrtErrorCode ort_GetErrorCode(const OrtStatus *status) { return status != NULL ? status->code : ORT_OK; }

const char *ort_GetErrorMessage(const OrtStatus *status) { return status != NULL ? status->text : ""; }

void ort_ReleaseStatus(OrtStatus *status) {
  if (status != &no_memory) free(status);
}
