/* SPDX-License-Identifier: Apache-2.0
 * base/json.c - one flag says whether a comma is due; text goes out in runs between the bytes that need escapes. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ox_json ox_json_to(int (*write)(void *ctx, const void *bytes, size_t n), void *ctx) {
  return (ox_json){.write = write, .ctx = ctx};
}

static void put(ox_json *j, const char *bytes, size_t n) {
  if (n && !j->failed) j->failed = j->write(j->ctx, bytes, n) != 0;
}

static void puts_of(ox_json *j, const char *s) { put(j, s, strlen(s)); }

/* Before every value and every name. */
static void begin(ox_json *j) {
  if (j->comma) put(j, ", ", 2);
  j->comma = true;
}

static void open_with(ox_json *j, const char *bracket) {
  begin(j);
  put(j, bracket, 1);
  j->comma = false;
}

static void close_with(ox_json *j, const char *bracket) {
  put(j, bracket, 1);
  j->comma = true;
}

void ox_json_begin_object(ox_json *j) { open_with(j, "{"); }
void ox_json_end_object(ox_json *j) { close_with(j, "}"); }
void ox_json_begin_array(ox_json *j) { open_with(j, "["); }
void ox_json_end_array(ox_json *j) { close_with(j, "]"); }

void ox_json_line(ox_json *j) {
  puts_of(j, j->comma ? ",\n" : "\n");
  j->comma = false;
}

bool ox_json_end(ox_json *j) {
  put(j, "\n", 1);
  j->comma = false;
  return !j->failed;
}

ox_json *ox_json_key(ox_json *j, const char *name) {
  ox_json_string(j, name);
  put(j, ": ", 2);
  j->comma = false;
  return j;
}

/* ---- text ---- */

/* True if a character begins at |s|; |*out_n|: its bytes, or those that one U+FFFD stands for. The bounds of the second
 * byte keep out longer forms of short characters, surrogates and what lies above U+10FFFF (Unicode, table 3-7). */
static bool is_utf8(const unsigned char *s, size_t n, size_t *out_n) {
  unsigned char lead = s[0];
  size_t len = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0, i = 1;
  unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (; i < len && i < n && s[i] >= least && s[i] <= most; i++) least = 0x80, most = 0xbf;
  *out_n = i;
  return i == len;
}

static const char *short_escape(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return NULL;
  }
}

void ox_json_text(ox_json *j, const char *text, size_t n) {
  size_t from = 0, len;
  char hex[8];
  begin(j);
  put(j, "\"", 1);
  for (size_t i = 0; i < n; i += len) {
    bool valid = is_utf8((const unsigned char *)text + i, n - i, &len);
    const char *escape = valid ? short_escape(text[i]) : "\xef\xbf\xbd"; /* U+FFFD */
    if (!escape && (unsigned char)text[i] < 0x20) snprintf(hex, sizeof hex, "\\u%04x", (unsigned)text[i]), escape = hex;
    if (!escape) continue;
    put(j, text + from, i - from);
    puts_of(j, escape);
    from = i + len;
  }
  put(j, text + from, n - from);
  put(j, "\"", 1);
}

void ox_json_string(ox_json *j, const char *s) {
  if (s) {
    ox_json_text(j, s, strlen(s));
    return;
  }
  begin(j);
  puts_of(j, "null");
}

/* ---- numbers ---- */

void ox_json_int(ox_json *j, int64_t v) {
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, v);
  begin(j);
  puts_of(j, text);
}

void ox_json_uint(ox_json *j, uint64_t v) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, v);
  begin(j);
  puts_of(j, text);
}

void ox_json_double(ox_json *j, double v) {
  char raw[64], text[64];
  size_t n = 0;
  begin(j);
  if (!isfinite(v)) {
    puts_of(j, "null");
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(raw, sizeof raw, "%.*g", digits, v);
    if (strtod(raw, NULL) == v) break;
  }
  for (const char *at = raw; *at; at++) { /* the locale's decimal point, of any length, becomes a point */
    if (strchr("0123456789+-e", *at))
      text[n++] = *at;
    else if (n && text[n - 1] != '.')
      text[n++] = '.';
  }
  put(j, text, n);
  if (v == 0 && signbit(v)) puts_of(j, ".0"); /* an integer has no -0 */
}

void ox_json_bool(ox_json *j, bool v) {
  begin(j);
  puts_of(j, v ? "true" : "false");
}
