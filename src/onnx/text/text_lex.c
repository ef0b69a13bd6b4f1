/* SPDX-License-Identifier: Apache-2.0
 * onnx/text/text_lex.c - the only state is the position: the parser asks for the token that it expects. */
#include "onnx/text/text_lex.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool ox_str_is(ox_str s, const char *text) { return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0; }

ox_status *ox_lex_fail(const ox_lex *x, const char *fmt, ...) {
  unsigned line = 1, column = 1;
  for (const char *p = x->begin; p < x->p; p++) column = *p == '\n' ? (line++, 1) : column + 1;
  va_list args;
  va_start(args, fmt);
  ox_status *st = ox_status_make_v(OX_INVALID_MODEL, __FILE__, __LINE__, fmt, args);
  va_end(args);
  return ox_status_note(st, "%u:%u", line, column);
}

int ox_lex_peek(ox_lex *x) {
  for (;;) {
    while (x->p < x->end && is_space(*x->p)) x->p++;
    if (x->p == x->end) return 0;
    if (*x->p != '#') return (unsigned char)*x->p;
    while (x->p < x->end && *x->p != '\n') x->p++;
  }
}

bool ox_lex_try(ox_lex *x, char c) {
  if (ox_lex_peek(x) != (unsigned char)c || x->p == x->end) return false;
  x->p++;
  return true;
}

ox_status *ox_lex_expect(ox_lex *x, char c) {
  if (ox_lex_try(x, c)) return NULL;
  int got = ox_lex_peek(x);
  if (!got) return ox_lex_fail(x, "'%c' expected, but the text ends", c);
  return ox_lex_fail(x, "'%c' expected, not '%c'", c, got >= ' ' && got < 127 ? got : '?');
}

ox_str ox_lex_peek_ident(ox_lex *x) {
  ox_lex_peek(x);
  ox_str s = {x->p, 0};
  if (x->p < x->end && (is_alpha(*x->p) || *x->p == '_'))
    while (x->p + s.n < x->end && (is_alpha(s.p[s.n]) || is_digit(s.p[s.n]) || s.p[s.n] == '_')) s.n++;
  return s;
}

ox_str ox_lex_take_ident(ox_lex *x) {
  ox_str s = ox_lex_peek_ident(x);
  x->p += s.n;
  return s;
}

ox_status *ox_lex_ident(ox_lex *x, ox_str *out) {
  *out = ox_lex_take_ident(x);
  return out->n ? NULL : ox_lex_fail(x, "a name expected");
}

ox_status *ox_lex_try_name(ox_lex *x, ox_str *out, bool *out_found) {
  if (ox_lex_peek(x) == '"') {
    *out_found = true;
    return ox_lex_string(x, out);
  }
  *out = ox_lex_take_ident(x);
  *out_found = out->n > 0;
  return NULL;
}

ox_status *ox_lex_name(ox_lex *x, ox_str *out) {
  bool found;
  OX_TRY(ox_lex_try_name(x, out, &found));
  return found ? NULL : ox_lex_fail(x, "a name expected");
}

/* A string in quotes; a backslash takes the next character as it is. */
ox_status *ox_lex_string(ox_lex *x, ox_str *out) {
  if (!ox_lex_try(x, '"')) return ox_lex_fail(x, "a string expected");
  const char *from = x->p;
  size_t escapes = 0;
  while (x->p < x->end && *x->p != '"') {
    if (*x->p == '\\' && x->p + 1 < x->end) escapes++, x->p++;
    x->p++;
  }
  if (x->p >= x->end) return ox_lex_fail(x, "a string does not end");
  *out = (ox_str){from, (size_t)(x->p - from)};
  x->p++;
  if (!escapes) return NULL;
  char *copy = ox_arena_alloc(x->arena, out->n);
  if (!copy) return ox_oom();
  size_t n = 0;
  for (size_t i = 0; i < out->n; i++) copy[n++] = from[i] == '\\' ? from[++i] : from[i];
  *out = (ox_str){copy, n};
  return NULL;
}

static bool word_is(const char *p, size_t n, const char *lower) {
  if (n != strlen(lower)) return false;
  for (size_t i = 0; i < n; i++)
    if ((p[i] | 0x20) != lower[i]) return false;
  return true;
}

static bool special_float(const char *p, size_t n) {
  return word_is(p, n, "inf") || word_is(p, n, "infinity") || word_is(p, n, "nan");
}

bool ox_lex_at_special_float(ox_lex *x) {
  ox_str s = ox_lex_peek_ident(x);
  return special_float(s.p, s.n);
}

/* How many bytes at |p| are a number; sets |*is_float|. 0: none. */
static size_t number_length(const char *p, const char *end, bool *is_float) {
  const char *at = p;
  *is_float = false;
  if (at < end && *at == '-') at++;
  const char *digits = at;
  while (at < end && is_alpha(*at)) at++;
  if (at > digits) {
    *is_float = true;
    return special_float(digits, (size_t)(at - digits)) ? (size_t)(at - p) : 0;
  }
  while (at < end && (is_digit(*at) || (*at == '.' && !*is_float))) *is_float |= *at++ == '.';
  if (at == digits || !is_digit(*digits)) return 0;
  if (at < end && (*at == 'e' || *at == 'E')) {
    *is_float = true;
    if (++at < end && (*at == '+' || *at == '-')) at++;
    while (at < end && is_digit(*at)) at++;
  }
  return (size_t)(at - p);
}

ox_status *ox_lex_literal(ox_lex *x, ox_literal *out) {
  out->kind = OX_LIT_STRING;
  if (ox_lex_peek(x) == '"') return ox_lex_string(x, &out->s);
  bool is_float;
  size_t n = number_length(x->p, x->end, &is_float);
  if (!n) return ox_lex_fail(x, "a number or a string expected");
  if (n >= sizeof out->number) return ox_lex_fail(x, "a number of %zu characters is too long", n);
  memcpy(out->number, x->p, n);
  out->number[n] = 0;
  out->kind = is_float ? OX_LIT_FLOAT : OX_LIT_INT;
  x->p += n;
  return NULL;
}

static ox_status *bad_number(const ox_lex *x, const ox_literal *lit, const char *wanted) {
  if (lit->kind == OX_LIT_STRING) return ox_lex_fail(x, "%s expected, not a string", wanted);
  return ox_lex_fail(x, "%s expected, not %s", wanted, lit->number);
}

ox_status *ox_lex_to_int(const ox_lex *x, const ox_literal *lit, int64_t *out) {
  *out = 0;
  if (lit->kind != OX_LIT_INT) return bad_number(x, lit, "an integer");
  errno = 0;
  *out = strtoll(lit->number, NULL, 10);
  return errno ? bad_number(x, lit, "an integer of 64 bits") : NULL;
}

ox_status *ox_lex_to_uint(const ox_lex *x, const ox_literal *lit, uint64_t *out) {
  *out = 0;
  if (lit->kind != OX_LIT_INT || lit->number[0] == '-') return bad_number(x, lit, "an unsigned integer");
  errno = 0;
  *out = strtoull(lit->number, NULL, 10);
  return errno ? bad_number(x, lit, "an unsigned integer of 64 bits") : NULL;
}

/* A number too small for the type becomes zero, one too large is an error. */
ox_status *ox_lex_to_float(const ox_lex *x, const ox_literal *lit, float *out) {
  *out = 0;
  if (lit->kind == OX_LIT_STRING) return bad_number(x, lit, "a number");
  errno = 0;
  *out = strtof(lit->number, NULL);
  return errno && isinf(*out) ? bad_number(x, lit, "a float") : NULL;
}

ox_status *ox_lex_to_double(const ox_lex *x, const ox_literal *lit, double *out) {
  *out = 0;
  if (lit->kind == OX_LIT_STRING) return bad_number(x, lit, "a number");
  errno = 0;
  *out = strtod(lit->number, NULL);
  return errno && isinf(*out) ? bad_number(x, lit, "a double") : NULL;
}

ox_status *ox_lex_int(ox_lex *x, int64_t *out) {
  ox_literal lit;
  OX_TRY(ox_lex_literal(x, &lit));
  return ox_lex_to_int(x, &lit, out);
}
