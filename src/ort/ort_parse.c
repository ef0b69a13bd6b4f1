/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_parse.c - see ort_parse.h. */
#include "ort/ort_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool ort_parse_bool(const char *text, bool *out) {
  bool yes = strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0;
  bool no = strcmp(text, "0") == 0 || strcasecmp(text, "false") == 0;
  if (yes || no) *out = yes;
  return yes || no;
}

bool ort_parse_int(const char *text, long long least, long long most, long long *out) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || v < least || v > most) return false;
  *out = v;
  return true;
}
