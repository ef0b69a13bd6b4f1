/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/text.c - numbers as text. The C library's conversions follow the caller's locale: each use switches the
 * thread to the "C" locale and back. */
#include "ops/shared/text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t plain;
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t enter(void) {
  pthread_once(&made, make_plain);
  return plain ? uselocale(plain) : (locale_t)0;
}

static void leave(locale_t before) {
  if (before) uselocale(before);
}

size_t ox_text_of_float(double v, bool is_float, char *buf) {
  if (isnan(v)) return (size_t)snprintf(buf, OX_NUMBER_TEXT, "NaN");
  if (isinf(v)) return (size_t)snprintf(buf, OX_NUMBER_TEXT, v > 0 ? "INF" : "-INF");
  locale_t before = enter();
  int n = 0, most = is_float ? 9 : 17;
  for (int digits = is_float ? 6 : 15; digits <= most; digits++) {
    n = snprintf(buf, OX_NUMBER_TEXT, "%.*g", digits, v);
    double back = strtod(buf, NULL);
    if (is_float ? (float)back == (float)v : back == v) break;
  }
  leave(before);
  return (size_t)n;
}

/* A NUL-terminated copy without surrounding spaces; numbers are short, so a text that does not fit is not a number. */
static bool copy_trimmed(const char *s, size_t n, char *buf, size_t size) {
  while (n && (*s == ' ' || (*s >= '\t' && *s <= '\r'))) s++, n--;
  while (n && (s[n - 1] == ' ' || (s[n - 1] >= '\t' && s[n - 1] <= '\r'))) n--;
  if (n == 0 || n >= size) return false;
  memcpy(buf, s, n);
  buf[n] = 0;
  return true;
}

enum { LONGEST = 512 };

bool ox_text_to_double(const char *s, size_t n, double *out) {
  char buf[LONGEST], *end;
  if (!copy_trimmed(s, n, buf, sizeof buf)) return false;
  locale_t before = enter();
  *out = strtod(buf, &end);
  leave(before);
  return *end == 0;
}

bool ox_text_to_int(const char *s, size_t n, int64_t *out) {
  char buf[LONGEST], *end;
  if (!copy_trimmed(s, n, buf, sizeof buf)) return false;
  errno = 0;
  if (buf[0] == '-') {
    *out = strtoll(buf, &end, 10);
  } else {
    uint64_t u = strtoull(buf, &end, 10);
    memcpy(out, &u, sizeof u);
  }
  return end != buf && errno == 0;
}
