/* SPDX-License-Identifier: Apache-2.0
 * base/json.h - writes JSON (RFC 8259) through a function. Commas, escapes and numbers are always right; the caller
 * makes sure that objects consist of pairs and that everything begun is ended. */
#ifndef OX_BASE_JSON_H
#define OX_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ox_json {
  int (*write)(void *ctx, const void *bytes, size_t n); /* returns non-zero on failure, and is then not called again */
  void *ctx;
  bool comma; /* the next item is not the first of its object or array */
  bool failed;
} ox_json;

ox_json ox_json_to(int (*write)(void *ctx, const void *bytes, size_t n), void *ctx);

void ox_json_begin_object(ox_json *j);
void ox_json_end_object(ox_json *j);
void ox_json_begin_array(ox_json *j);
void ox_json_end_array(ox_json *j);
/* The name of a pair; its value is written next: ox_json_int(ox_json_key(j, "runs"), n). Returns |j|. */
ox_json *ox_json_key(ox_json *j, const char *name);

/* Text of |n| bytes in UTF-8. Each "maximal subpart" (Unicode, 3.9) of invalid bytes becomes one U+FFFD. */
void ox_json_text(ox_json *j, const char *text, size_t n);
void ox_json_string(ox_json *j, const char *s); /* NULL is null */
void ox_json_int(ox_json *j, int64_t v);
void ox_json_uint(ox_json *j, uint64_t v);
/* The shortest of 15 to 17 digits that reads back as |v|. NaN and infinities, which JSON does not have, are null. */
void ox_json_double(ox_json *j, double v);
void ox_json_bool(ox_json *j, bool v);

/* The next value or name starts a new line. */
void ox_json_line(ox_json *j);
/* Ends the document with a newline; false if anything could not be written. Another document may follow. */
bool ox_json_end(ox_json *j);

#endif
